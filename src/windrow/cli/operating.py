"""A run that goes on for weeks, as the command line operates it: watched over HTTP and by systemd, stopped by signals,
begun again after a fault from outside.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import click

from windrow.cli.exits import Interrupted, Pressed, Terminated, asked_first, ending_of
from windrow.cli.logs import is_logged, log_options, logged, say
from windrow.errors import ConfigurationError, WindrowWarning
from windrow.events import tell

if TYPE_CHECKING:
    from windrow.engines.run import Requests
    from windrow.operations.attendance import Attendance
    from windrow.operations.restarts import Delays
    from windrow.operations.systemd import Notifier
    from windrow.query import Query

Done = TypeVar("Done")
_NAP = 0.1
"""Seconds after which the keeper looks whether there was a signal."""
_LOOK_EVERY = 1.0
_DELAY, _WITHIN, _STALLED = "5 s", "25 s", "5 min"


def operating_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How a run is watched, stopped and begun again."""
    options = (
        click.option("--metrics-port", type=click.IntRange(0, 65535), metavar="N", help=_PORT),
        click.option("--metrics-host", metavar="HOST", default="127.0.0.1", show_default=True, help=_HOST),
        click.option("--stalled-after", metavar="TIME", default=_STALLED, show_default=True, help=_STALL),
        click.option("--stop-within", metavar="TIME", default=_WITHIN, show_default=True, help=_STOP),
        click.option("--restart", type=click.Choice(["never", "on-failure"]), default="never", help=_RESTART),
        click.option("--restart-delay", metavar="TIME", default=_DELAY, show_default=True, help=_WAIT),
    )
    function = log_options(function)
    for option in reversed(options):
        function = option(function)
    return function


_PORT = "Serve /metrics (OpenMetrics), /health and /ready over HTTP; 0: a port that is free."
_HOST = "Where to serve them."
_STALL = "Without progress for so long, /health says 503."
_STOP = "After a first SIGTERM or SIGINT, end at once when a run without an end has not ended by itself."
_RESTART = "on-failure: go on from the last checkpoint when a broker or host was away. [default: never]"
_WAIT = "How long to wait before that; doubled each time, up to a minute."


@dataclass
class Operation:
    """What surrounds the run of a command."""

    requests: Requests
    attendance: Attendance
    delays: Delays
    notifier: Notifier
    settings: dict[str, Any]
    within: float
    """Seconds that a run has to end by itself."""
    signalled: int | None = None
    """The first signal that asked the run to end; written by the handler, which must not wait for any lock."""
    _over: Event = field(default_factory=Event)
    _stopping_since: float | None = None
    _is_ready: bool = False

    def heeds(self, number: int) -> bool:
        """A signal: the first one asks the run to end, the next one interrupts it."""
        if self.signalled is not None:
            return False
        self.signalled = number
        return True

    def keep(self) -> None:
        """The thread that looks after the run, until it is over."""
        looked = beaten = monotonic()
        while not self._over.wait(_NAP):
            self._heed_signals()
            now = monotonic()
            if now - looked >= _LOOK_EVERY or not self._is_ready:
                looked = now
                self._note_readiness()
                if is_logged():
                    self.attendance.look()
            every = self.notifier.watchdog_seconds
            if every is not None and now - beaten >= min(every / 2, _LOOK_EVERY):
                beaten = now
                if self.attendance.board.is_alive().ok:
                    self.notifier.alive()

    def _heed_signals(self) -> None:
        if self.signalled is None:
            return
        if self._stopping_since is None:
            self._stopping_since = monotonic()
            self.requests.leave.set()
            self.notifier.stopping()
            name = signal.Signals(self.signalled).name
            kept = "a last checkpoint is written" if self.settings["checkpoint"] else "there is no checkpoint folder"
            say("stopping", f"{name}: the run ends, {kept}; a second signal ends it at once", signal=name)
        elif monotonic() - self._stopping_since > self.within:
            self._stopping_since = monotonic()  # and once more, where that is swallowed
            late = f"the run has not ended within {self.within:g} s, and is broken off"
            say("stopping", late, level=logging.WARNING)
            os.kill(os.getpid(), self.signalled)

    def _note_readiness(self) -> None:
        if not self._is_ready and self.attendance.board.readiness().ok:
            self._is_ready = True
            self.notifier.ready()
            tell("ready", "all sources are open")
        if self._is_ready and self.notifier.is_wanted:
            metrics = self.attendance.board.metrics
            self.notifier.status(f"{metrics.rows_in:,} rows in, {metrics.results:,} results")

    def end(self) -> None:
        self._over.set()
        if self._stopping_since is None:
            self.notifier.stopping()

    def repeat(self, run: Callable[[dict[str, Any]], Done]) -> Done:
        """What the run gives; begun again from its last checkpoint after a fault from outside, where that is wanted."""
        while True:
            self.delays.begin()
            try:
                done = run(self.settings)
            except Exception as error:
                if not self._wait_for_another(error):
                    raise
            else:
                if self.requests.left and self.signalled is not None:
                    raise Terminated if self.signalled == signal.SIGTERM else Pressed
                return done

    def _wait_for_another(self, error: Exception) -> bool:
        from windrow.engines.pulse import Pulse
        from windrow.operations.restarts import is_outside

        if self.settings["restart"] == "never" or not is_outside(error):
            return False
        seconds = self.delays.next()
        why = " ".join(str(error).split())
        line = f"{why} The run goes on in {seconds:g} s."
        say("restarting", line, level=logging.WARNING, seconds=seconds, reason=why)
        until = monotonic() + seconds
        while monotonic() < until:
            if self.requests.leave.wait(_NAP):
                raise Terminated if self.signalled == signal.SIGTERM else Pressed
        board = self.attendance.board
        board.restarts += 1
        self.requests.pulse = Pulse()
        board.go_on(self.requests.pulse)
        self.attendance.narrator.pulse = self.requests.pulse
        self.settings = {**self.settings, "restore": True}
        return True


