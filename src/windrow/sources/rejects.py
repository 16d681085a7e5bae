"""Messages that no row could be made of: each is counted, and given out with where it came from and why.

One that cannot be read must neither end a stream nor vanish. Readers give what they rejected in place, between the rows
around it, so that a position lies behind it as it does behind rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from windrow.errors import SourceError

_TYPES: dict[str, pa.DataType] = {
    "source": pa.string(),
    "place": pa.string(),
    "partition": pa.int64(),
    "offset": pa.int64(),
    "reason": pa.string(),
    "payload": pa.binary(),
}
REJECTS = pa.schema(_TYPES)
"""`place` is a topic, a file, the address of a sender; `offset` counts messages of a partition, or lines, from 0."""


@dataclass(frozen=True)
class Reject:
    """One message that no row could be made of."""

    place: str
    partition: int | None
    offset: int | None
    reason: str
    payload: bytes


@dataclass(frozen=True)
class Rejects:
    """Some of them, by the columns of `REJECTS`."""

    batch: pa.RecordBatch

    def __len__(self) -> int:
        return self.batch.num_rows

    @staticmethod
    def of(source: str, rejects: Sequence[Reject]) -> Rejects:
        """What a source rejected.

        >>> Rejects.of("trades", [Reject("orders", 3, 17, "it is empty", b"")]).batch.to_pylist()[0]["offset"]
        17
        """
        columns = [[getattr(one, name) for one in rejects] for name in REJECTS.names[1:]]
        arrays = [pa.array(column, field.type) for column, field in zip(columns, list(REJECTS)[1:], strict=True)]
        names = pa.array([source] * len(rejects), pa.string())
        return Rejects(pa.RecordBatch.from_arrays([names, *arrays], schema=REJECTS))


def unreadable(rejects: Rejects) -> SourceError:
    """The error where one who reads a whole stream has nowhere to put what is no row."""
    first = rejects.batch.slice(0, 1).to_pylist()[0]
    return SourceError(
        f"must hold rows only here ({first['reason']})",
        parameter=first["source"],
        value=f"message {first['offset']} of {first['place']}",
        hint="run it with --engine local, which counts such messages and gives them out with --rejected",
    )
