"""Checkpoint folders of either engine: the manifest that says what one is of, and who refuses which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from windrow.durable.sealed_files import Damaged, read_json
from windrow.errors import ConfigurationError

SPARK_MANIFEST = "windrow.json"
LOCAL_MANIFEST = "manifest.json"
"""In the folder of each checkpoint, which has a number as its name."""


def read_manifest(path: Path, version: int) -> dict[str, Any]:
    """What a manifest says; one from before there were checksums says at least of which version it is."""
    try:
        return dict(read_json(path))
    except Damaged:
        try:
            content = json.loads(path.read_bytes())
        except (OSError, ValueError):
            content = None
        if isinstance(content, dict) and content.get("version", version) != version:
            return content
        raise


def refuse_other_engine(folder: Path, *, spark: bool) -> None:
    """A checkpoint is gone on from by the engine that wrote it."""
    if spark:
        is_other = any(path.parent.name.isdigit() for path in folder.glob(f"*/{LOCAL_MANIFEST}"))
    else:
        is_other = (folder / SPARK_MANIFEST).exists()
    if is_other:
        here, there = ("on Spark", "in process") if spark else ("in process", "on Spark")
        raise ConfigurationError(
            f"must be of a run {here}; this one is of a run {there}",
            parameter="checkpoint",
            value=str(folder),
            hint=f"go on with engine={'local' if spark else 'spark'!r}, or choose an empty folder",
        )


def holds_a_run(folder: Path) -> ConfigurationError:
    """The error for a folder in which a run shall begin anew."""
    return ConfigurationError(
        "holds a run already",
        parameter="checkpoint",
        value=str(folder),
        hint="go on from it with restore, or choose an empty folder",
    )


def damaged(what: str, folder: Path | None = None) -> ConfigurationError:
    """The error for a checkpoint that is not whole."""
    got: dict[str, Any] = {} if folder is None else {"value": str(folder)}
    return ConfigurationError(
        f"must hold a whole checkpoint; {what}",
        parameter="checkpoint",
        hint="bring the folder back from a copy, or run the query from the start in an empty folder",
        **got,
    )
