"""What a command says on standard error: lines for people as ever, or with `--log` one record of an event a line.

Records come from the logger `windrow`; only here is it connected to anything.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

import click

from windrow.events import LOGGER, tell

LEVELS = ("debug", "info", "warning", "error")
_OWN = "windrow_cli_log"


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
        event = getattr(record, "event", record.name)
        lines = " | ".join(record.getMessage().splitlines())
        return f"{_time_of(record)} {record.levelname:<7} {event}: {lines}"


class JsonLog(logging.Formatter):
    """An object with ts, level, event, message, and the fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        known = {
            "ts": _time_of(record),
            "level": record.levelname.lower(),
            "event": getattr(record, "event", record.name),
            "message": record.getMessage(),
        }
        fields = {name: value for name, value in getattr(record, "fields", {}).items() if name not in known}
        return json.dumps({**known, **fields}, default=str, ensure_ascii=False)


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
