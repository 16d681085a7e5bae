"""One tree of errors; families by who must act.

Every error carries what a program needs to react (`parameter`, `value`, `allowed`, `position`)
and renders one message a person can act on: the parameter in backticks, the rule, what was
given, and a hint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

_NOTHING = object()


@dataclass(frozen=True)
class Position:
    """A place in a query text: offsets into `text`, end exclusive."""

    text: str
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.text.count("\n", 0, self.start) + 1

    @property
    def column(self) -> int:
        return self.start - (self.text.rfind("\n", 0, self.start) + 1) + 1

    def render(self) -> str:
        """The line of text with a caret under the place.

        >>> print(Position("SELECT x FROM s", 7, 8).render())
        line 1, column 8:
          SELECT x FROM s
                 ^
        """
        first = self.text.rfind("\n", 0, self.start) + 1
        last = self.text.find("\n", self.start)
        line = self.text[first : last if last >= 0 else len(self.text)]
        width = max(1, min(self.end - self.start, len(line) - (self.start - first)))
        gap = "".join(c if c == "\t" else " " for c in line[: self.start - first])
        return f"line {self.line}, column {self.column}:\n  {line}\n  {gap}{'^' * width}"


class WindrowError(Exception):
    """The root: catch this to catch everything Windrow raises on purpose.

    >>> str(QueryError("must be positive", parameter="range", value=0, hint="say RANGE 10 SECONDS"))
    '`range` must be positive, got 0. Hint: say RANGE 10 SECONDS.'
    """

    def __init__(
        self,
        rule: str,
        *,
        parameter: str | None = None,
        value: Any = _NOTHING,
        allowed: tuple[Any, ...] = (),
        hint: str | None = None,
        position: Position | None = None,
    ) -> None:
        super().__init__(rule)
        self.rule = rule
        self.parameter = parameter
        self.value = None if value is _NOTHING else value
        self.has_value = value is not _NOTHING
        self.allowed = allowed
        self.hint = hint
        self.position = position

    def at(self, position: Position) -> WindrowError:
        """The same error with its place in the query text (kept if it has one already)."""
        self.position = self.position or position
        return self

    def __str__(self) -> str:
        text = f"`{self.parameter}` {self.rule}" if self.parameter else self.rule
        if self.allowed:
            text += " (one of " + ", ".join(str(a) for a in self.allowed) + ")"
        if self.has_value:
            text += f", got {self.value if isinstance(self.value, str) else repr(self.value)}"
        text += "."
        if self.hint:
            text += f" Hint: {self.hint}."
        if self.position:
            text += "\n" + self.position.render()
        return text


class QueryError(WindrowError, ValueError):
    """The query asks for something that cannot be: the author of the query must act."""


class DataError(WindrowError, ValueError):
    """The data breaks a rule the query relies on: the owner of the data must act."""


class SumOverflowError(DataError, OverflowError):
    """An integer sum does not fit into 64 bits."""


class SourceError(DataError, OSError):
    """A file or source cannot be read; `used` rows were read before it broke."""

    def __init__(self, rule: str, *, used: int = 0, **fields: Any) -> None:
        super().__init__(rule, **fields)
        self.used = used


class UnavailableError(SourceError, ConnectionError):
    """What a run reads from, or writes to, is away and may come back: a broker, a database, a host.

    Nobody has made a mistake, and the same run may go on later; `windrow run --restart on-failure` does.
    """


class ConfigurationError(WindrowError, ValueError):
    """A setting, path or checkpoint is wrong: the person who runs the query must act."""


class UnsupportedError(WindrowError, NotImplementedError):
    """This engine or strategy does not do that; the message names one that does."""


class InternalError(WindrowError, RuntimeError):
    """A broken promise inside Windrow: please report it."""


def reason_of(error: Exception) -> str:
    """What the system says, to stand in brackets."""
    return (getattr(error, "strerror", None) or str(error)).lower()


class WindrowWarning(UserWarning):
    """The root of what Windrow warns of: there is an answer, but something on the way to it was not as expected."""


class DamagedCheckpointWarning(WindrowWarning):
    """A file of the last checkpoint is damaged, and the run goes on from the one before it."""


class LostDatagramsWarning(WindrowWarning):
    """Datagrams never came in, on the way or because a buffer was full: so many were `lost`."""

    def __init__(self, message: str, *, lost: int) -> None:
        super().__init__(message)
        self.lost = lost


class LateRowsWarning(WindrowWarning):
    """Rows are missing from an answer because they were late or early, and nobody chose to drop them.

    `lost` of the `rows` that came in are; all in all so many were `late`, and so many `early`. `slack` is what would
    have kept the late ones in time, as `wr.slack` takes it, where that is known.
    """

    def __init__(
        self, message: str, *, rows: int, late: int, early: int, lost: int, slack: str | int | None = None
    ) -> None:
        super().__init__(message)
        self.rows = rows
        self.late = late
        self.early = early
        self.lost = lost
        self.slack = slack
