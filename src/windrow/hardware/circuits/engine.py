"""What stands between the front of a circuit and its window engine: steps go in, windows come out, both in order.

The front (filters, punctuations, groups) has done the following before a step reaches an engine, of either algorithm:

- Rows that no open window holds are gone: early ones, late ones where the query is not generous.
- A punctuation has become closes, one window after another, and each window closes group by group. No row comes
  between the closes of one window, and the window after it has not closed yet: a slide closes as a whole, with all the
  panes in it.
- Gaps in which no window holds a row are cut out: an engine sees each close as the next one after the last.

So an engine needs no times but one: where a row lies against the end of the oldest open window.
"""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from windrow.hardware.circuits.accumulators import Accumulators
from windrow.hardware.design import AggregateDesign, WindowQuery


def step_of(design: AggregateDesign, query: WindowQuery) -> data.StructLayout:
    """What an engine does next: with `close` one group of the oldest open window closes, with `done` the stream ends.

    Otherwise it is a row, of which `time` is (its time - end of the oldest open window), as a number with a sign:
    at least -range and below `limit` of the settings. It is below -slide for a late row, which has `late` too; only
    generous queries let those through. `arguments` are those of `Accumulators.arguments`.

    Of a close, `time` is the end of the window; `final` is set for the last group, after which the next window is the
    oldest. Groups come in ascending order from 0, those that have had a row since the start, but at least group 0.
    """
    return data.StructLayout(
        {
            "close": 1,
            "done": 1,
            "late": 1,
            "final": 1,
            "group": group_bits(query),
            "time": signed(design.time_width),
            "arguments": Accumulators(query.parts, design.layout).arguments,
        }
    )


def outcome_of(design: AggregateDesign, query: WindowQuery) -> data.StructLayout:
    """A window and group that hold at least one row, or `done`, when everything before it has been given."""
    return data.StructLayout(
        {"done": 1, "group": group_bits(query), "end": design.time_width, "parts": query.results.bits}
    )


def group_bits(query: WindowQuery) -> int:
    return max(1, (query.groups - 1).bit_length())


def offset_bits(design: AggregateDesign, query: WindowQuery) -> int:
    """How many of the lowest bits of `time` are enough for the offset of a row, and for its distance from the begin.

    >>> from windrow.hardware.design import BitLayout
    >>> query = WindowQuery(600, 60, 60, ())
    >>> offset_bits(AggregateDesign(BitLayout(()), (query,)), query)
    11
    """
    if design.configurable:
        return design.time_width
    furthest = query.range + max(0, design.limit(query, design.modules(query))) + query.slide
    return min(design.time_width, furthest.bit_length() + 1)


def settings_of(design: AggregateDesign) -> data.StructLayout:
    """What can be set at run time: `SETTINGS`, each as wide as a time. `limit` has a sign."""
    return data.StructLayout(
        {name: signed(design.time_width) if name == "limit" else design.time_width for name in SETTINGS}
    )


SETTINGS = ("range", "slide", "limit", "slides", "rest")
"""The parameters of a query as an engine reads them. `limit` is how far after the end of the oldest open window rows
may lie: there are modules for all rows below it. `slides` and `rest` are range // slide and range % slide."""


class EngineSignature(wiring.Signature):
    """`steps` in, `outcomes` out, each with ready; `overflow` is 1 for one cycle for each row whose value did not fit.

    An engine that is configurable has `settings` too, which stand still between two `start`s. `start` is 1 for one
    cycle after a reset, and after each change of the settings, before which everything but `reset_less` signals has
    been reset. From that cycle on the engine is not ready until it has prepared what depends on the settings.
    """

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        members: dict[str, Any] = {
            "steps": In(stream.Signature(step_of(design, query))),
            "outcomes": Out(stream.Signature(outcome_of(design, query))),
            "overflow": Out(1),
        }
        if design.configurable:
            members |= {"settings": In(settings_of(design)), "start": In(1)}
        super().__init__(members)


def settings_values(
    design: AggregateDesign, query: WindowQuery, *, largest: WindowQuery | None = None
) -> dict[str, int]:
    """The settings of a query; `largest` is the query that the circuit was made for, where that is another one."""
    limit = design.limit(query, design.modules(largest or query))
    values = (query.range, query.slide, limit, *divmod(query.range, query.slide))
    return dict(zip(SETTINGS, values, strict=True))


def settings_in(engine: Any, design: AggregateDesign, query: WindowQuery) -> dict[str, Any]:
    """The settings as an engine is to read them: fields of its port, or constants where nothing can be set."""
    if design.configurable:
        return {name: engine.settings[name] for name in SETTINGS}
    shapes = settings_of(design)
    return {name: Const(value, shapes[name].shape) for name, value in settings_values(design, query).items()}


class LiteralSignature(wiring.Signature):
    """The papers' interface behind their filter: a row or a punctuation in a cycle, a result in a cycle, no ready.

    `row` says that `time` and `arguments` are those of a row, `punctuation` that `time` is the time of a promise.
    `result` is 1 for one cycle with `end` and `parts`.
    """

    def __init__(self, design: AggregateDesign, query: WindowQuery) -> None:
        super().__init__(
            {
                "row": In(1),
                "punctuation": In(1),
                "time": In(design.time_width),
                "arguments": In(Accumulators(query.parts, design.layout).arguments),
                "result": Out(1),
                "end": Out(design.time_width),
                "parts": Out(query.results.bits),
            }
        )
