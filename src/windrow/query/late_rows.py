"""What a run reports of rows that it lost because they were late or early, and nobody had chosen to drop them."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from windrow.errors import DataError, LateRowsWarning
from windrow.plan.checks.nodes import loses_unasked, shape_of
from windrow.plan.nodes import Join, Late, Node, Stream, WindowAggregate, walk
from windrow.semantics.progress.lateness import Jump
from windrow.semantics.progress.policies import External
from windrow.semantics.scalars.amounts import Domain, in_words, render, roughly, rounded_up
from windrow.semantics.scalars.casting import to_string
from windrow.semantics.scalars.moments import moment
from windrow.semantics.windows.kinds import Sliding

if TYPE_CHECKING:
    from windrow.pipeline.metrics import Metrics

_HOME = str(Path(__file__).parents[1])
_LEADS = {Domain.TIME: (3_600_000_000, 60_000_000, 1_000_000), Domain.INTEGER: (1_000, 100, 10)}
"""Bounds to suggest for how far a row may be ahead; the first that is well below what it was."""
_PATIENCE = {Domain.TIME: 86_400_000_000, Domain.INTEGER: 1_000_000}
"""The most slack to suggest where a single row far ahead is what made others late."""


@dataclass(frozen=True)
class LostRowsText:
    """What a user would write, in the language that the query is asked in."""

    slack: str
    lead: str
    late: str
    capitals: bool

    def fill(self, template: str, what: str) -> str:
        return template.format(what.upper() if self.capitals else what)


PYTHON = LostRowsText("a slack of {}", "a lead of {}", '.late("{}")', capitals=False)
SQL = LostRowsText("SLACK {}", "LEAD {}", "LATE {}", capitals=True)


def warn_of_lost_rows(plans: Sequence[Node], each: Sequence[Metrics]) -> None:
    """Warn once of all queries of a run that lost rows, at the line of the user who asked for the answers."""
    pairs = zip(plans, each, strict=True)
    losing = [(place, plan, metrics) for place, (plan, metrics) in enumerate(pairs, 1) if metrics.rows_lost]
    if not losing:
        return
    texts = [" ".join(f"{one[0].upper()}{one[1:]}." for one in sentences(plan, metrics)) for _, plan, metrics in losing]
    if len(plans) > 1:
        texts = [f"query {place}: {text}" for (place, _, _), text in zip(losing, texts, strict=True)]
    found = [metrics for _, _, metrics in losing]
    warning = LateRowsWarning(
        "\n".join(texts),
        rows=sum(metrics.rows_in for metrics in found),
        late=sum(metrics.rows_late for metrics in found),
        early=sum(metrics.rows_early for metrics in found),
        lost=sum(metrics.rows_lost for metrics in found),
        slack=_enough(losing),
    )
    warnings.warn(warning, stacklevel=outside())


def outside() -> int:
    """How many calls up the caller of this package is."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HOME):
        level, frame = level + 1, frame.f_back
    return level


def _enough(losing: Sequence[tuple[int, Node, Metrics]]) -> str | int | None:
    """The most slack that one of the streams would have needed, as `wr.slack` takes it."""
    needed = [(units, domain) for _, plan, metrics in losing for _, units, domain in needed_slack(plan, metrics)]
    if not needed:
        return None
    units, domain = max(needed, key=lambda one: one[0])
    return units if domain is Domain.INTEGER else render(units, domain)


def sentences(plan: Node, metrics: Metrics, words: LostRowsText = PYTHON) -> list[str]:
    """What was lost, what would have helped and what to write; then the rows that moved progress, if there are such."""
    losing = [node for node in walk(plan) if loses_unasked(node, plan)]
    one = metrics.rows_lost == 1
    outcome = " or ".join(dict.fromkeys(_outcome(node, one) for node in losing)) or _outcome(plan, one)
    lost = f"{metrics.rows_lost:,} of {metrics.rows_in:,} rows {_how(metrics)} and {outcome}"
    them = ("it" if one else "them") if not _early(metrics) else "those that were late"
    kept = f"{slack} would have kept {them}" if (slack := _slack(plan, metrics, words)) else ""
    advice = "; ".join(filter(None, (kept or _promised(plan, metrics), _remedy(losing, metrics, words))))
    return [f"{lost}: {advice}" if advice else lost, *_jumps(plan, metrics, words)]


def _how(metrics: Metrics) -> str:
    early, lost = _early(metrics), metrics.rows_lost
    if not early:
        return "came too late"
    was = "was" if lost == 1 else "were"
    return f"{was} too far ahead" if early == lost else f"came too late, or were too far ahead ({early:,} of them),"


def _early(metrics: Metrics) -> int:
    """How many of the lost rows were early: all that were, since late and early rows have one policy."""
    return min(metrics.rows_early, metrics.rows_lost)


