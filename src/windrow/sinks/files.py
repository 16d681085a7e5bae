"""Files that appear under their name only when they are complete."""

from __future__ import annotations

import secrets
from abc import abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import IO

import pyarrow as pa

from windrow.errors import ConfigurationError
from windrow.sinks.base import Closing, fitted


class FileSink(Closing):
    """Writes beside the target under a temporary name and renames on close.

    An interrupted run leaves the target as it was. That the target can be written is found out when opening.
    """

    def __init__(self, target: Path, schema: pa.Schema) -> None:
        self.target = target.expanduser().resolve()  # through a link, so that the link stays one
        self.schema = schema
        self.partial = self.target.with_name(f".{self.target.name}.{secrets.token_hex(4)}.partial")
        if self.target.is_dir():
            raise unwritable(self.target, "it is a folder")
        try:
            self.file: IO[bytes] = self.partial.open("xb")
        except OSError as error:
            raise unwritable(self.target, _reason(error)) from error
        self.is_open = True

    @abstractmethod
    def put(self, batch: pa.RecordBatch) -> None:
        """Write the rows of a batch that has the sink's schema."""

    def finish(self) -> None:
        """Write what is still held back; the file closes after this."""

    def write(self, batch: pa.RecordBatch) -> None:
        try:
            self.put(fitted(batch, self.schema))
        except OSError as error:
            raise unwritable(self.target, _reason(error)) from error

    def close(self) -> None:
        if not self.is_open:
            return
        try:
            self.finish()
            self.file.close()
            self.partial.replace(self.target)
            self.is_open = False
        except OSError as error:
            raise unwritable(self.target, _reason(error)) from error
        finally:
            self.abort()

    def abort(self) -> None:
        if self.is_open:
            self.is_open = False
            with suppress(OSError):  # what is still buffered may not fit on the disk; it is thrown away anyway
                self.file.close()
            self.partial.unlink(missing_ok=True)


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()


def unwritable(target: Path, reason: str) -> ConfigurationError:
    """The error for an output that cannot be written, with what the system says about it."""
    return ConfigurationError(
        f"must be a file that can be written ({reason})",
        parameter="output",
        value=str(target),
        hint="name a file in a folder that exists and that you may write to",
    )
