"""Constants of the cost model as this machine has them, where `windrow calibrate` has measured them."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, fields
from pathlib import Path

from windrow.errors import ConfigurationError
from windrow.physical.costs import MEASURED, Constants


def config_file() -> Path:
    """Where they are kept: `costs.json` in the user's configuration folder."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "windrow" / "costs.json"


def calibrated() -> Constants:
    """What was measured here, else the defaults."""
    path = config_file()
    if not path.is_file():
        return MEASURED
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        return Constants(**{field.name: float(found[field.name]) for field in fields(Constants)})
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationError(
            "must be what `windrow calibrate` wrote",
            parameter="costs.json",
            value=str(path),
            hint=f"delete it or run `windrow calibrate` again ({type(error).__name__}: {error})",
        ) from None


def keep(constants: Constants) -> Path:
    """Write them for this user; returns where."""
    path = config_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(constants), indent=2) + "\n", encoding="utf-8")
    return path
