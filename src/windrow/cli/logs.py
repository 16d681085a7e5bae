"""What a command says on standard error: lines for people as ever, or with `--log` one record of an event a line.

Records come from the logger `windrow`; only here is it connected to anything.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import click

from windrow.events import LOGGER, Seldom, tell

LEVELS = ("debug", "info", "warning", "error")
_OWN = "windrow_cli_log"
_USUAL = {*vars(logging.makeLogRecord({})), "message", "asctime"}
"""What every record has."""
_SECONDS = 10.0
"""After which what repeats is told again."""


def log_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How events are shown."""
    levels = "Leave out events below this level."
    function = click.option("--log-level", type=click.Choice(LEVELS), default="info", show_default=True, help=levels)(
        function
    )
    kinds = "Say everything on standard error as events, a line each, with the time in UTC; json: an object each."
    return click.option("--log", "log", type=click.Choice(["text", "json"]), help=kinds)(function)


class TextLog(logging.Formatter):
    """Time, level, event, what happened."""

    def format(self, record: logging.LogRecord) -> str:
        event, fields = told_by(record)
        lines = " | ".join(record.getMessage().splitlines())
        if not hasattr(record, "event"):
            lines += "".join(f", {name} {value}" for name, value in fields.items())
        return f"{_time_of(record)} {record.levelname:<7} {event}: {lines}"


class JsonLog(logging.Formatter):
    """An object with ts, level, event, message, and the fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        event, fields = told_by(record)
        known = {
            "ts": _time_of(record),
            "level": record.levelname.lower(),
            "event": event,
            "message": record.getMessage(),
        }
        more = {name: value for name, value in fields.items() if name not in known}
        return json.dumps({**known, **more}, default=str, ensure_ascii=False)


def told_by(record: logging.LogRecord) -> tuple[str, dict[str, Any]]:
    """The event and its fields; of a record that has none, by its message and what is extra in it.

    So `log.warning("connection lost", extra={"source": "trades"})` is "source.connection_lost".
    """
    if hasattr(record, "event"):
        return record.event, dict(getattr(record, "fields", {}))
    extra = {name: value for name, value in vars(record).items() if name not in _USUAL}
    where = "source" if "source" in extra else "output"
    return f"{where}.{re.sub(r'[^a-z0-9]+', '_', str(record.msg).lower()).strip('_')}", extra


class _Repeats(logging.Filter):
    """Lets a record of no event through now and then only, where the same one of the same source repeats."""

    def __init__(self) -> None:
        super().__init__()
        self.seldom = Seldom()

    def filter(self, record: logging.LogRecord) -> bool:
        if hasattr(record, "event"):
            return True
        held = self.seldom.due((record.msg, getattr(record, "source", None)), _SECONDS)
        if held:
            record.repeated = held
        return held is not None


class _StandardError(logging.Handler):
    """To standard error as it is at the moment. One that is gone, or full, ends nothing."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            click.echo(self.format(record), err=True)
        except (OSError, ValueError):
            return


def _time_of(record: logging.LogRecord) -> str:
    at = datetime.fromtimestamp(record.created, tz=timezone.utc)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def logged(kind: str | None, level: str) -> Iterator[None]:
    """Events go to standard error within the block, in lines of this kind; None: none do."""
    if kind is None:
        yield
        return
    handler = _StandardError()
    handler.set_name(_OWN)
    handler.addFilter(_Repeats())
    handler.setFormatter(JsonLog() if kind == "json" else TextLog())
    before = LOGGER.level
    LOGGER.addHandler(handler)
    LOGGER.setLevel(level.upper())
    try:
        yield
    finally:
        LOGGER.removeHandler(handler)
        LOGGER.setLevel(before)


def is_logged() -> bool:
    """Whether this command shows events."""
    return any(handler.get_name() == _OWN for handler in LOGGER.handlers)


def say(event: str, line: str, /, *, level: int = logging.INFO, bold: bool = False, **fields: Any) -> None:
    """A line on standard error, or an event where these are shown."""
    if is_logged():
        tell(event, line, level=level, **fields)
    elif bold:
        click.secho(line, err=True, fg="yellow", bold=True)
    else:
        click.echo(line, err=True)
