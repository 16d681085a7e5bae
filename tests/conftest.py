"""Hypothesis profiles: repeatable by default, long and random for `make soak`. And one Spark for all tests."""

from __future__ import annotations

import os
import signal
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.short_queries import JAVA
from windrow.operators.store import sealed_array, sealing

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.kafka_broker import Broker

ROOT = Path(__file__).parents[1]

# A shell lets what it starts in the background ignore Ctrl-C, and so would every process that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No deadline: the first call of a kernel compiles it, and time limits belong to benchmarks.
settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "soak", deadline=None, max_examples=50_000, print_blob=True, suppress_health_check=list(HealthCheck)
)
settings.register_profile("hurry", settings.get_profile("default"), phases=[Phase.generate])  # finds, does not shrink
settings.load_profile("soak" if os.environ.get("WINDROW_SOAK") else os.environ.get("WINDROW_PROFILE", "default"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Spark first, so that none of them is what a worker still waits for at the end.

    Two workers get half of the tests each and then take from the other's end: the first has the session, the second
    begins with the one test that starts another JVM.
    """
    items.sort(key=lambda item: not _is_on_spark(item))
    apart = [item for item in items if item.name == "test_the_contract_holds_on_spark_connect"]
    rest = [item for item in items if item not in apart]
    items[:] = [*rest[: len(items) // 2], *apart, *rest[len(items) // 2 :]]


def _is_on_spark(item: pytest.Item) -> bool:
    fixtures = getattr(item, "fixturenames", ())
    marked = item.get_closest_marker("on_spark") is not None
    return marked or "spark" in fixtures or ("engine" in fixtures and "local" not in item.name)


@pytest.fixture(autouse=True)
def small_blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kept rows go into coded blocks of 4, 64 or 1024 rows, by the name of the test, so that few rows fill many.

    Pages of the docs print what users see.
    """
    if request.node.path.name == "test_docs.py":
        return
    block_rows = (4, 64, 1024)[zlib.crc32(request.node.nodeid.encode()) % 3]
    monkeypatch.setattr(sealing, "BLOCK_ROWS", block_rows)
    monkeypatch.setattr(sealing, "PAYS", 0 if block_rows < 1024 else sealing.PAYS)
    monkeypatch.setattr(sealing, "SAVED", -1_000 if block_rows < 1024 else sealing.SAVED)
    monkeypatch.setattr(sealing, "PACKED_PAYS", 0 if block_rows < 1024 else sealing.PACKED_PAYS)
    monkeypatch.setattr(sealing, "LEAST_ROWS", min(block_rows, 256))
    monkeypatch.setattr(sealing, "MOST_ROWS", 4 * block_rows)
    monkeypatch.setattr(sealed_array, "WORTH", 1000.0 if block_rows < 1024 else sealed_array.WORTH)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Two cores, two shards; it starts with the first test that asks for it and ends with the process."""
    from windrow.engines.spark.session.sessions import embedded

    # Workers run where the session was started, which may be any test's folder, and must find what tests send them.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    tables = str(tmp_path_factory.mktemp("tables"))
    own = {"spark.master": "local[2,4]", "spark.sql.warehouse.dir": tables}
    session = embedded(shards=2, memory="1g", **own, **JAVA)
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def session_where_marked(request: pytest.FixtureRequest) -> None:
    """A case among others that needs Spark asks for the session by a mark."""
    if request.node.get_closest_marker("on_spark"):
        request.getfixturevalue("spark")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """One real broker of Kafka; tests have topics of their own."""
    from tests.kafka_broker import Broker, unavailable

    if (reason := unavailable()) is not None:
        pytest.skip(f"no Kafka here: {reason}")
    started = Broker(tmp_path_factory.mktemp("kafka")).start()
    yield started
    started.kill()
