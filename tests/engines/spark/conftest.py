"""One embedded session for all tests of a process that need Spark."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores, two shards; it starts with the first test that asks for it and ends with the process."""
    from windrow.engines.spark.session import embedded

    tables = str(tmp_path_factory.mktemp("tables"))
    session = embedded(shards=2, memory="1g", **{"spark.master": "local[2]", "spark.sql.warehouse.dir": tables})
    yield session
    session.stop()
