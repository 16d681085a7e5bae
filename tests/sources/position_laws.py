"""What the positions of every source keep, for the test of each.

A test of a new source: `for law in LAWS: law(lambda: open_source("scheme:address"))`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from windrow.errors import SourceError
from windrow.semantics.progress.policies import Punctuation
from windrow.sources import Position, Sign, Source, elements_of
from windrow.sources.base import Passing

Make: TypeAlias = Callable[[], Source]
"""Opens the same data anew; a score of rows is enough."""
Law: TypeAlias = Callable[[Make], None]

SIZES = st.integers(1, 20)


def flat(elements: Iterable[Any]) -> list[Any]:
    """Rows and punctuations one by one: where batches are cut does not matter."""
    return [one for e in elements for one in ([e] if isinstance(e, Punctuation) else e.to_pylist())]


def rows_of(elements: Iterable[Any]) -> int:
    return sum(not isinstance(one, Punctuation) for one in elements)


def begun(source: Source, polls: int, batch_rows: int, position: Position | None = None) -> tuple[list[Any], Position]:
    """What the first polls give, and where they lead, as a checkpoint keeps it."""
    reader = source.open(position, batch_rows=batch_rows)
    found = [element for _ in range(polls) if not isinstance(element := reader.poll(), Sign)]
    kept: Position = json.loads(json.dumps(reader.position))
    reader.close()
    return flat(found), kept


def a_reader_gives_exactly_the_rest(make: Make) -> None:
    whole = flat(elements_of(make()))

    @given(polls=st.lists(st.integers(0, 6), max_size=3), before=SIZES, after=SIZES)
    def check(polls: list[int], before: int, after: int) -> None:
        found: list[Any] = []
        position: Position | None = None
        for count in polls:
            more, position = begun(make(), count, before, position)
            found += more
        assert whole == found + flat(elements_of(make(), position, batch_rows=after))
        assert position is None or position["rows"] == rows_of(found)

    check()


def a_number_of_rows_is_a_position(make: Make) -> None:
    one_by_one = list(elements_of(make(), batch_rows=1))

    @given(rows=st.integers(0, rows_of(flat(one_by_one))), batch_rows=SIZES)
    def check(rows: int, batch_rows: int) -> None:
        passing = Passing({"rows": rows})
        rest = [passing.rest(element) for element in one_by_one]
        expected = flat(element for element in rest if element is not None)
        assert expected == flat(elements_of(make(), {"rows": rows}, batch_rows=batch_rows))

    check()


def the_end_comes_again_and_is_a_position(make: Make) -> None:
    reader = make().open()
    while reader.poll() is not Sign.END:
        pass
    assert Sign.END is reader.poll()
    assert Sign.END is make().open(reader.position).poll()


def a_position_behind_the_end_is_refused(make: Make) -> None:
    rows = rows_of(flat(elements_of(make()))) + 1
    pattern = rf"^`\w+` must still have the {rows} rows it had before, got .*Hint: leave the data"
    with pytest.raises(SourceError, match=pattern):
        list(elements_of(make(), {"rows": rows}))


LAWS: tuple[Law, ...] = (
    a_reader_gives_exactly_the_rest,
    a_number_of_rows_is_a_position,
    the_end_comes_again_and_is_a_position,
    a_position_behind_the_end_is_refused,
)
