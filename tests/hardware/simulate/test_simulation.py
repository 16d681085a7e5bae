"""Both simulators give the same trace of the same circuit, whatever the gaps and the back-pressure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.hardware.small_circuits import ELEMENT, SUM, Running
from windrow.errors import ConfigurationError, InternalError
from windrow.hardware.packing import Words, pack, unpack
from windrow.hardware.simulate.simulation import Simulation, Simulator
from windrow.hardware.simulate.trace import Ended, Trace

BACKENDS = [Simulator.PYTHON, Simulator.CXXRTL]


def words(values: list[int], *, last: bool = True) -> Words:
    given = [*values, 0] if last else values
    ends = np.zeros(len(given), bool)
    ends[len(values) :] = True
    limbs = np.array([[value & (1 << 64) - 1, value >> 64] for value in given], np.uint64).reshape(-1, 2)
    return pack(len(given), [(ends, 1), (limbs, 70)])


def totals(trace: Trace) -> list[int]:
    limbs = unpack(trace.results, SUM["total"].offset, 80)
    return [int(low) | int(high) << 64 for low, high in limbs]


@pytest.fixture(scope="module")
def simulations() -> dict[Simulator, Simulation]:
    return {one: Simulation(Running(), backend=one, soon=True) for one in (Simulator.PYTHON, Simulator.CXXRTL)}


def test_the_layout_of_an_element_is_that_of_the_circuit() -> None:
    assert 1 + 70 == ELEMENT.size


@pytest.mark.parametrize("backend", BACKENDS)
def test_results_come_with_their_cycles(simulations: dict[Simulator, Simulation], backend: Simulator) -> None:
    trace = simulations[backend].run(words([5, 1 << 69, 3]))
    assert [5, (1 << 69) + 5, (1 << 69) + 8, (1 << 69) + 8] == totals(trace)
    assert [0, 1, 2, 3] == trace.taken.tolist()
    assert [1, 2, 3, 4] == trace.given.tolist()
    assert [1, 1, 1, 1] == trace.since_last_element.tolist()
    assert [1, 2, 3, 4] == trace.latency([0, 0, 0, 0]).tolist()
    assert (5, 0, {"rows": 4}) == (trace.cycles, trace.stalled, trace.counters)
    assert (Ended.DONE, backend.value) == (trace.ended, trace.backend)


@given(
    st.lists(st.integers(0, (1 << 70) - 1), max_size=20),
    st.lists(st.booleans(), min_size=1, max_size=7).filter(any),
    st.lists(st.booleans(), min_size=1, max_size=7).filter(any),
    st.booleans(),
)
@settings(max_examples=25)
def test_both_simulators_agree_in_every_cycle(
    simulations: dict[Simulator, Simulation], values: list[int], offers: list[bool], ready: list[bool], last: bool
) -> None:
    one, other = (
        simulations[backend].run(words(values, last=last), offers=offers, ready=ready, patience=20)
        for backend in (Simulator.PYTHON, Simulator.CXXRTL)
    )
    assert one.results.tolist() == other.results.tolist()
    assert one.given.tolist() == other.given.tolist()
    assert one.taken.tolist() == other.taken.tolist()
    assert (one.cycles, one.stalled, one.counters, one.ended) == (
        other.cycles,
        other.stalled,
        other.counters,
        other.ended,
    )
    assert np.cumsum(np.array(values, dtype=object)).tolist() == totals(one)[: len(values)]
    assert (Ended.DONE if last else Ended.QUIET) is one.ended


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_does_not_move_on_is_stuck(simulations: dict[Simulator, Simulation], backend: Simulator) -> None:
    late = np.zeros(200, bool)
    late[150:] = True
    trace = simulations[backend].run(words([1, 2, 3]), ready=late, patience=50)
    assert (Ended.STUCK, 1, 0) == (trace.ended, len(trace.taken), len(trace.results))
    trace = simulations[backend].run(words([1, 2, 3]), cycles=2)
    assert (Ended.LIMIT, 2) == (trace.ended, trace.cycles)


@pytest.mark.parametrize("backend", BACKENDS)
def test_progress_is_told(simulations: dict[Simulator, Simulation], backend: Simulator) -> None:
    calls: list[tuple[int, int]] = []
    simulations[backend].run(words([1] * 1500), progress=lambda cycles, taken: calls.append((cycles, taken)))
    assert (1502, 1501) == calls[-1]


def test_many_results_come_out_in_pieces(simulations: dict[Simulator, Simulation]) -> None:
    rows = 300_000
    given = pack(
        rows, [(np.zeros(rows, bool), 1), (np.stack([np.arange(rows), np.zeros(rows)], 1).astype(np.uint64), 70)]
    )
    trace = simulations[Simulator.CXXRTL].run(given, patience=10)
    assert rows == len(trace.results)
    assert (np.cumsum(np.arange(rows)) == unpack(trace.results, 1, 64)).all()


def test_a_waveform_is_written_for_the_first_cycles(tmp_path: Path) -> None:
    for backend in (Simulator.PYTHON, Simulator.CXXRTL):
        path = tmp_path / f"{backend.value}.vcd"
        trace = Simulation(Running(), backend=backend, soon=True).run(words([1] * 50), vcd=path, vcd_cycles=10)
        assert 51 == len(trace.results)
        text = path.read_text()
        assert "$var" in text
        assert "payload" in text
        times = [int(line[1:]) for line in text.splitlines() if line.startswith("#")]
        assert max(times) <= 10 * 10_000_000  # femtoseconds


def test_without_a_compiler_it_falls_back_and_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    simulation = Simulation(Running())
    assert "python" == simulation.backend
    assert simulation.said.startswith("no C++ compiler")
    assert [7, 7] == totals(simulation.run(words([7])))
    with pytest.raises(ConfigurationError, match=r"^`cxxrtl` needs a C\+\+ compiler"):
        Simulation(Running(), backend=Simulator.CXXRTL)


def test_words_of_another_width_are_refused(simulations: dict[Simulator, Simulation]) -> None:
    with pytest.raises(InternalError, match=r"^a port of 71 bits takes rows of 2 words, not \(4, 1\)\.$"):
        simulations[Simulator.PYTHON].run(np.zeros(4, np.uint64))
    with pytest.raises(InternalError, match=r"^a pattern of valid or ready needs a cycle in which it is set\.$"):
        simulations[Simulator.PYTHON].run(words([1]), ready=[0, 0])
