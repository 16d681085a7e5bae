"""Whether a stream's declaration fits its columns: the progressing attribute, its policy, its idle rule."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.nodes import Stream
from windrow.plan.types.expressions import unknown_column
from windrow.plan.types.kinds import Family, Shape, domain_of, family_of, name_of
from windrow.semantics.progress.partitions import partitioned_by
from windrow.semantics.progress.policies import External, Lead, Slack, SlackRows, lead_of
from windrow.semantics.scalars.amounts import Amount, Domain


def stream_shape(stream: Stream) -> Shape:
    """The columns of a stream, or the error for a time that is no time, or a policy that does not fit it."""
    _check_names(stream)
    kind = _time_type(stream)
    _check_policy(stream, kind)
    if stream.idle is not None:
        domain = Domain.TIME if stream.idle.wall_clock else domain_of(kind)
        _check_length(stream.idle.amount, domain, "idle", least=1)
    return Shape(stream.schema, stream.time)


def _check_names(stream: Stream) -> None:
    if len(set(stream.schema.names)) < len(stream.schema.names):
        name = next(name for name, number in Counter(stream.schema.names).items() if number > 1)
        raise QueryError(
            f"has more than one column named {name!r}",
            parameter=stream.name,
            hint="rename one of them in the data; after a join of DataFrames, give each an alias of its own",
        )


def _time_type(stream: Stream) -> pa.DataType:
    if stream.schema.names.count(stream.time) != 1:
        raise unknown_column(stream.time, stream.schema.names, parameter="time")
    kind: pa.DataType = stream.schema.field(stream.time).type
    if family_of(kind) not in (Family.TIMESTAMP, Family.INTEGER) or pa.types.is_dictionary(kind):
        target = "BIGINT" if family_of(kind) is Family.FLOAT else "TIMESTAMP"
        raise QueryError(
            "must be a timestamp or an integer column",
            parameter="time",
            value=f"{stream.time}, a {name_of(kind)}",
            hint=f"cast it: declare the column as {target}, or convert it before it comes in",
        )
    return kind


def _check_policy(stream: Stream, kind: pa.DataType) -> None:
    policy = stream.policy
    if isinstance(policy, Slack):
        _check_length(policy.amount, domain_of(kind), "slack", least=0)
    elif isinstance(policy, SlackRows) and policy.rows < 0:
        raise QueryError("must not be negative", parameter="slack", value=f"{policy.rows} rows")
    elif isinstance(policy, External):
        if policy.column is not None:
            _check_carrier(stream, policy.column, kind)
        _check_per(stream, policy)
    _check_partitions(stream)
    lead = lead_of(policy)
    if lead is not None:
        _check_lead(lead, domain_of(kind))


def _check_lead(lead: Lead, domain: Domain) -> None:
    if lead.wall_clock and domain is Domain.INTEGER:
        raise QueryError(
            "must be ahead of the stream where the time is an integer: a clock has no such numbers",
            parameter="lead",
            value=f"{lead.amount} by the wall clock",
            hint="leave out WALL CLOCK (wall_clock=True), or progress on a timestamp column",
        )
    _check_length(lead.amount, domain, "lead", least=1)


def _check_length(amount: Amount, domain: Domain, parameter: str, least: int) -> None:
    if amount.resolve(domain, parameter) < least:
        rule = "must be positive" if least else "must not be negative"
        raise QueryError(rule, parameter=parameter, value=str(amount))


def _check_carrier(stream: Stream, column: str, kind: pa.DataType) -> None:
    """The column that carries punctuations is another one of the time's type."""
    if stream.schema.names.count(column) != 1:
        raise unknown_column(column, stream.schema.names, parameter="punctuated by")
    carried: pa.DataType = stream.schema.field(column).type
    if column == stream.time or family_of(carried) is not family_of(kind):
        given = "the time column itself" if column == stream.time else f"a {name_of(carried)}"
        raise QueryError(
            f"must be another column of the type of {stream.time} ({name_of(kind)})",
            parameter="punctuated by",
            value=f"{column}, {given}",
            hint=f"convert it to a {name_of(kind)} before it comes in"
            if column != stream.time
            else f"promises are in a column of their own, NULL in the rows that have a {column}",
        )


def _check_partitions(stream: Stream) -> None:
    """The columns that name a partition are different ones of plain values, and not the time."""
    per = partitioned_by(stream.policy)
    for place, name in enumerate(per):
        if stream.schema.names.count(name) != 1:
            raise unknown_column(name, stream.schema.names, parameter="per")
        kind: pa.DataType = stream.schema.field(name).type
        why = "the progressing attribute" if name == stream.time else "named twice" if name in per[:place] else None
        if why is None and pa.types.is_nested(kind):
            why = f"a {kind}"
        if why is not None:
            raise QueryError(
                "must be different columns of plain values, other than the progressing attribute",
                parameter="per",
                value=f"{name}, {why}",
                hint="name the columns that say what has an order of its own: partition, file, device",
            )


def _check_per(stream: Stream, policy: External) -> None:
    """The columns that name a group are different ones of plain values, and neither the time nor its promise."""
    for place, name in enumerate(policy.per):
        if stream.schema.names.count(name) != 1:
            raise unknown_column(name, stream.schema.names, parameter="per")
        kind: pa.DataType = stream.schema.field(name).type
        if pa.types.is_nested(kind) or name in (stream.time, policy.column, *policy.per[:place]):
            raise QueryError(
                "must be different columns of plain values, other than the time and the punctuation",
                parameter="per",
                value=f"{name}, {'a ' + str(kind) if pa.types.is_nested(kind) else 'taken already'}",
                hint="name the columns that rows are grouped by",
            )
