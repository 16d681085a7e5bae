"""The papers' circuits: right in the papers' regime, and where Window-ID loses results outside of it."""

from __future__ import annotations

from random import Random

import pytest

from tests.hardware.reference import Promise, Result, Row, Stream, expected, results, words
from windrow.errors import UnsupportedError
from windrow.hardware.circuits.top import circuit_of
from windrow.hardware.design import (
    AggregateDesign,
    BitLayout,
    CircuitAlgorithm,
    CircuitPart,
    Field,
    Function,
    Merge,
    Variant,
    WindowQuery,
)
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.hardware.simulate.trace import Ended, Trace
from windrow.semantics.scalars.expressions import Call, Column, Literal

LAYOUT = BitLayout((Field("symbol", 8, signed=False), Field("price", 8)))
WHERE = (Call("=", (Column("symbol"), Literal(7))),)
COUNT = (CircuitPart(Function.COUNT),)


def _design(
    length: int, slide: int, slack: int, parts: tuple[CircuitPart, ...] = COUNT, **options: object
) -> AggregateDesign:
    query = WindowQuery(length, slide, slack, parts, where=WHERE)
    given = {"time_width": 12, "algorithm": CircuitAlgorithm.WID, "variant": Variant.LITERAL, "merge": Merge.ENCODER}
    return AggregateDesign(LAYOUT, (query,), **{**given, **options})  # type: ignore[arg-type]


def _run(design: AggregateDesign, stream: Stream) -> Trace:
    return Simulation(circuit_of(design), backend=Simulator.PYTHON).run(words(design, stream), patience=40)


def _given(design: AggregateDesign, stream: Stream) -> list[Result]:
    return results(design, _run(design, stream).results)[0]


def _truth(design: AggregateDesign, stream: Stream) -> list[Result]:
    """What is due of the windows there are: those that begin at the start of the stream or later."""
    (query,) = design.queries
    found = expected(design, stream).results[0]
    return sorted(one for one in found if one[0] >= query.range)


def _row(time: int, price: int = 1) -> Row:
    return Row(time, {"symbol": 7, "price": price})


