"""Other definitions of window joins, which must agree with `semantics.joins` where they are about the same join.

`three_step` is the procedure of Kang et al., which defines joins by arrival; `extents_join` is the definition by
window extents.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from windrow.semantics.joins import LEFT, RIGHT, JoinKind, LastRows, Pair, Pairs, Predicate, Row, Timed, with_partners


def three_step(arrived: Iterable[tuple[int, Row]], window: LastRows, kind: JoinKind, predicate: Predicate) -> Pairs:
    """The answer by arrival: each element is a side and a row.

    A row is compared with the other side's window, put into its own, and pushes out what is too old there.
    """
    rows: tuple[list[Row], list[Row]] = ([], [])
    met: list[tuple[int, int]] = []
    for side, row in arrived:
        other = 1 - side
        size = window.right if other == RIGHT else window.left
        for place in range(max(0, len(rows[other]) - size), len(rows[other])):
            pair = (row, rows[other][place]) if side == LEFT else (rows[other][place], row)
            if predicate(*pair) is True:
                met.append((len(rows[LEFT]), place) if side == LEFT else (place, len(rows[RIGHT])))
        rows[side].append(row)
    return list(with_partners(rows[LEFT], rows[RIGHT], met, kind))


def three_step_in_time(arrived: Iterable[tuple[int, int, Row]], ranges: tuple[int, int], predicate: Predicate) -> Pairs:
    """The same with windows in time, for streams that come in one order of time: (side, time, row).

    A row is in its window for `range` units: one that came at `t` is met by those that come before `t + range`.
    """
    windows: tuple[list[Timed], list[Timed]] = ([], [])
    given: list[Pair] = []
    for side, t, row in arrived:
        for u, other in windows[1 - side]:
            if t < u + ranges[1 - side]:
                pair = (row, other) if side == LEFT else (other, row)
                if predicate(*pair) is True:
                    given.append(pair)
        windows[side].append((t, row))
        windows[side][:] = [(u, kept) for u, kept in windows[side] if t < u + ranges[side]]
    return given


def extents_of(t: int, length: int) -> range:
    """The extents of a window that advances by one unit to which a row belongs: extent w is `(w - length, w]`."""
    return range(t, t + length)


def match(t: int, own: int, other: int, u: int) -> bool:
    """Whether a row at `t` in a window of `own` units is matched with some extent that holds a row at `u`."""
    mine = extents_of(t, own)
    return any(w in mine for w in extents_of(u, other))


def extents_join(left: Sequence[Timed], right: Sequence[Timed], ranges: tuple[int, int]) -> set[tuple[int, int]]:
    """Pairs (by place) by the relation `widjoin`: extent k of one side joins extent k of the other, each pair once."""
    pairs: set[tuple[int, int]] = set()
    extents: dict[int, list[int]] = {}
    for j, (u, _) in enumerate(right):
        for w in extents_of(u, ranges[RIGHT]):
            extents.setdefault(w, []).append(j)
    for i, (t, _) in enumerate(left):
        for w in extents_of(t, ranges[LEFT]):
            pairs.update((i, j) for j in extents.get(w, ()))
    return pairs
