"""Is this checkout slower than another one? The benchmarks of both, each timed piece in one and then in the other.

    make compare WITH=../before ONLY=groups

Two processes, one a checkout, hand a baton to each other before every timed piece, so that only one works at a time
and both meet the same noise. A line is a piece: the seconds it took in each, and how many times as fast it became, the
median over the rounds with the least and the greatest; `best` is the ratio of the quickest rounds, which noise touches
least. A piece is found again by the order of the measurements and its name, so that a benchmark that asks other
questions in the two checkouts cannot be compared; what has no partner is counted. Other libraries, which are the same
in both, do not run. Ctrl-C shows what has been measured so far.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import runpy
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RIVALS = ("duckdb", "polars", "numpy", "bins")
"""How the names of works begin that are not ours."""
Pieces = dict[str, list[float]]


# One of the two processes


@dataclass
class Baton:
    """What the one of two processes holds that may work; the other waits for a byte in its pipe."""

    taken_from: int
    given_to: int
    alone: bool = False

    def hand_over(self) -> None:
        """Let the other work until it hands the baton back; for good where it has ended."""
        if self.alone:
            return
        try:
            os.write(self.given_to, b".")
        except BrokenPipeError:
            self.alone = True
        else:
            self.wait()

    def wait(self) -> None:
        self.alone = not os.read(self.taken_from, 1)


class Timing:
    """Stands in for what times the pieces of a benchmark, hands over before each and notes its seconds."""

    def __init__(self, baton: Baton, rounds: int, out: Path) -> None:
        self.baton, self.rounds, self.out = baton, rounds, out
        self.pieces: Pieces = defaultdict(list)
        self.names: dict[int, str] = {}
        self.measured = 0

    def attach(self) -> None:
        """Before the benchmark is loaded: it takes these functions by their names."""
        harness: Any = importlib.import_module("_harness")
        harness.timed = self._timing(harness.timed)
        harness.side_by_side = self._naming(harness.side_by_side)
        harness.piece = self._repeating(harness.timed)
        harness.Settings.repeats = property(lambda _: self.rounds)
        harness.keep = lambda *_: None

    def attach_to_spark(self) -> None:
        streams: Any = importlib.import_module("_spark_streams")
        streams.drain = self._draining(streams.drain)

    def save(self) -> None:
        self.out.write_text(json.dumps(self.pieces))

    def _next(self) -> None:
        self.save()
        self.baton.hand_over()

    def _naming(self, side_by_side: Callable[..., Any]) -> Callable[..., Any]:
        def named(works: Mapping[str, Callable[[], object]], repeats: int = self.rounds, *_: Any, **__: Any) -> Any:
            self.measured += 1
            ours = {name: work for name, work in works.items() if not name.startswith(RIVALS)}
            self.names = {id(work): f"{self.measured} {name}" for name, work in ours.items()}
            return side_by_side({name: ours.get(name, _nothing) for name in works}, repeats)

        return named

    def _timing(self, timed: Callable[..., float]) -> Callable[..., float]:
        def measured(work: Callable[[], object]) -> float:
            if work is _nothing:
                return timed(work)
            self._next()
            seconds = timed(work)
            self.pieces[self.names.get(id(work), "?")].append(seconds)
            return seconds

        return measured

    def _repeating(self, timed: Callable[..., float]) -> Callable[..., Any]:
        """What looks at the clock itself runs once in all other ways, and here once a round."""

        def repeated(name: str, work: Callable[[], Any]) -> Any:
            self.measured += 1
            self.names = {id(work): f"{self.measured} {name}"}
            for _ in range(self.rounds):
                timed(work)
            return work()

        return repeated

    def _draining(self, drain: Callable[..., list[Any]]) -> Callable[..., list[Any]]:
        """A stream on Spark is a piece of its own: its micro-batches are the rounds, but for the first two."""

        def measured(*given: Any, **how: Any) -> list[Any]:
            self._next()
            progress = drain(*given, **how)
            self.measured += 1
            self.pieces[f"{self.measured} stream"] += [
                one["durationMs"]["triggerExecution"] / 1e3 for one in progress[2:]
            ]
            return progress

        return measured


def _nothing() -> None:
    """Stands in for a rival."""


def inside(file: Path, pipes: tuple[int, int], rounds: int, out: Path, *, first: bool) -> None:
    """Run a benchmark of this process's checkout, one piece each time the baton comes."""
    sys.path.insert(0, str(file.parent))
    sys.argv = [str(file)]
    baton = Baton(*pipes)
    timing = Timing(baton, rounds, out)
    timing.attach()
    if file.stem.startswith("spark_"):
        timing.attach_to_spark()
    if not first:
        baton.wait()
    runpy.run_path(str(file), run_name="__main__")
    timing.save()


