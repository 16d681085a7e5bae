"""How many bits of a circuit change, from the waveform of a simulation: what dynamic power is estimated by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

CLOCK = "clk"


def switched_bits(lines: Iterable[str], after: int, until: int) -> int:
    """Bits that changed after one time and until another, each signal counted once and the clock not at all.

    A signal that settles in several steps at one time counts as what it settles to. The fields of a structure are there
    beside the whole of it in a waveform, which alone counts.

    >>> head = ["$var wire 4 ! sum $end", "$var wire 2 # \\\\sum.low $end", "$var wire 1 % clk $end", "$enddefinitions"]
    >>> switched_bits([*head, "#0", "b0 !", "#5", "b111 !", "b11 #", "1%", "#9", "b0 !", "b1 !", "#20", "b0 !"], 0, 9)
    5
    """
    flow = iter(lines)
    counted = set(_declared(flow))
    values: dict[str, int] = {}
    coming: dict[str, int] = {}
    total, time = 0, 0
    for line in chain(flow, [f"#{until + 1}"]):
        if line.startswith("#"):
            changed = _settle(values, coming)
            total += changed if after < time <= until else 0
            time = int(line[1:])
        elif (change := _change(line)) is not None and change[0] in counted:
            coming[change[0]] = change[1]
    return total


def _declared(flow: Iterator[str]) -> Iterator[str]:
    """The codes of signals that count; `flow` is then behind the head."""
    for line in flow:
        words = line.split()
        if words[:1] == ["$enddefinitions"]:
            return
        if words[:2] == ["$var", "wire"]:
            code, name = words[3], words[4]
            if name != CLOCK and not (name.startswith("\\") and "." in name):
                yield code


def _change(line: str) -> tuple[str, int] | None:
    """The code and the new value of a signal: `b101 code` or `1code`."""
    if line[:1] in ("b", "B"):
        value, _, code = line[1:].partition(" ")
        return code.strip(), int(value, 2)
    if line[:1] in ("0", "1"):
        return line[1:].strip(), int(line[0])
    return None


def _settle(values: dict[str, int], coming: dict[str, int]) -> int:
    """Take over what has settled; how many bits of it are others than before."""
    changed = sum((values.get(code, value) ^ value).bit_count() for code, value in coming.items())
    values.update(coming)
    coming.clear()
    return changed