def _outcome(node: Node, one: bool) -> str:
    if isinstance(node, WindowAggregate) and node.late is Late.REVISE:
        return f"{'is' if one else 'are'} in no correction of some or all of {'its' if one else 'their'} windows"
    if isinstance(node, WindowAggregate):
        return f"{'is' if one else 'are'} missing from some or all of {'its' if one else 'their'} windows"
    if isinstance(node, Join):
        return "joined nothing"
    return f"{'is' if one else 'are'} missing from the answer"


def needed_slack(plan: Node, metrics: Metrics) -> Iterator[tuple[str, int, Domain]]:
    """The streams whose late rows more slack would have kept, and how much of it.

    None where punctuations come with the data, where a stream that lags is not waited for, and where a row so far ahead
    made the others late that nobody would wait for them.
    """
    for name, behind, stream in _behind(plan, metrics):
        domain = shape_of(stream).domain
        patient = _jump(name, metrics) is None or behind <= _PATIENCE[domain]
        if patient and stream.idle is None and not isinstance(stream.policy, External):
            yield name, rounded_up(behind, domain), domain


def _behind(plan: Node, metrics: Metrics) -> Iterator[tuple[str, int, Stream]]:
    """The sources that had rows below their bound; one that is read in several places has a number in its name."""
    streams = {node.name: node for node in walk(plan) if isinstance(node, Stream)}
    for name, source in metrics.sources.items():
        if source.behind is not None:
            yield name, source.behind, streams.get(name) or streams[name.rpartition(" (")[0]]


def _slack(plan: Node, metrics: Metrics, words: LostRowsText) -> str:
    """How much slack of which streams, where that would have kept all rows."""
    enough = list(needed_slack(plan, metrics))
    if len(enough) < len(list(_behind(plan, metrics))):
        return ""
    of = {name: f" of {name}" if len(metrics.sources) > 1 else "" for name in metrics.sources}
    return " and ".join(words.fill(words.slack, in_words(units, domain)) + of[name] for name, units, domain in enough)


def _promised(plan: Node, metrics: Metrics) -> str:
    """How late rows were by punctuations that the data itself carried."""
    lags = [
        f"{roughly(units, shape_of(stream).domain)} below what {name} had promised"
        for name, units, stream in _behind(plan, metrics)
        if isinstance(stream.policy, External) and _jump(name, metrics) is None
    ]
    return f"up to {' and '.join(lags)}" if lags else ""


def _remedy(losing: Sequence[Node], metrics: Metrics, words: LostRowsText) -> str:
    """What to write if that is meant, and what if not; DISTINCT and ordered output have no such setting."""
    asked = [node for node in losing if isinstance(node, (WindowAggregate, Join))]
    if any(node.late is Late.REVISE for node in asked):
        return "say for how long windows are corrected, WITHIN"
    if not asked:
        return ""
    one, has_late = metrics.rows_lost == 1, metrics.rows_lost > _early(metrics)
    drop, side, revise = (words.fill(words.late, word) for word in ("drop", "side", "revise"))
    corrects = has_late and any(isinstance(n, WindowAggregate) and isinstance(n.window, Sliding) for n in asked)
    corrected = f" or {revise} to correct {'its' if one else 'their'} windows" if corrects else ""
    return f"say {drop} if that is meant, {side} to get {'it' if one else 'them'}{corrected}"


def _jump(name: str, metrics: Metrics) -> Jump | None:
    """The row of a source that moved progress past others, where these account for what is late."""
    jump = metrics.sources[name].jump
    return jump if jump is not None and 2 * jump.rows >= metrics.rows_late else None


def _jumps(plan: Node, metrics: Metrics, words: LostRowsText) -> Iterator[str]:
    """The rows that moved progress past others, in words."""
    for name, _, stream in _behind(plan, metrics):
        jump = _jump(name, metrics)
        if jump is not None:
            domain = shape_of(stream).domain
            time = f"{jump.time:,}" if domain is Domain.INTEGER else shown_moment(jump.time)
            filtered = " (or would have, but for filters)" if metrics.rows_filtered else ""
            yield (
                f"{_named(jump)} of {name} (time {time}) moved progress "
                f"{roughly(jump.ahead, domain)} ahead, and {jump.rows:,} rows after it came too late{filtered}"
                f"{_lead(jump, domain, words)}"
            )


def _lead(jump: Jump, domain: Domain, words: LostRowsText) -> str:
    """The bound that would have set the row aside; punctuations are believed, however far ahead they are."""
    fitting = [lead for lead in _LEADS[domain] if 2 * lead <= jump.ahead]
    if jump.kind == "punctuation" or not fitting:
        return ""
    return f"; {words.fill(words.lead, in_words(fitting[0], domain))} would have set it aside"


def _named(jump: Jump) -> str:
    if jump.kind == "punctuation":
        return f"the punctuation before row {jump.number + 1:,}"
    return f"{jump.kind} {jump.number + (jump.kind == 'row'):,}"


def shown_moment(time: int) -> str:
    """A time as text; microseconds where the calendar does not reach so far."""
    try:
        return to_string(moment(time))
    except DataError:
        return str(time)
