"""The engines that this process runs the contract on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.contract.engines import CONNECT, NAMES, WITH_CIRCUITS, Engine, hardware, local, on_spark
from tests.short_queries import JAVA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

collect_ignore = ["test_connect.py"] if CONNECT else []


if CONNECT:

    @pytest.fixture(scope="session")
    def spark() -> Iterator[SparkSession]:
        """A session of Spark Connect with a server of its own, in place of the classic one of all other tests."""
        session = connected()
        yield session
        session.stop()


def connected() -> SparkSession:
    from pyspark.sql import SparkSession

    from windrow.engines.spark.session.sessions import EMBEDDED

    settings = {**EMBEDDED, **JAVA, "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "2"}
    builder = SparkSession.builder.remote(settings.pop("spark.master").replace("*", "2"))
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():  # settings that the server took at its start are offered to the session once more
        warnings.filterwarnings("ignore", "Failed to set", UserWarning)
        return builder.getOrCreate()


@pytest.fixture(params=NAMES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param.startswith("local"):
        return local(threads=int(request.param.partition("-")[2] or 1))
    return on_spark(request.param, request.getfixturevalue("spark"))


@pytest.fixture(params=WITH_CIRCUITS)
def any_engine(request: pytest.FixtureRequest) -> Engine:
    """The same and circuits, which can do less."""
    if request.param == "hardware":
        return hardware()
    if request.param.startswith("local"):
        return local(threads=int(request.param.partition("-")[2] or 1))
    return on_spark(request.param, request.getfixturevalue("spark"))


@pytest.fixture
def on_frames(spark: SparkSession) -> Engine:
    """The engine that takes DataFrames."""
    return on_spark(NAMES[-1], spark)
