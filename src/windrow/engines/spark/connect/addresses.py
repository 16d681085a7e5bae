"""Where Spark reads and writes, as users write it: `kafka://host:9092/trades`, `table:results`, `out.parquet`.

Options of Spark's follow after a question mark: `kafka://host:9092/trades?startingOffsets=earliest`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl

from windrow.errors import ConfigurationError
from windrow.sources.files.paths import Kind, find_files, kind_of

FILES = ("parquet", "json", "csv", "delta")
NAMED = ("table", "memory")
BARE = ("console", "rate")
STORES = ("file", "s3", "s3a", "s3n", "gs", "hdfs", "viewfs", "abfs", "abfss", "wasb", "wasbs", "dbfs", "oss")
"""Schemes of file systems: what follows is a path like any other."""
_FORMATS = {Kind.PARQUET: "parquet", Kind.CSV: "csv", Kind.TSV: "csv", Kind.JSON: "json"}
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(.*)", re.S)  # two letters at least: C:\ is a drive
_OPTIONS = re.compile(r"\?((?:[A-Za-z][\w.]*=[^&]*)(?:&[A-Za-z][\w.]*=[^&]*)*)$")
_KAFKA = re.compile(r"//([^/\s]+:\d+)/([^/\s]+)")
SPELLINGS = (
    "kafka://host:port/topic",
    *(f"{name}:name" for name in NAMED),
    *(f"{name}:" for name in BARE),
    *(f"{name}:/folder" for name in FILES),
    "a path",
)


@dataclass(frozen=True)
class Address:
    """A format of Spark's, and in it a path, a name or a topic; `options` follow from how the address is written."""

    format: str
    target: str = ""
    options: dict[str, str] = field(default_factory=dict)


def address(uri: str, parameter: str) -> Address:
    """What a URI or a path stands for; `parameter` is what messages call it.

    >>> address("table:results", "output")
    Address(format='table', target='results', options={})
    >>> address("answers.csv", "output")
    Address(format='csv', target='answers.csv', options={})
    >>> address("rate:?rowsPerSecond=5", "source")
    Address(format='rate', target='', options={'rowsPerSecond': '5'})
    """
    asked = _OPTIONS.search(uri) if _SCHEME.match(uri) else None
    if asked is not None:
        plain = address(uri[: asked.start()], parameter)
        return replace(plain, options={**plain.options, **dict(parse_qsl(asked[1], keep_blank_values=True))})
    found = _SCHEME.fullmatch(uri)
    scheme = found[1].lower() if found else ""
    if found is None or scheme in STORES:
        return _path(uri, parameter)
    if scheme == "kafka":
        return _kafka(uri, found[2], parameter)
    if scheme in FILES or scheme in NAMED:
        return Address(scheme, _filled(uri, found[2], scheme, parameter))
    if scheme in BARE:
        return Address(scheme, _empty(uri, found[2], scheme, parameter))
    raise _unknown(uri, parameter, "name a place that Spark knows, or give a DataFrame of your own")


def is_address(text: str) -> bool:
    """Whether a text begins like an address of Spark's.

    >>> is_address("kafka://host:9092/trades"), is_address("ftp://host/trades.csv"), is_address("trades.csv")
    (True, False, False)
    """
    found = _SCHEME.fullmatch(text)
    return found is not None and found[1].lower() in ("kafka", *STORES, *FILES, *NAMED, *BARE)


def split(uri: str) -> tuple[str, str]:
    """The scheme of an address, none for a path, and what follows it without options.

    >>> split("CSV:/answers?sep=;"), split("answers.csv")
    (('csv', '/answers'), ('', 'answers.csv'))
    """
    found = _SCHEME.fullmatch(uri)
    return (found[1].lower(), _OPTIONS.sub("", found[2])) if found else ("", uri)


def _kafka(uri: str, rest: str, parameter: str) -> Address:
    found = _KAFKA.fullmatch(rest)
    if found is None:
        raise ConfigurationError(
            "must name the servers and one topic",
            parameter=parameter,
            value=uri,
            hint="write kafka://host:9092/topic, with commas between several servers",
        )
    return Address("kafka", found[2], {"kafka.bootstrap.servers": found[1]})


def _filled(uri: str, rest: str, scheme: str, parameter: str) -> str:
    if not rest.strip("/ "):
        what = "a name" if scheme in NAMED else "a folder"
        raise ConfigurationError(
            f"must have {what} after {scheme}:", parameter=parameter, value=uri, hint=f"write {_example(scheme)}"
        )
    return _home(rest) if scheme in FILES else rest


def _example(scheme: str) -> str:
    return f"{scheme}:results" if scheme in NAMED else f"{scheme}:/data/results"


def _empty(uri: str, rest: str, scheme: str, parameter: str) -> str:
    if rest:
        raise ConfigurationError(
            f"must have nothing after {scheme}:", parameter=parameter, value=uri, hint="give settings as options"
        )
    return ""


def _path(text: str, parameter: str) -> Address:
    """A path, whose ending tells the format; a folder's format is that of its files, Parquet when it has none."""
    path = Path(_home(text))
    kind = kind_of(path)
    if kind is None and path.is_dir():
        kind = find_files(path, parameter)[1] if any(path.iterdir()) else Kind.PARQUET
    if kind is None and text.endswith("/"):
        kind = Kind.PARQUET
    if kind is None:
        raise _unknown(text, parameter, "name a folder with an ending such as answers.parquet, or say parquet:/folder")
    return Address(_FORMATS[kind], _home(text), {"sep": "\t"} if kind is Kind.TSV else {})


def _home(text: str) -> str:
    return str(Path(text).expanduser()) if text.startswith("~") else text


def _unknown(uri: str, parameter: str, hint: str) -> ConfigurationError:
    return ConfigurationError(
        "must be a place that Spark reads or writes", parameter=parameter, value=uri, allowed=SPELLINGS, hint=hint
    )