@contextmanager
def operated(queries: Sequence[Query], settings: dict[str, Any], *, live: bool) -> Iterator[Operation]:
    """Everything around a run for as long as the block; only one that is `live` is asked to end by a first signal."""
    from windrow.engines.run import Requests
    from windrow.operations.attendance import attend, seconds_of
    from windrow.operations.restarts import Delays
    from windrow.operations.systemd import Notifier

    requests = Requests()
    attendance = attend(
        [query.plan for query in queries],
        requests,
        engine=settings["engine"],
        sources={name: source for query in queries for name, source in query.sources.items()},
        options={name: settings[name] for name in _TOLD if settings.get(name)},
        stalled_after=seconds_of(settings["stalled_after"], "--stalled-after"),
        told_apart=True,
    )
    delays = Delays(seconds_of(settings["restart_delay"], "--restart-delay"))
    within = seconds_of(settings["stop_within"], "--stop-within")
    operation = Operation(requests, attendance, delays, Notifier(), settings, within)
    with ExitStack() as stack:
        stack.callback(attendance.close)
        if settings["metrics_port"] is not None:
            url = attendance.serve(settings["metrics_host"], settings["metrics_port"])
            if not is_logged():
                say("metrics", f"metrics are at {url}/metrics")
        if live:
            stack.enter_context(asked_first(operation.heeds))
        if live or is_logged() or operation.notifier.is_wanted:
            Thread(target=operation.keep, name="windrow-keeper", daemon=True).start()
        stack.callback(operation.end)
        yield operation


_TOLD = (
    *("output", "late", "strategy", "checkpoint", "restore", "threads", "shards", "batch_rows", "memory_budget"),
    *("every", "restart"),
)
"""Options that an operator wants to see in a log."""


def check_operating(settings: dict[str, Any]) -> None:
    """Refuse what cannot be meant."""
    if settings["restart"] == "on-failure" and not settings["checkpoint"]:
        hint = "what was open would be lost; give a folder to go on from"
        raise ConfigurationError("needs --checkpoint DIR", parameter="--restart", value="on-failure", hint=hint)


def kind_of_log(settings: dict[str, Any], *, live: bool) -> str | None:
    """As asked for; a run without an end that nobody watches logs, too."""
    if settings["log"] is None and live and not sys.stderr.isatty():
        return "text"
    asked: str | None = settings["log"]
    return asked


@contextmanager
def told_endings(settings: dict[str, Any]) -> Iterator[None]:
    """Where events are shown, the way the command ends is one, and so are warnings."""
    if is_logged() or settings["log"] is None:
        yield
        return
    with logged(settings["log"], settings["log_level"]), warnings.catch_warnings():
        usual = warnings.showwarning
        warnings.showwarning = lambda *given: _warn(usual, *given)
        try:
            yield
        except (KeyboardInterrupt, Exception) as error:
            ending = error if isinstance(error, click.ClickException) else ending_of(error)
            if ending is None:
                raise
            level = logging.INFO if isinstance(ending, Interrupted) else logging.ERROR
            message = " ".join(ending.message.split())
            say("stopped", message, level=level, code=ending.exit_code)
            raise click.exceptions.Exit(ending.exit_code) from error
        say("stopped", "the run has come to its end", code=0)


def _warn(usual: Callable[..., None], message: Warning | str, category: type[Warning], *where: Any) -> None:
    if issubclass(category, WindrowWarning):
        tell("warning", f"{message}.", level=logging.WARNING, kind=category.__name__)
    else:
        usual(message, category, *where)