def _regular(random: Random, query: WindowQuery, rows: int) -> Stream:
    """Out of order by less than the slack; a promise for every end just before the first row that allows it."""
    times = sorted((time + random.random() * query.slack, time) for time in (number // 3 for number in range(rows)))
    stream, promised, newest = list[Row | Promise](), 0, 0
    for _, time in times:
        newest = max(newest, time)
        while newest >= promised + query.slide + query.slack:
            promised += query.slide
            stream.append(Promise(promised))
        stream.append(Row(time, {"symbol": random.choice([7, 7, 8]), "price": random.randrange(-128, 128)}))
    return stream


@pytest.mark.parametrize("algorithm", CircuitAlgorithm)
@pytest.mark.parametrize("merge", Merge)
def test_in_the_papers_regime_it_is_right(merge: Merge, algorithm: CircuitAlgorithm) -> None:
    parts = (
        *COUNT,
        CircuitPart(Function.SUM, Column("price"), 40, True),
        CircuitPart(Function.MAX, Column("price"), 8, True),
    )
    design = _design(24, 6, 6, parts, merge=merge, algorithm=algorithm)
    stream = _regular(Random(1), design.queries[0], 200)
    truth = _truth(design, stream)
    assert 7 == len(truth)
    assert truth == _given(design, stream)


def test_a_result_comes_four_cycles_after_its_punctuation() -> None:
    design = _design(4, 2, 2)
    trace = _run(design, [_row(1), Promise(4)])
    # An element that is taken in a cycle is in the register of stage 1 in the next, and so on to stage 4.
    assert [4] == trace.latency([1]).tolist()
    assert Ended.QUIET is trace.ended


def test_a_result_of_panes_comes_seven_cycles_after_its_punctuation() -> None:
    design = _design(6, 2, 2, algorithm=CircuitAlgorithm.PANES)
    stream: Stream = [_row(1), Promise(2), *[_row(3)] * 9, Promise(4), *[_row(5)] * 9, Promise(6)]
    trace = _run(design, stream)
    assert [(6, (), (19,))] == results(design, trace.results)[0]
    assert [7] == trace.latency([len(stream) - 1]).tolist()


def test_several_windows_on_one_punctuation_give_one_result() -> None:
    design = _design(4, 2, 2)
    stream: Stream = [_row(2), _row(3), Promise(6)]
    assert [(4, (), (2,)), (6, (), (2,))] == _truth(design, stream)
    assert [(4, (), (2,))] == _given(design, stream)


def test_a_punctuation_far_ahead_leaves_modules_behind() -> None:
    """Three modules go on by six for each punctuation; those at 10 hold windows that end at 16 at most."""
    design = _design(4, 2, 2)
    assert 3 == design.modules(design.queries[0])
    stream: Stream = [Promise(40), _row(41), Promise(42)]
    assert [(42, (), (1,))] == _truth(design, stream)
    given = _given(design, stream)
    assert (42, (), (1,)) not in given
    assert all(count == 0 for _, _, (count,) in given)


def test_a_slide_that_does_not_divide_the_range_loses_rows() -> None:
    """Punctuations on the grid of slides come after the end of a window, which the number of modules knows nothing of.

    The window that ends at 60 closes at 68, and until then rows up to 91 come, of which those from 85 on begin a window
    for which there is no module.
    """
    design = _design(60, 17, 24)
    assert 5 == design.modules(design.queries[0])
    rows: Stream = [_row(time) for time in range(60, 92)]
    stream: Stream = [*rows, Promise(68), Promise(85), Promise(102), Promise(119), Promise(136), Promise(153)]
    due = sum(1 for time in range(60, 92) if 85 <= time < 145)
    given = {end: count for end, _, (count,) in _given(design, stream)}
    assert (7, 0) == (due, given[145])


def test_a_window_without_rows_looks_like_one_of_neutral_values() -> None:
    parts = (
        *COUNT,
        CircuitPart(Function.SUM, Column("price"), 16, True),
        CircuitPart(Function.MIN, Column("price"), 8, True),
    )
    design = _design(4, 2, 2, parts)
    assert [(4, (), (0, 0, 127))] == _given(design, [Promise(4)])


def test_late_and_early_rows_vanish_and_sums_wrap_around() -> None:
    design = _design(4, 2, 2, (CircuitPart(Function.SUM, Column("price"), 8, True),))
    stream: Stream = [_row(2, 100), _row(3, 100), _row(50), Promise(4), _row(1), Promise(6)]
    trace = _run(design, stream)
    assert [(4, (), (200 - 256,)), (6, (), (200 - 256,))] == results(design, trace.results)[0]
    assert {0} == {trace.counters[name] for name in ("rows", "late", "early", "overflow", "lost")}


def test_ends_of_windows_that_wrap_around_are_taken_for_old() -> None:
    design = _design(4, 2, 2, time_width=5)
    ends: Stream = [Promise(end) for end in range(4, 34, 2)]
    stream: Stream = [*ends[:-2], _row(31), *ends[-2:], Promise(34)]
    repaired = _design(4, 2, 2, time_width=5, variant=Variant.REPAIRED)
    assert [(32, (), (1,)), (34, (), (1,))] == _truth(repaired, stream)
    assert all(count == 0 for _, _, (count,) in _given(design, stream))


def test_what_the_papers_do_not_have_is_refused() -> None:
    query = WindowQuery(4, 2, 2, COUNT, keys=("symbol",), groups=2)
    rule = "must be repaired for several queries, for GROUP BY and for what is set at run time"
    with pytest.raises(UnsupportedError, match=rf"^`variant` {rule}, got literal\. Hint: the papers' circuits are"):
        circuit_of(AggregateDesign(LAYOUT, (query,), algorithm=CircuitAlgorithm.WID, variant=Variant.LITERAL))
