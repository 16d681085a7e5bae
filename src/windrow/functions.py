"""The words of the Python API: aggregates, progress policies, and nothing that runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from windrow.errors import QueryError
from windrow.plan.build.queries import Length
from windrow.semantics.progress.partitions import rows_per_partition
from windrow.semantics.progress.policies import AtEnd, External, Idle, Lead, Ordered, Slack, SlackRows
from windrow.semantics.scalars.amounts import Amount, Domain
from windrow.semantics.scalars.expressions import Expression


@dataclass(frozen=True)
class AggregateSpec:
    """An aggregate before it has a name: `agg(total=wr.sum("price"))` gives it one."""

    function: str
    argument: str | Expression | None = None
    parameters: tuple[Any, ...] = ()


def aggregate(function: str, column: str | Expression | None = None, *parameters: Any) -> AggregateSpec:
    """Any aggregate by name, registered ones included; `column` may be an expression, as in "price * volume"."""
    return AggregateSpec(function, column, parameters)


def count(column: str | Expression | None = None) -> AggregateSpec:
    """How many rows; with a column, how many where it is not NULL."""
    return AggregateSpec("count", column)


def count_distinct(column: str | Expression) -> AggregateSpec:
    """How many different values."""
    return AggregateSpec("count_distinct", column)


def approx_distinct(column: str | Expression, error: float | None = None) -> AggregateSpec:
    """About how many different values, with a standard error of 2 % or the one given (0.005 to 0.2)."""
    return AggregateSpec("approx_distinct", column, () if error is None else (error,))


def sum(column: str | Expression) -> AggregateSpec:
    """The exact sum; an integer sum that does not fit 64 bits is an error."""
    return AggregateSpec("sum", column)


def avg(column: str | Expression) -> AggregateSpec:
    """The mean, from the exact sum."""
    return AggregateSpec("avg", column)


mean = avg


def min(column: str | Expression) -> AggregateSpec:
    """The least value."""
    return AggregateSpec("min", column)


def max(column: str | Expression) -> AggregateSpec:
    """The greatest value; NaN is the greatest float."""
    return AggregateSpec("max", column)


def variance(column: str | Expression) -> AggregateSpec:
    """The sample variance; NULL for fewer than two values."""
    return AggregateSpec("variance", column)


def var_pop(column: str | Expression) -> AggregateSpec:
    """The population variance."""
    return AggregateSpec("var_pop", column)


def stddev(column: str | Expression) -> AggregateSpec:
    """The sample standard deviation; NULL for fewer than two values."""
    return AggregateSpec("stddev", column)


def stddev_pop(column: str | Expression) -> AggregateSpec:
    """The population standard deviation."""
    return AggregateSpec("stddev_pop", column)


def first(column: str | Expression) -> AggregateSpec:
    """The value at the earliest event time; ties go to the smallest value."""
    return AggregateSpec("first", column)


def last(column: str | Expression) -> AggregateSpec:
    """The value at the latest event time; ties go to the greatest value."""
    return AggregateSpec("last", column)


def median(column: str | Expression) -> AggregateSpec:
    """The middle value, exact."""
    return AggregateSpec("median", column)


def quantile(column: str | Expression, q: float) -> AggregateSpec:
    """The q-quantile, exact, interpolated between the two nearest values."""
    return AggregateSpec("quantile", column, (q,))


def mode(column: str | Expression) -> AggregateSpec:
    """The most frequent value; ties go to the smallest."""
    return AggregateSpec("mode", column)


def top_k(column: str | Expression, k: int) -> AggregateSpec:
    """The k most frequent values with their counts."""
    return AggregateSpec("top_k", column, (k,))


def heavy_hitters(column: str | Expression, fraction: float) -> AggregateSpec:
    """The values that make up at least a fraction of the rows, with their counts."""
    return AggregateSpec("heavy_hitters", column, (fraction,))


def collect(column: str | Expression) -> AggregateSpec:
    """All values as a list in order of event time."""
    return AggregateSpec("collect", column)


def slack(amount: Length, *, lead: Lead | Length | None = None, per: str | Sequence[str] = ()) -> Slack | SlackRows:
    """Rows come at most this much behind the largest value seen, or at most this many rows late.

    A row further ahead of that value than `lead` is early: it is set aside, and does not move it. With `per`, the
    columns that name a partition, that is the largest of its own partition, and the stream is as far as the slowest.

    >>> slack("60 s").amount.resolve(Domain.TIME, "slack")
    60000000
    >>> slack("100 rows").rows
    100
    >>> slack("1 s", per="partition").per
    ('partition',)
    """
    parsed, columns = Amount.of(amount, "slack"), _columns(per)
    if not parsed.is_rows:
        return Slack(parsed, _lead(lead), columns)
    rows = SlackRows(Amount(parsed.number).resolve(Domain.INTEGER, "slack"), _lead(lead))
    if columns:
        raise rows_per_partition(", ".join(columns), "say slack('1 s', per=...), or leave per out")
    return rows


def ordered(*, lead: Lead | Length | None = None, per: str | Sequence[str] = ()) -> Ordered:
    """Rows come in order of the attribute. A row further ahead of the one before it than `lead` is early.

    With `per`, rows of one partition, as these columns name it, come in order; the stream is as far as the slowest.
    """
    return Ordered(_lead(lead), _columns(per))


def _columns(per: str | Sequence[str]) -> tuple[str, ...]:
    columns: Any = (per,) if isinstance(per, str) else per
    if not isinstance(columns, Sequence) or not all(isinstance(name, str) for name in columns):
        raise QueryError("must be names of columns", parameter="per", value=per, hint="as in per='auction'")
    return tuple(columns)


def lead(amount: Length, *, wall_clock: bool = False) -> Lead:
    """How far ahead a row may be: of what came before it in its stream, or of the clock as it is read.

    >>> slack("30 s", lead=lead("1 h", wall_clock=True)).lead.wall_clock
    True
    """
    return Lead(_not_rows(amount, "lead", "say lead='1 h'"), wall_clock)


def _lead(given: Lead | Length | None) -> Lead | None:
    return given if given is None or isinstance(given, Lead) else lead(given)


def punctuated(column: str | None = None, *, per: str | Sequence[str] = ()) -> External:
    """Punctuations come with the data: as rows whose `column` is not NULL, or as elements of an iterator.

    With `per`, they may be for the rows with certain values in these columns only.

    >>> punctuated("over_until", per="auction")
    External(column='over_until', per=('auction',))
    """
    return External(column, _columns(per))


def at_end() -> AtEnd:
    """Only the end of the input is a promise: nothing is late, all windows close at the end."""
    return AtEnd()


def idle(amount: Length, *, wall_clock: bool = False) -> Idle:
    """A source that lags this much behind the others no longer holds them back."""
    return Idle(_not_rows(amount, "idle", "say idle('30 s')"), wall_clock)


def _not_rows(amount: Length, parameter: str, hint: str) -> Amount:
    parsed = Amount.of(amount, parameter)
    if parsed.is_rows:
        raise QueryError("must be a time or a number", parameter=parameter, value=str(parsed), hint=hint)
    return parsed
