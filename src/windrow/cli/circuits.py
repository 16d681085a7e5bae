"""What may be said of a circuit on the command line: the same for `windrow synth` and `run --engine hardware`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from windrow.errors import ConfigurationError

OPTIONS = (
    click.option("--algorithm", type=click.Choice(["wid", "panes"]), help="Whatever the plan chooses."),
    click.option(
        "--variant",
        type=click.Choice(["repaired", "literal"]),
        help="literal: the papers' algorithm as written, which loses results outside its regime.  [default: repaired]",
    ),
    click.option("--width", "widths", multiple=True, metavar="NAME=BITS", help="Bits of a column or an answer."),
    click.option("--not-null", multiple=True, metavar="NAME", help="A column that is never NULL; * for all."),
    click.option(
        "--dictionary", "dictionaries", multiple=True, metavar="NAME=A,B,...", help="The strings of a column."
    ),
    click.option("--groups", type=click.IntRange(min=1), metavar="N", help="Room for so many groups."),
    click.option("--time-width", type=click.IntRange(4, 64), metavar="BITS", help="Bits of a time.  [default: 32]"),
    click.option("--time-unit", metavar="AMOUNT", help="What a time counts in, such as '1 s'."),
    click.option("--ahead", metavar="AMOUNT", help="How far rows may be ahead of the last promise."),
    click.option("--cores", type=click.IntRange(min=1), metavar="N", help="Of a join."),
    click.option("--configurable", is_flag=True, help="RANGE, SLIDE and constants of WHERE in registers."),
    click.option(
        "--window-level",
        type=click.Choice(["incremental", "scan"]),
        help="Whether a window takes in what is new and lets go of what is old, or reads all its panes.  "
        "[default: incremental]",
    ),
    click.option(
        "--merge",
        type=click.Choice(["one-hot", "encoder", "tree"]),
        help="How results of modules become one stream.  [default: one-hot]",
    ),
    click.option(
        "--simulator",
        type=click.Choice(["auto", "cxxrtl", "python"]),
        help="cxxrtl needs a C++ compiler and is some hundred times faster.  [default: auto]",
    ),
    click.option("--vcd", metavar="PATH", help="Write the waveform of the first cycles of a simulation."),
)
NAMES = (
    *("algorithm", "variant", "widths", "not_null", "dictionaries", "groups", "time_width", "time_unit", "ahead"),
    *("cores", "configurable", "window_level", "merge", "simulator", "vcd"),
)
FLAGS = {"widths": "--width", "dictionaries": "--dictionary"}
"""Those that are not called as the option is."""


def circuit_options(function: Any) -> Any:
    """The options, for a command."""
    for option in reversed(OPTIONS):
        function = option(function)
    return function


def circuit_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What the engine of circuits is to be told, by the names of its options; what was not given is not there."""
    given = {name: settings[name] for name in NAMES if settings[name]}
    for name in ("time_unit", "ahead"):
        if name in given and given[name].lstrip("-").isdigit():
            given[name] = int(given[name])
    if "widths" in given:
        pairs = _pairs(given["widths"], "--width", "NAME=BITS")
        given["widths"] = {name: _bits(name, value) for name, value in pairs}
    if "dictionaries" in given:
        pairs = _pairs(given["dictionaries"], "--dictionary", "NAME=A,B,...")
        given["dictionaries"] = {name: tuple(values.split(",")) for name, values in pairs}
    return given


def _pairs(given: Sequence[str], parameter: str, form: str) -> Iterator[tuple[str, str]]:
    for one in given:
        name, sign, value = one.partition("=")
        if not (name and sign and value):
            raise ConfigurationError(f"must be {form}", parameter=parameter, value=one)
        yield name, value


def _bits(name: str, value: str) -> int:
    if not value.isdigit():
        raise ConfigurationError("must be a whole number of bits", parameter=f"--width {name}", value=value)
    return int(value)
