"""Parquet files, row group by row group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from windrow.errors import SourceError
from windrow.sources.base import dropped
from windrow.sources.files.file_source import Format


class Parquet(Format):
    """Reads only the wanted columns; text columns come as dictionaries straight from the file's own.

    Pages that have checksums, as those that Spark writes, are checked by them.
    """

    has_types = True
    can_seek = True

    def schema(self, path: Path) -> pa.Schema | None:
        return pq.read_schema(path)

    def stretches(self, path: Path) -> Sequence[int]:
        metadata = pq.read_metadata(path)
        return [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]

    def batches(
        self, path: Path, found: pa.Schema, wanted: pa.Schema, batch_rows: int, skip_rows: int
    ) -> Iterator[pa.RecordBatch]:
        texts = [field.name for field in wanted if isinstance(field.type, pa.DictionaryType)]
        with pq.ParquetFile(path, read_dictionary=texts, page_checksum_verification=True) as file:
            for run, ahead in _runs(file.metadata, batch_rows, skip_rows):
                yield from dropped(_run(file, path, run, wanted.names, batch_rows), ahead)


def _runs(metadata: pq.FileMetaData, batch_rows: int, skip_rows: int) -> Iterator[tuple[list[int], int]]:
    """Neighbouring row groups that together fill a batch, with the rows to skip in each run.

    Small row groups are read together because a batch of few rows costs as much as one of many.
    """
    run: list[int] = []
    rows = ahead = 0
    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if not run and size <= skip_rows:
            skip_rows -= size
            continue
        if not run:
            ahead, skip_rows = skip_rows, 0
        run.append(group)
        rows += size
        if rows >= batch_rows:
            yield run, ahead
            run, rows, ahead = [], 0, 0
    if run:
        yield run, ahead


def _run(
    file: pq.ParquetFile, path: Path, run: list[int], columns: list[str], batch_rows: int
) -> Iterator[pa.RecordBatch]:
    try:
        yield from file.iter_batches(batch_size=batch_rows, row_groups=run, columns=columns)
    except (pa.ArrowException, OSError) as error:
        group = _broken(file, run, columns)
        raise SourceError(
            f"must be a readable Parquet file (row group {group} of {file.metadata.num_row_groups} is damaged,"
            " counted from 0)",
            value=str(path),
            hint="write the file again from where it came",
        ) from error


def _broken(file: pq.ParquetFile, run: list[int], columns: list[str]) -> int:
    """The first row group of a run that does not read on its own."""
    for group in run[:-1]:
        try:
            file.read_row_group(group, columns=columns)
        except (pa.ArrowException, OSError):
            return group
    return run[-1]
