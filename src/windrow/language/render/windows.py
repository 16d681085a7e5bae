"""Windows, settings and stream declarations as SQL text."""

from __future__ import annotations

import pyarrow as pa

from windrow.language.render.expressions import literal_sql, name_sql, string_sql
from windrow.plan.compression import Compression, CompressionMode, bound_text
from windrow.plan.nodes import Late, Lateness, Strategy, Stream, WindowAggregate
from windrow.semantics.progress.policies import AtEnd, External, Ordered, Policy, Slack, SlackRows, lead_of
from windrow.semantics.scalars.amounts import Domain, in_words
from windrow.semantics.scalars.moments import moment
from windrow.semantics.windows.kinds import (
    MOST_EMPTY,
    Emit,
    Landmark,
    RowsWindow,
    Session,
    SlideBy,
    SlideByTuple,
    Window,
)

_DAY = 86_400_000_000


def window_sql(window: Window, domain: Domain) -> str:
    if isinstance(window, Session):
        return f"[GAP {units_sql(window.gap, domain)} WATTR {name_sql(window.attribute)}]"
    if isinstance(window, RowsWindow):
        arrival = " WATTR row_num" if window.order is None else ""
        order = f" ORDER BY {name_sql(window.order)}" if window.order is not None else ""
        return f"[RANGE {window.range} ROWS SLIDE {window.slide} ROWS{arrival}{_partition_sql(window)}{order}]"
    name = name_sql(window.attribute)
    if isinstance(window, SlideByTuple):
        by = "row_num" if window.by is SlideBy.ARRIVAL else f"rank({name})"
        length = units_sql(window.range, domain)
        return f"[RANGE {length} RATTR {name} SLIDE {window.every} ROWS SATTR {by}{_partition_sql(window)}]"
    length = "ALL" if isinstance(window, Landmark) else units_sql(window.range, domain)
    return f"[RANGE {length} SLIDE {units_sql(window.slide, domain)} WATTR {name}{origin_sql(window.origin, domain)}]"


def _partition_sql(window: RowsWindow | SlideByTuple) -> str:
    return " PATTR " + ", ".join(map(name_sql, window.partition)) if window.partition else ""


def units_sql(units: int, domain: Domain) -> str:
    """Units of an attribute: `10 MINUTES`, `500`."""
    return in_words(units, domain).upper()


def origin_sql(origin: int, domain: Domain) -> str:
    """Where windows are counted from; nothing where that is 0, an amount where it is no moment of anyone's calendar."""
    if not origin:
        return ""
    if domain is Domain.INTEGER or abs(origin) < _DAY:
        return f" ORIGIN {units_sql(origin, domain)}"
    return f" ORIGIN {literal_sql(moment(origin))}"


def settings_sql(node: WindowAggregate) -> list[str]:
    """The suffixes that differ from the defaults, or were chosen."""
    parts = []
    if node.emit is not Emit.NONEMPTY:
        most = f" UP TO {node.most_empty}" if node.most_empty != MOST_EMPTY else ""
        parts.append(f"EMIT {node.emit.value.upper()}{most}")
    if node.early is not None:
        parts.append(f"EMIT EARLY EVERY {node.early}")
    if node.late is not Late.DROP or node.late_chosen:
        within = f" WITHIN {node.within}" if node.within else ""
        parts.append(f"LATE {node.late.value.upper()}{within}")
    if node.lateness is not Lateness.GENEROUS:
        parts.append(f"LATENESS {node.lateness.value.upper()}")
    if node.strategy is not Strategy.AUTO:
        parts.append(f"STRATEGY {node.strategy.value}")
    return [*parts, *compression_sql(node.compression)]


def compression_sql(compression: Compression) -> list[str]:
    """The suffix, where there is something to say."""
    mode = [] if compression.mode is CompressionMode.AUTO else [compression.mode.value]
    parts = [*mode, *(f"{name_sql(name)} WITHIN {bound_text(bound)}" for name, bound in compression.within)]
    return [f"COMPRESS {', '.join(parts)}"] if parts else []


def stream_sql(stream: Stream) -> str:
    columns = ", ".join(f"{name_sql(column.name)} {type_sql(column.type)}" for column in stream.schema)
    parts = [f"CREATE STREAM {name_sql(stream.name)} ({columns})"]
    if stream.origin is not None:
        parts.append(f"FROM {string_sql(stream.origin)}")
    parts.append(f"PROGRESS ON {name_sql(stream.time)}")
    if not isinstance(stream.policy, AtEnd):
        parts.append(_policy_sql(stream.policy))
    for word, bound in (("LEAD", lead_of(stream.policy)), ("IDLE", stream.idle)):
        if bound is not None:
            parts.append(f"{word} {bound.amount}{' WALL CLOCK' if bound.wall_clock else ''}")
    return " ".join(parts)


def _policy_sql(policy: Policy) -> str:
    if isinstance(policy, Slack):
        return f"SLACK {policy.amount}{_per_sql(policy.per)}"
    if isinstance(policy, SlackRows):
        return f"SLACK {policy.rows} ROWS"
    if isinstance(policy, External):
        by = f" BY {name_sql(policy.column)}" if policy.column else ""
        return f"PUNCTUATED{by}{_per_sql(policy.per)}"
    assert isinstance(policy, Ordered)
    return f"ORDERED{_per_sql(policy.per)}"


def _per_sql(columns: tuple[str, ...]) -> str:
    return f" PER {', '.join(map(name_sql, columns))}" if columns else ""


def type_sql(kind: pa.DataType) -> str:
    """The type a column is declared with: the nearest that there is."""
    if pa.types.is_dictionary(kind):
        return type_sql(kind.value_type)
    if pa.types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    return next((name for holds, name in _TYPE_NAMES if holds(kind)), "STRING")


_TYPE_NAMES = (
    (pa.types.is_timestamp, "TIMESTAMP"),
    (pa.types.is_date, "DATE"),
    (pa.types.is_boolean, "BOOLEAN"),
    (pa.types.is_int8, "TINYINT"),
    (pa.types.is_int16, "SMALLINT"),
    (pa.types.is_integer, "BIGINT"),
    (pa.types.is_floating, "DOUBLE"),
)
