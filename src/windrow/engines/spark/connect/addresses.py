"""Where Spark reads and writes, as users write it: `kafka://host:9092/trades`, `table:results`, `out.parquet`.

Options of Spark's follow after a question mark: `table:results?maxBytesPerTrigger=1g`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import parse_qsl

from windrow.errors import ConfigurationError
from windrow.sources.addresses import BARE, FILES, NAMED, STORES, own_path, parts_of
from windrow.sources.files.paths import FileKind, find_files, kind_of
from windrow.sources.kafka.address import READING, SPARK_READING, WRITING, read_address

_FORMATS = {FileKind.PARQUET: "parquet", FileKind.CSV: "csv", FileKind.TSV: "csv", FileKind.JSON: "json"}
_OPTIONS = re.compile(r"\?((?:[A-Za-z][\w.]*=[^&]*)(?:&[A-Za-z][\w.]*=[^&]*)*)$")
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
    parts = parts_of(uri)
    if parts and parts[0] == "kafka":
        found = read_address(uri, parameter, (*READING, *WRITING, *SPARK_READING))
        return Address("kafka", found.topic, dict(found.options))
    asked = _OPTIONS.search(uri) if parts else None
    if asked is not None:
        plain = address(uri[: asked.start()], parameter)
        return replace(plain, options={**plain.options, **dict(parse_qsl(asked[1], keep_blank_values=True))})
    if parts is None or parts[0] in STORES:
        return _path(uri, parameter)
    scheme, rest = parts
    if scheme in FILES or scheme in NAMED:
        if not rest.strip("/ "):
            what, example = ("a name", "results") if scheme in NAMED else ("a folder", "/data/results")
            raise ConfigurationError(
                f"must have {what} after {scheme}:", parameter=parameter, value=uri, hint=f"write {scheme}:{example}"
            )
        return Address(scheme, _home(rest) if scheme in FILES else rest)
    if scheme in BARE:
        if rest:
            raise ConfigurationError(
                f"must have nothing after {scheme}:", parameter=parameter, value=uri, hint="give settings as options"
            )
        return Address(scheme)
    raise _unknown(uri, parameter, "name a place that Spark knows, or give a DataFrame of your own")


def split(uri: str) -> tuple[str, str]:
    """The scheme of an address, none for a path, and what follows it without options.

    >>> split("CSV:/answers?sep=;"), split("answers.csv")
    (('csv', '/answers'), ('', 'answers.csv'))
    """
    parts = parts_of(uri)
    return (parts[0], _OPTIONS.sub("", parts[1])) if parts else ("", uri)


def _path(text: str, parameter: str) -> Address:
    """A path, whose ending is the format; a folder's format is that of its files, Parquet when it has none."""
    path = Path(_home(text))
    kind = kind_of(path)
    if kind is None and path.is_dir():
        kind = find_files(path, parameter)[1] if any(path.iterdir()) else FileKind.PARQUET
    if kind is None and text.endswith("/"):
        kind = FileKind.PARQUET
    if kind is None:
        raise _unknown(text, parameter, "name a folder with an ending such as answers.parquet, or say parquet:/folder")
    return Address(_FORMATS[kind], _home(text), {"sep": "\t"} if kind is FileKind.TSV else {})


def _home(text: str) -> str:
    return str(own_path(text)) if text.startswith("~") else text


def _unknown(uri: str, parameter: str, hint: str) -> ConfigurationError:
    return ConfigurationError(
        "must be a place that Spark reads or writes", parameter=parameter, value=uri, allowed=SPELLINGS, hint=hint
    )