# Both of them


def pieces_of_both(checkouts: Sequence[Path], name: str, rounds: int) -> list[Pieces]:
    """What each piece of a benchmark took, round by round, in each of two checkouts."""
    reads_second, writes_first = os.pipe()
    reads_first, writes_second = os.pipe()
    ends = (reads_first, writes_first), (reads_second, writes_second)
    with tempfile.TemporaryDirectory(prefix="windrow-compare-") as folder:
        outs = [Path(folder) / str(number) for number in range(2)]
        running = [
            _started(checkout / "benchmarks" / f"{name}.py", pipes, rounds, out, first=pipes is ends[0])
            for checkout, pipes, out in zip(checkouts, ends, outs, strict=True)
        ]
        for end in (*ends[0], *ends[1]):
            os.close(end)
        try:
            for process, out in zip(running, outs, strict=True):
                if process.wait():
                    raise SystemExit(f"{name} failed\n{out.with_suffix('.log').read_text()[-2000:]}")
        except KeyboardInterrupt:
            for process in running:
                process.kill()
                process.wait()
        return [json.loads(out.read_text()) if out.exists() else {} for out in outs]


def _started(file: Path, pipes: tuple[int, int], rounds: int, out: Path, *, first: bool) -> subprocess.Popen[bytes]:
    checkout = file.parents[1]
    order = [str(file), *map(str, pipes), str(rounds), str(out), str(int(first))]
    environment = {**os.environ, "PYTHONPATH": str(checkout / "src")}
    with out.with_suffix(".log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, __file__, "--inside", *order],
            pass_fds=pipes,
            env=environment,
            cwd=checkout,
            stdout=log,
            stderr=subprocess.STDOUT,
        )


@dataclass(frozen=True)
class Compared:
    """What a piece took in the two checkouts, round by round.

    >>> sums = Compared("1 sum", [2.0, 4.0, 3.0], [1.0, 4.0, 2.0])
    >>> sums.ratios, sums.best
    ([1.0, 1.5, 2.0], 2.0)
    """

    name: str
    before: Sequence[float]
    after: Sequence[float]

    @property
    def ratios(self) -> list[float]:
        return sorted(old / new for old, new in zip(self.before, self.after, strict=False))

    @property
    def best(self) -> float:
        return min(self.before) / min(self.after)


def compared(before: Pieces, after: Pieces) -> list[Compared]:
    """Each piece that both have."""
    return [Compared(name, before[name], seconds) for name, seconds in after.items() if before.get(name)]


def main() -> None:
    from _figures import duration
    from _harness import table

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path, help="a folder with the other checkout, its sources under src/")
    parser.add_argument("benchmarks", nargs="+", help="names of benchmarks, such as groups")
    parser.add_argument("--rounds", type=int, default=7, help="how often each piece runs in each checkout")
    asked = parser.parse_args()
    for name in asked.benchmarks:
        before, after = pieces_of_both([asked.checkout.resolve(), HERE.parent], name, asked.rounds)
        rows = [
            [
                piece.name,
                duration(statistics.median(piece.before)),
                duration(statistics.median(piece.after)),
                f"{statistics.median(piece.ratios):.2f}x ({piece.ratios[0]:.2f}..{piece.ratios[-1]:.2f})",
                f"{piece.best:.2f}x",
            ]
            for piece in compared(before, after)
        ]
        alone = len(before.keys() ^ after.keys())
        table(
            f"{name}: {asked.rounds} rounds; {alone} pieces without a partner",
            ["piece", "there", "here", "faster", "best"],
            rows,
        )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        script, taken, given, many, out, first = sys.argv[2:]
        inside(Path(script), (int(taken), int(given)), int(many), Path(out), first=first == "1")
    else:
        main()
