"""Whether a join makes sense, what its columns are called, and on which time its progress is."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from windrow.errors import QueryError
from windrow.plan.checks.compression import refuse_bounds_of_join
from windrow.plan.checks.lossy import refuse_comparison
from windrow.plan.compression import Loss
from windrow.plan.conditions import Conditions, conditions_of
from windrow.plan.nodes import Join, JoinedColumn, JoinTime, Late
from windrow.plan.types.expressions import check_condition, column_type
from windrow.plan.types.kinds import Shape, common, family_of, normal_time
from windrow.semantics.joins import LEFT, RIGHT, AsOf, Between, JoinKind, JoinWindow, LastRows, SameWindow
from windrow.semantics.scalars.amounts import Domain, render, render_apart

_ADDED = {JoinTime.EARLIER.value, JoinTime.LATER.value}
DISTANT = 1 << 60
"""No two times of a join may be further apart."""


def joined_names(
    schemas: Sequence[pa.Schema], aliases: tuple[str, str], kind: JoinKind = JoinKind.INNER
) -> tuple[JoinedColumn, ...]:
    """A name for every column of both sides: its own, or after the alias where both sides have one of that name.

    So are columns called as those that a join may add. Where only left rows come out, they keep their names.
    """
    both = _ADDED | (set(schemas[LEFT].names) & set(schemas[RIGHT].names))
    names: dict[str, JoinedColumn] = {}
    for side in (LEFT, RIGHT):
        for source in schemas[side].names:
            kept = source not in both or (kind.is_half and side == LEFT)
            name = source if kept else f"{aliases[side]}_{source}"
            if name in names:
                raise QueryError(
                    "would name two columns of the join",
                    parameter=name,
                    value=f"{source} of {aliases[side]}",
                    hint="give one of the sides another alias, or select its columns under other names first",
                )
            names[name] = JoinedColumn(name, side, source)
    return tuple(names.values())


def usual_time(kind: JoinKind) -> JoinTime:
    """The time that every result has: the left one, unless rows without a left partner are given."""
    return {JoinKind.RIGHT: JoinTime.RIGHT, JoinKind.FULL: JoinTime.EARLIER}.get(kind, JoinTime.LEFT)


def schema_of(node: Join, shapes: tuple[Shape, Shape]) -> pa.Schema:
    """All columns of both sides under their names in the join: what the predicate reads."""
    return pa.schema([(c.name, column_type(c.source, shapes[c.side].schema)) for c in node.names])


def conditions(node: Join, shapes: tuple[Shape, Shape]) -> Conditions:
    left, right = (set(node.names_of(side)) for side in (LEFT, RIGHT))
    return conditions_of(node.on, left, right, schema_of(node, shapes))


def join_shape(node: Join, shapes: tuple[Shape, Shape]) -> Shape:
    """The columns of a join and its progressing attribute, or the error for the first thing that is wrong."""
    check_times(node.aliases, shapes)
    _check_names(node, shapes)
    _check_window(node, shapes[LEFT].domain)
    _check_nested(node, shapes[RIGHT].schema)
    if node.on is not None:
        check_condition(node.on, schema_of(node, shapes), "on", "compare columns of both sides, as in a.key = b.key")
    _check_time(node)
    if node.late is Late.REVISE:
        raise QueryError(
            "cannot be revise for a join: a result that has left is not taken back",
            parameter="late",
            value="revise",
            allowed=("drop", "side"),
        )
    refuse_bounds_of_join(node)
    lossy = _lossy(node, shapes)
    fields = [(c.name, column_type(c.source, shapes[c.side].schema)) for c in node.columns]
    if node.time in (JoinTime.EARLIER, JoinTime.LATER):
        fields.append((node.time.value, _time_type(shapes)))
        return Shape(pa.schema(fields), node.time.value, lossy)
    side = LEFT if node.time is JoinTime.LEFT else RIGHT
    times = [c.name for c in node.columns if c.side == side and c.source == shapes[side].time]
    return Shape(pa.schema(fields), next(iter(times), None), lossy)


def _lossy(node: Join, shapes: tuple[Shape, Shape]) -> dict[str, Loss]:
    """Columns that are only near the exact ones, by their names here; a join must not compare them."""
    found = {c.name: shapes[c.side].lossy[c.source] for c in node.names if c.source in shapes[c.side].lossy}
    refuse_comparison(node.on, found)
    return found


def _time_type(shapes: tuple[Shape, Shape]) -> pa.DataType:
    kinds = [shape.schema.field(str(shape.time)).type for shape in shapes]
    return normal_time(common(*map(normal_time, kinds)) or kinds[LEFT])


def check_times(aliases: tuple[str, str], shapes: tuple[Shape, Shape]) -> None:
    """Refuse sides without a progressing attribute, or with two that cannot be compared."""
    for side, shape in enumerate(shapes):
        if shape.time is None:
            raise QueryError(
                f"needs a progressing attribute on both sides, but {aliases[side]} does not keep it",
                parameter="join",
                value=f"columns {', '.join(shape.schema.names)}",
                hint="keep the time column (or window_start or window_end) in the inner SELECT, unchanged",
            )
    kinds = [family_of(shape.schema.field(str(shape.time)).type) for shape in shapes]
    if kinds[LEFT] is not kinds[RIGHT]:
        times = [f"{shape.time}, a {kind.value}" for shape, kind in zip(shapes, kinds, strict=True)]
        raise QueryError(
            "needs times of one kind on both sides",
            parameter="join",
            value=" and ".join(times),
            hint="declare one of the columns as the type of the other",
        )


def _check_names(node: Join, shapes: tuple[Shape, Shape]) -> None:
    seen: set[str] = set()
    for column in node.names:
        column_type(column.source, shapes[column.side].schema)
        taken = node.time in (JoinTime.EARLIER, JoinTime.LATER) and column.name == node.time.value
        if column.name in seen or taken:
            raise QueryError(
                "would name two columns of the join", parameter=column.name, hint="rename one of them first"
            )
        seen.add(column.name)


def _after(distance: int, domain: Domain) -> str:
    return f"{render_apart(abs(distance), domain)} {'before' if distance < 0 else 'after'}"


def _check_window(node: Join, domain: Domain) -> None:
    window = node.window
    for name, value, least in _lengths(window):
        if not least <= value < DISTANT:
            low = "must be positive" if least else "must not be negative"
            shown = str(value) if isinstance(window, LastRows) else render(value, domain)
            raise QueryError(low if value < least else "must be below 2^60 units", parameter=name, value=shown)
    if isinstance(window, Between) and (window.low > window.high or max(-window.low, window.high) >= DISTANT):
        raise QueryError(
            "must hold for some pair of times",
            parameter="window",
            value=f"{node.aliases[RIGHT]} from {_after(window.low, domain)} to {_after(window.high, domain)} "
            f"{node.aliases[LEFT]}",
            hint="the lower bound of the interval must not be above the upper one",
        )
    if isinstance(window, AsOf) and node.kind not in (JoinKind.INNER, JoinKind.LEFT):
        raise QueryError(
            "must be inner or left for an as-of join: each left row meets one right row",
            parameter="kind",
            value=node.kind.value,
            hint="swap the sides, or use a window join",
        )
    if isinstance(window, AsOf) and window.forward and window.within is None:
        raise QueryError(
            "must be given where rows wait for the next one of the other side: it may never come",
            parameter="within",
            hint="bound the distance, as in a.ts >= b.ts - INTERVAL '1' MINUTE",
        )


def _check_nested(node: Join, schema: pa.Schema) -> None:
    """Of several right rows as of one time the greatest is meant, and lists have no order."""
    for field in schema if isinstance(node.window, AsOf) else ():
        if pa.types.is_nested(field.type):
            raise QueryError(
                "must be a plain value in the right side of an as-of join: ties are decided by it",
                parameter=field.name,
                value=str(field.type),
                hint=f"leave {field.name} out in a subquery, or join a field of it",
            )


def _lengths(window: JoinWindow) -> list[tuple[str, int, int]]:
    if isinstance(window, SameWindow):
        return [("range", window.length, 1)]
    if isinstance(window, LastRows):
        return [("rows", window.left, 1), ("rows", window.right, 1)]
    if isinstance(window, AsOf) and window.within is not None:
        return [("within", window.within, 0)]
    return []


_TIMES = {
    JoinKind.INNER: tuple(JoinTime),
    JoinKind.LEFT: (JoinTime.LEFT, JoinTime.EARLIER, JoinTime.LATER),
    JoinKind.RIGHT: (JoinTime.RIGHT, JoinTime.EARLIER, JoinTime.LATER),
    JoinKind.FULL: (JoinTime.EARLIER, JoinTime.LATER),
    JoinKind.SEMI: (JoinTime.LEFT,),
    JoinKind.ANTI: (JoinTime.LEFT,),
}


def _check_time(node: Join) -> None:
    allowed = (JoinTime.LEFT,) if isinstance(node.window, AsOf) else _TIMES[node.kind]
    if node.time not in allowed:
        raise QueryError(
            f"must be a time that every result of a {node.kind.value} join has",
            parameter="time",
            value=node.time.value,
            allowed=tuple(time.value for time in allowed),
            hint="rows without a partner have no time of the other side, and an as-of join goes by the left one",
        )
