"""What a user should know about a plan before running it: rows that count nowhere, state that grows, waits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any

from windrow.physical.rules.pass_promises import keys_below, usable_keys
from windrow.plan.checks.nodes import aggregates_of, shape_of
from windrow.plan.checks.progress import carries_progress, timed_by
from windrow.plan.checks.windows import attribute_of, row_count
from windrow.plan.nodes import Join, Node, Project, Stream, Union, WindowAggregate, inputs_of, walk
from windrow.semantics.progress.policies import AtEnd, External
from windrow.semantics.scalars.amounts import WEEK, Domain, render
from windrow.semantics.windows.kinds import Emit, Landmark, RowsWindow, SlideByTuple, Sliding

_BETWEEN = "SLIDE {} is larger than RANGE {}: rows between windows are in none of them."


def notes_of(node: Node) -> Iterator[str]:
    waiting = list(_waits(node))
    for part in walk(node):
        for kind, rule in _RULES:
            if isinstance(part, kind) and (kind is not Stream or part in waiting):
                yield from rule(part)
    for stream in _unused_promises(node):
        assert isinstance(stream.policy, External)
        yield (
            f"Promises of {stream.name} for single groups by {', '.join(stream.policy.per)} are of no use here: only "
            "sliding, tumbling, landmark and session windows that group by these columns, and windows of rows in order "
            "that are partitioned by them, can use them."
        )


def _unused_promises(node: Node, keys: frozenset[str] = frozenset()) -> Iterator[Stream]:
    """The streams whose promises for single groups are of no use to the plan above them."""
    if isinstance(node, Stream):
        if isinstance(node.policy, External) and not keys.issuperset(node.policy.per):
            yield node
        return
    if isinstance(node, WindowAggregate):
        keys = usable_keys(node)
    elif isinstance(node, Project):
        keys = keys_below(node, keys)
    elif isinstance(node, Join):
        keys = frozenset()
    for child in inputs_of(node):
        yield from _unused_promises(child, keys)


def _waits(node: Node, awaited: bool = True) -> Iterator[Stream]:
    """The streams whose promises something waits for: windows of rows by arrival wait for none."""
    if isinstance(node, Stream) and awaited:
        yield node
    if isinstance(node, WindowAggregate):
        awaited = not (isinstance(node.window, RowsWindow) and node.window.order is None)
    for child in inputs_of(node):
        yield from _waits(child, awaited)


def _rows_between(node: WindowAggregate) -> Iterator[str]:
    window = node.window
    if isinstance(window, Sliding) and window.loses_rows:
        domain = shape_of(node.input).domain
        yield _BETWEEN.format(render(window.slide, domain), render(window.range, domain))
    if isinstance(window, RowsWindow) and window.slide > window.range:
        yield _BETWEEN.format(row_count(window.slide), row_count(window.range))


def endless_notes(plan: Node, endless: Collection[str]) -> Iterator[str]:
    """On streams of these that never end, and of which nothing but their end makes a promise."""
    for node in walk(plan):
        if isinstance(node, Stream) and node.name in endless and isinstance(node.policy, AtEnd):
            yield (
                f"{node.name} never ends, and only its end would close a window: say PROGRESS ON {node.time} ORDERED, "
                "or SLACK 1 MINUTE, to get results while it goes on."
            )


def week_notes(plan: Node) -> Iterator[str]:
    """On what day the weeks of windows begin, where nothing was said about it."""
    return (note for node in walk(plan) if isinstance(node, WindowAggregate) for note in _weeks(node))


def _weeks(node: WindowAggregate) -> Iterator[str]:
    window = node.window
    if not isinstance(window, (Sliding, Landmark)) or window.slide % WEEK:
        return
    bounds = window.phases if isinstance(window, Sliding) else (window.origin,)
    if any(bound % WEEK == 0 for bound in bounds) and shape_of(node.input).domain is Domain.TIME:
        slide = render(window.slide, Domain.TIME)
        yield (
            f"SLIDE {slide} counts weeks from Thursday, 1970-01-01: say ORIGIN DATE '1970-01-05' to have them begin on "
            "Monday."
        )


def _by_end(node: WindowAggregate) -> Iterator[str]:
    """A window over the results of windows, in order of where these end."""
    attribute = attribute_of(node.window)
    if attribute == "window_end" and carries_progress(timed_by(node.input, "window_start"), "window_start"):
        yield (
            f"Results count by their {attribute}: one that ends where a window ends is in the next window. WATTR "
            "window_start has it in the one that it begins in."
        )


def _kept_values(node: WindowAggregate) -> Iterator[str]:
    for call, aggregate, kind in aggregates_of(node):
        if not aggregate.is_bounded_for(kind):
            yield f"{call} keeps the values of its open windows: state grows with the rows in them."


def _grows_forever(node: WindowAggregate) -> Iterator[str]:
    if isinstance(node.window, Landmark):
        yield "RANGE UNBOUNDED keeps every group until the end of the input."
    if isinstance(node.window, RowsWindow) and node.window.partition:
        names = ", ".join(node.window.partition)
        yield f"The last rows of every {names} are kept until the end of the input: they leave when new ones come."


def _remembers_windows(node: WindowAggregate) -> Iterator[str]:
    window = node.window
    if isinstance(window, SlideByTuple) and node.emit is Emit.EMPTY and node.keys and not window.partition:
        yield "EMIT EMPTY remembers the end of every window since the last one of each group."
    if isinstance(window, SlideByTuple) and window.every > 1 and window.partition:
        yield f"SLIDE {window.every} ROWS per group keeps the count of every group that has begun to count."


def _waits_for_end(stream: Stream) -> Iterator[str]:
    if isinstance(stream.policy, AtEnd):
        yield (
            f"{stream.name} says nothing about its progress: windows close, and state is let go, only at the end of "
            "the input. SLACK, ORDERED or PUNCTUATED lets them close earlier."
        )


def _waits_for_slowest(node: Union) -> Iterator[str]:
    silent = [part.name for part in walk(node) if isinstance(part, Stream) and part.idle is None]
    if silent:
        names = " or ".join(silent)
        yield f"A union waits for its slowest input; without IDLE, a lull of {names} holds all results back."


_RULES: tuple[tuple[type, Callable[[Any], Iterator[str]]], ...] = (
    (WindowAggregate, _rows_between),
    (WindowAggregate, _weeks),
    (WindowAggregate, _by_end),
    (WindowAggregate, _kept_values),
    (WindowAggregate, _grows_forever),
    (WindowAggregate, _remembers_windows),
    (Union, _waits_for_slowest),
    (Stream, _waits_for_end),
)
