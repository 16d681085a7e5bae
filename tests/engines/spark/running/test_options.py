from __future__ import annotations

from typing import Any

import pytest

from windrow.engines.spark.running.options import SparkOptions
from windrow.errors import ConfigurationError


@pytest.mark.parametrize("name", ["batch_rows", "shards", "rate"])
def test_options_must_be_positive(name: str) -> None:
    options: dict[str, Any] = {name: 0}
    with pytest.raises(ConfigurationError, match=rf"\A`{name}` must be at least 1, got 0\.\Z"):
        SparkOptions(**options).check()


def test_a_restore_needs_a_folder() -> None:
    with pytest.raises(ConfigurationError, match=r"\A`checkpoint` needs a folder\. Hint: give checkpoint='folder'\.\Z"):
        SparkOptions(restore=True).check()
