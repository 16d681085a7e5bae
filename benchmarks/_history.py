"""The history of the benchmarks: a line of JSON for each figure of each run, in one file a machine.

A figure is compared with the last one that the same machine has under the same name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _figures import Figure, Unit
from _machine import Machine


@dataclass(frozen=True)
class Entry:
    """A line of the history: a figure, what it is a figure of, and what it depends on."""

    date: str
    machine: Machine
    benchmark: str
    name: str
    figure: Figure

    def line(self) -> str:
        """One line of JSON; numbers are cut to five digits."""
        machine, figure = self.machine, self.figure
        fields: dict[str, Any] = {
            "date": self.date,
            "commit": machine.commit,
            "processor": machine.processor,
            "cores": machine.cores,
            "versions": machine.versions,
            "benchmark": self.benchmark,
            "name": self.name,
            "value": _short(figure.value),
            "low": _short(figure.low),
            "high": _short(figure.high),
            "unit": figure.unit.value,
        }
        if figure.over:
            fields["over"] = {other: _short(ratio) for other, ratio in figure.over.items()}
        return json.dumps(fields, ensure_ascii=False)

    @staticmethod
    def read(line: str) -> Entry:
        """The entry of a line; raises ValueError, KeyError or TypeError for anything else."""
        fields = json.loads(line)
        machine = Machine(fields["processor"], fields["cores"], fields["versions"], fields["commit"])
        value, low, high = (float(fields[name]) for name in ("value", "low", "high"))
        over = {str(other): float(ratio) for other, ratio in fields.get("over", {}).items()}
        figure = Figure(value, low, high, Unit(fields["unit"]), over)
        return Entry(fields["date"], machine, fields["benchmark"], fields["name"], figure)


def _short(value: float) -> float:
    return float(f"{value:.5g}")


@dataclass(frozen=True)
class History:
    """The file of one machine. Lines that cannot be read are passed over; nothing in the file is ever changed."""

    folder: Path
    machine: Machine

    @property
    def path(self) -> Path:
        return self.folder / f"{re.sub(r'[^a-z0-9]+', '-', self.machine.name.lower()).strip('-')}.jsonl"

    def read(self) -> tuple[list[Entry], list[int]]:
        """All entries, oldest first, and the numbers of the lines that cannot be read."""
        entries: list[Entry] = []
        broken: list[int] = []
        for number, line in enumerate(self._text().split("\n"), start=1):
            if not line.strip():
                continue
            try:
                entries.append(Entry.read(line))
            except (ValueError, KeyError, TypeError, AttributeError):
                broken.append(number)
        return entries, broken

    def append(self, benchmark: str, figures: Mapping[str, Figure], date: str) -> None:
        """Add the figures of a run, all at once, on lines of their own whatever the file ends with."""
        lines = [Entry(date, self.machine, benchmark, name, figure).line() + "\n" for name, figure in figures.items()]
        text = self._text()
        begin = "\n" if text and not text.endswith("\n") else ""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(begin + "".join(lines))

    def _text(self) -> str:
        return self.path.read_text(encoding="utf-8", errors="replace") if self.path.exists() else ""


HEADERS = ("figure", "last", "now", "change", "over others", "last of")


def changes(figures: Mapping[str, Figure], last: Mapping[str, Entry]) -> Iterable[tuple[str, ...]]:
    """Lines of a table: each figure beside the last one of its name, changes above zero being for the better."""
    for name, now in figures.items():
        if name not in last:
            yield name, "", now.unit.written(now.value), "first", "", ""
            continue
        before = last[name]
        if before.figure.unit is not now.unit:
            yield name, "", now.unit.written(now.value), "another unit", "", _told(before)
            continue
        values = (one.unit.written(one.value) for one in (before.figure, now))
        yield name, *values, _change(before.figure, now), _ratio_changes(before.figure, now), _told(before)


def _change(before: Figure, now: Figure) -> str:
    """How much better a value is, and whether that is more than repeats differ by."""
    apart = now.low > before.high or now.high < before.low
    gain = _gain(before.value, now.value, more_is_better=now.unit.more_is_better)
    return gain if apart else f"{gain} within spread"


def _ratio_changes(before: Figure, now: Figure) -> str:
    """The same for what ran in the same rounds; more is better there."""
    both = [other for other in now.over if other in before.over]
    return ", ".join(f"{other} {_gain(before.over[other], now.over[other], more_is_better=True)}" for other in both)


def _gain(before: float, now: float, *, more_is_better: bool) -> str:
    if not (before and now):
        return "same" if before == now else "from zero" if now else "to zero"
    return f"{(now / before if more_is_better else before / now) - 1:+.1%}"


def _told(entry: Entry) -> str:
    return f"{entry.date[:10]} {entry.machine.commit}"
