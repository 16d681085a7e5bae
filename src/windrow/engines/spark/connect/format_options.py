"""The options of the `windrow` format, read and checked: from the text users give Spark to typed settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from windrow import generate
from windrow.errors import ConfigurationError
from windrow.generate.stream import RecipeSource
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.sources import Source, open_source

BATCH_ROWS = 100_000
"""Rows of a micro-batch where `batchRows` does not say."""
RECIPES = ("trades", "packets", "bids", "tasks")
_ROWS = 1_000_000


@dataclass(frozen=True)
class PunctuationRows:
    """Punctuation rows: `slack` below the highest `time` seen, both in the attribute's own units."""

    time: str
    domain: Domain
    slack: int


@dataclass(frozen=True)
class FormatOptions:
    """What the format was asked for."""

    source: Source
    batch_rows: int
    rate: float | None
    partitions: int
    marks: PunctuationRows | None


def whole(text: str, option: str, least: int = 1) -> int:
    """A whole number from text."""
    try:
        number = int(text.replace("_", ""))
    except ValueError:
        number = least - 1
    if number < least:
        raise ConfigurationError(
            f"must be a whole number from {least} on", parameter=option, value=text, hint="write it like 10000"
        )
    return number


def positive(text: str, option: str) -> float:
    """A number above zero from text."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise ConfigurationError("must be a positive number", parameter=option, value=text, hint="write it like 5000")
    return number


def yes_or_no(text: str, option: str) -> bool:
    """A choice from text."""
    if text.lower() not in ("true", "false"):
        raise ConfigurationError("must be true or false", parameter=option, value=text, hint="write true or false")
    return text.lower() == "true"


def lulls(text: str, option: str) -> tuple[generate.Lull, ...]:
    """Pauses from text.

    >>> lulls("60 s for 30 s", "lulls")
    (Lull(start='60 s', duration='30 s', source=0),)
    """
    parts = [[word.strip() for word in part.split(" for ")] for part in text.split(",")]
    if any(len(part) != 2 for part in parts):
        raise ConfigurationError(
            "must be 'START for DURATION', with commas between several",
            parameter=option,
            value=text,
            hint="write it like '60 s for 30 s, 5 min for 1 min'",
        )
    return tuple(generate.Lull(start, duration) for start, duration in parts)


def _text(text: str, _option: str) -> str:
    return text


_GENERATE: dict[str, tuple[str, Callable[[str, str], Any]]] = {
    "seed": ("seed", lambda text, option: whole(text, option, 0)),
    "disorder": ("disorder", _text),
    "sources": ("sources", whole),
    "keys": ("keys", whole),
    "skew": ("skew", _text),
    "eventRate": ("rate", positive),
    "start": ("start", _text),
    "punctuations": ("punctuations", yes_or_no),
    "every": ("every", _text),
    "lulls": ("lulls", lulls),
}
"""Option -> the generator's setting and how it is read; `rate` itself paces the replay."""
_RECIPE_ONLY = ("rows", *_GENERATE)
KNOWN = ("path", "recipe", "batchRows", "rate", "partitions", "punctuate", "time", *_RECIPE_ONLY)


def read_options(given: Mapping[str, str]) -> FormatOptions:
    """The settings that options, whose names are in lower case or in camelCase, ask for."""
    options = {name.lower(): value for name, value in given.items()}
    _check_names(options)
    source = _source(options)
    partitions = whole(options.get("partitions", "1"), "partitions")
    return FormatOptions(
        source=source,
        batch_rows=whole(options["batchrows"], "batchRows") if "batchrows" in options else BATCH_ROWS,
        rate=positive(options["rate"], "rate") if "rate" in options else None,
        partitions=partitions,
        marks=_marks(options, source, partitions),
    )


def _check_names(options: Mapping[str, str]) -> None:
    known = {name.lower() for name in KNOWN}
    for name in options:
        if name not in known:
            raise ConfigurationError(
                "is not an option of the windrow format", parameter=name, allowed=KNOWN, hint="leave it out"
            )
    if ("path" in options) == ("recipe" in options):
        raise ConfigurationError(
            "or `recipe` must be given, one of the two",
            parameter="path",
            hint="say .option('path', 'trades.parquet') or .option('recipe', 'trades')",
        )
    for name in _RECIPE_ONLY:
        if "path" in options and name.lower() in options:
            raise ConfigurationError(
                "goes only with `recipe`", parameter=name, value=options[name.lower()], hint="leave it out"
            )


def _source(options: Mapping[str, str]) -> Source:
    if "path" in options:
        return open_source(options["path"], name="path", dictionary=False)
    recipe = options["recipe"].lower()
    if recipe not in RECIPES:
        raise ConfigurationError(
            "must name a generated stream", parameter="recipe", value=options["recipe"], allowed=RECIPES
        )
    settings = {
        setting: read(options[name.lower()], name)
        for name, (setting, read) in _GENERATE.items()
        if name.lower() in options
    }
    stream = getattr(generate, recipe)(whole(options.get("rows", str(_ROWS)), "rows"), **settings)
    return RecipeSource(stream.recipe.name, stream.schema, stream)


def _marks(options: Mapping[str, str], source: Source, partitions: int) -> PunctuationRows | None:
    if "punctuate" not in options:
        if "time" in options:
            raise ConfigurationError(
                "goes only with `punctuate`", parameter="time", value=options["time"], hint="leave it out"
            )
        return None
    if partitions > 1:
        raise ConfigurationError(
            "must be 1 with `punctuate`, because a punctuation comes after all rows before it",
            parameter="partitions",
            value=partitions,
            hint="leave one of the two out",
        )
    if "punctuation" in source.schema.names:
        raise ConfigurationError(
            "cannot be added to data that has a column `punctuation` already",
            parameter="punctuate",
            value=options["punctuate"],
            hint="leave it out",
        )
    time, domain = _time(options, source)
    return PunctuationRows(time, domain, _slack(options["punctuate"], domain))


def _time(options: Mapping[str, str], source: Source) -> tuple[str, Domain]:
    """The column that progresses, and what it measures."""
    fitting = {f.name: _domain(f.type) for f in source.schema if _domain(f.type)}
    name = options.get("time", source.stream.recipe.time if isinstance(source, RecipeSource) else None)
    domain = fitting.get(name) if name is not None else None
    if name is None or domain is None:
        raise ConfigurationError(
            "must name the column of timestamps or integers that `punctuate` is about",
            parameter="time",
            value=name,
            allowed=tuple(fitting),
            hint=f"say .option('time', '{next(iter(fitting), 'time')}')",
        )
    return name, domain


def _domain(kind: pa.DataType) -> Domain | None:
    if pa.types.is_timestamp(kind):
        return Domain.TIME
    fits = pa.types.is_integer(kind) and kind != pa.uint64()  # Spark holds those as decimals
    return Domain.INTEGER if fits else None


def _slack(text: str, domain: Domain) -> int:
    slack = Amount.of(text, "punctuate").resolve(domain, "punctuate")
    if slack < 0:
        raise ConfigurationError(
            "must not be negative", parameter="punctuate", value=text, hint="say how late a row may come, like '30 s'"
        )
    return slack
