"""The pipeline of a design as a picture: a self-contained SVG of its stages, widths, modules and memories."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape

from windrow.hardware.design import (
    AggregateDesign,
    CircuitAlgorithm,
    Design,
    JoinDesign,
    Variant,
    WindowLevel,
    WindowQuery,
)

WIDTH, GAP, TOP, LINE, MARGIN = 168, 56, 92, 17, 28
SHOWN = 5
"""Modules that are drawn one by one; more of them are drawn as the first few and the last."""
COLOURS = {
    "stream": ("#eef2f7", "#8093a8"),
    "filter": ("#e6f0fb", "#4a7fb5"),
    "control": ("#fdf3e0", "#c08a2d"),
    "module": ("#e8f5ec", "#3f8f5c"),
    "memory": ("#f3e9f8", "#8757a5"),
}
STYLE = (
    "text{font-family:system-ui,'Segoe UI',Helvetica,Arial,sans-serif;fill:#22303c}"
    ".title{font-size:19px;font-weight:600}.sub{font-size:12.5px;fill:#5a6b7b}"
    ".name{font-size:13.5px;font-weight:600}.line{font-size:11.5px;fill:#42525f}.wire{font-size:11px;fill:#5a6b7b}"
)


@dataclass(frozen=True)
class PictureBox:
    """A box of the picture: what it is, what is to be said of it, how many of them there are side by side.

    `wire` is what leaves it.
    """

    kind: str
    name: str
    lines: tuple[str, ...] = ()
    copies: int = 1
    wire: str = ""


def pipeline_picture(design: Design, title: str = "") -> str:
    """The picture of a design, as the text of an SVG."""
    rows = (
        [list(_join(design))]
        if isinstance(design, JoinDesign)
        else [list(_aggregate(design, number)) for number in range(len(design.queries))]
    )
    heights = [_height(row) for row in rows]
    width = max(len(row) for row in rows) * (WIDTH + GAP) - GAP + 2 * MARGIN
    height = TOP + sum(heights) + 24 * len(rows) + MARGIN
    parts, top = [_head(design, title, width, height)], float(TOP)
    for row, tall in zip(rows, heights, strict=True):
        parts += _drawn(row, top, tall)
        top += tall + 24
    return "".join(parts) + "</svg>\n"


def _aggregate(design: AggregateDesign, number: int) -> Iterator[PictureBox]:
    query = design.queries[number]
    element = 2 + design.time_width + max(design.layout.bits, 1)
    names = ", ".join(f"{one.name} {one.bits}" for one in design.layout.fields[:3])
    more = ", …" if len(design.layout.fields) > 3 else ""
    yield PictureBox(
        "stream", "input", ("valid, ready", f"time {design.time_width} bits", names + more), 1, f"{element} bits"
    )
    for place, condition in enumerate(query.where):
        yield PictureBox("filter", f"filter {place + 1}", _wrapped(str(condition)), 1, f"{element} bits")
    yield from _front(design, query)
    yield from _panes(design, query) if design.algorithm is CircuitAlgorithm.PANES else _window_ids(design, query)
    parts = tuple(_spelled(part.function.value, part.argument, part.width) for part in query.parts)
    yield PictureBox("stream", "output", ("valid, ready", f"end {design.time_width} bits", *parts[:4]))


def _front(design: AggregateDesign, query: WindowQuery) -> Iterator[PictureBox]:
    if design.variant is Variant.REPAIRED:
        lines = (f"slide {query.slide}", "one boundary a cycle", "gaps are jumped", "late and early counted")
        yield PictureBox("control", "punctuations", lines, 1, "rows, closes")
    if query.keys:
        yield PictureBox("memory", "groups", (", ".join(query.keys), f"{query.groups} keys"), 1, "group")


def _window_ids(design: AggregateDesign, query: WindowQuery) -> Iterator[PictureBox]:
    count = design.modules(query)
    lines = (f"range {query.range}, slide {query.slide}", f"{query.results.bits} bits of state")
    yield PictureBox("module", "window", lines, count, f"{count} × {query.results.bits} bits")
    yield PictureBox("control", "union", (design.merge.value,), 1, f"{query.results.bits} bits")


def _panes(design: AggregateDesign, query: WindowQuery) -> Iterator[PictureBox]:
    state = query.results.bits
    yield PictureBox(
        "module", "pane", (f"pane of {query.pane}", f"{state} bits of state"), design.modules(query), "closed panes"
    )
    words = max(1, query.range // query.pane)
    lines = (
        f"{words} panes a window",
        f"× {query.groups} groups" if query.groups > 1 else "block RAM",
        f"{state + 1} bits each",
    )
    yield PictureBox("memory", "pane buffer", lines, 1, f"{state + 1} bits")
    how = (
        ("each window reads", "all its panes")
        if design.window_level is WindowLevel.SCAN
        else ("what enters", "and what leaves")
    )
    yield PictureBox("control", "windows", how, 1, f"{state} bits")


def _join(design: JoinDesign) -> Iterator[PictureBox]:
    row, pair = max(design.left.bits, design.right.bits, 1) + 2, design.left.bits + design.right.bits + 1
    yield PictureBox("stream", "input", ("both sides,", "in order of arrival"), 1, f"{row} bits")
    share = -(-design.left_rows // design.cores), -(-design.right_rows // design.cores)
    condition = _wrapped(str(design.predicate)) if design.predicate is not None else ("every pair",)
    lines = (f"{share[0]} + {share[1]} rows each", *condition)
    yield PictureBox("module", "core", lines, design.cores, f"{design.cores} × {pair} bits")
    yield PictureBox("memory", "result FIFOs", (f"{design.result_depth} pairs a core",), 1, f"{pair} bits")
    yield PictureBox("control", "merging network", ("one pair a cycle",), 1, f"{pair} bits")
    yield PictureBox(
        "stream", "output", ("valid, ready", f"left {design.left.bits} bits", f"right {design.right.bits} bits")
    )


def _spelled(function: str, argument: object, width: int) -> str:
    text = f"{function}({'*' if argument is None else argument})"
    return f"{text if len(text) < 16 else text[:15] + '…'} {width} bits"


def _wrapped(text: str, room: int = 23) -> tuple[str, ...]:
    """Lines that fit into a box, three at most."""
    lines = [""]
    for word in text.split():
        if lines[-1] and len(lines[-1]) + len(word) >= room:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return tuple(lines[:3] if len(lines) <= 3 else [*lines[:2], lines[2] + " …"])


def _head(design: Design, title: str, width: float, height: float) -> str:
    kind = (
        "handshake array"
        if isinstance(design, JoinDesign)
        else {"wid": "Window-ID", "panes": "panes"}[design.algorithm.value]
    )
    sub = f"{kind}, {design.variant.value}"
    if not isinstance(design, JoinDesign):
        query = design.queries[0]
        sub += f" · RANGE {query.range}, SLIDE {query.slide}, SLACK {query.slack} units"
        sub += f" and {len(design.queries) - 1} more" if len(design.queries) > 1 else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}"><title>{escape(title or sub)}</title><style>{STYLE}</style>'
        f'<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="#5a6b7b"/></marker></defs><rect width="100%" height="100%" fill="#ffffff"/>'
        f'<text class="title" x="{MARGIN}" y="40">{escape(title or kind)}</text>'
        f'<text class="sub" x="{MARGIN}" y="62">{escape(sub)}</text>'
    )


def _box_height(stage: PictureBox) -> float:
    return 34 + LINE * len(stage.lines) + (0 if stage.lines else -4)


def _height(row: list[PictureBox]) -> float:
    """How tall a row must be: boxes that are there several times stand below one another."""
    return max(_stack_height(stage) for stage in row) + 22


def _stack_height(stage: PictureBox) -> float:
    if stage.copies == 1:
        return _box_height(stage)
    slots = stage.copies if stage.copies <= SHOWN else SHOWN
    return _box_height(stage) + (slots - 1) * 36


def _drawn(row: list[PictureBox], top: float, tall: float) -> Iterator[str]:
    middle = top + tall / 2
    for place, stage in enumerate(row):
        left = MARGIN + place * (WIDTH + GAP)
        yield from _stack(stage, left, middle)
        if place + 1 < len(row):
            yield _wire(left + WIDTH, middle, stage.wire)


def _stack(stage: PictureBox, left: float, middle: float) -> Iterator[str]:
    """A box, or so many of them: the first with all its text, the others with their names."""
    top = middle - _stack_height(stage) / 2
    if stage.copies == 1:
        yield _box(stage, left, top, _box_height(stage), stage.name, stage.lines)
        return
    yield _box(stage, left, top, _box_height(stage), f"{stage.name} 1", stage.lines)
    below = top + _box_height(stage) + 6
    slots = min(stage.copies, SHOWN)
    for slot in range(1, slots):
        is_gap = stage.copies > SHOWN and slot == slots - 2
        number = slot + 1 if stage.copies <= SHOWN or slot < slots - 1 else stage.copies
        if is_gap:
            yield f'<text class="name" x="{left + WIDTH / 2:g}" y="{below + 19:g}" text-anchor="middle">⋮</text>'
        else:
            yield _box(stage, left, below, 30, f"{stage.name} {number}", ())
        below += 36


def _box(stage: PictureBox, left: float, top: float, tall: float, name: str, lines: tuple[str, ...]) -> str:
    fill, edge = COLOURS[stage.kind]
    text = "".join(
        f'<text class="line" x="{left + 12:g}" y="{top + 38 + LINE * number:g}">{escape(line)}</text>'
        for number, line in enumerate(lines)
    )
    return (
        f'<rect x="{left:g}" y="{top:g}" width="{WIDTH}" height="{tall:g}" rx="7" fill="{fill}" stroke="{edge}" '
        f'stroke-width="1.4"/><text class="name" x="{left + 12:g}" y="{top + 20:g}">{escape(name)}</text>{text}'
    )


def _wire(left: float, middle: float, label: str) -> str:
    words = label.split(", ") if ", " in label else label.rsplit(" ", 1) if len(label) > 8 else [label]
    text = "".join(
        f'<text class="wire" x="{left + GAP / 2 - 2:g}" y="{middle - 8 - 13 * (len(words) - 1 - number):g}" '
        f'text-anchor="middle">{escape(word)}</text>'
        for number, word in enumerate(words)
    )
    return (
        f'<line x1="{left + 3:g}" y1="{middle:g}" x2="{left + GAP - 4:g}" y2="{middle:g}" stroke="#5a6b7b" '
        f'stroke-width="1.5" marker-end="url(#tip)"/>{text}'
    )
