from __future__ import annotations

import pyarrow as pa
import pytest

import windrow as wr
from windrow.engines.spark.query.explain import explain_spread
from windrow.errors import ConfigurationError
from windrow.physical.explain.plans import explain

QUERY = (
    wr.stream(pa.table({"k": ["a"], "t": [1]}), time="t", progress=wr.slack(3))
    .group_by("k")
    .window(range=10)
    .agg(n=wr.count())
)


@pytest.mark.parametrize("engine", [None, "local"])
def test_data_of_this_process_is_explained_for_it(engine: str | None) -> None:
    assert explain(QUERY.plan) == QUERY.explain(engine)


def test_spark_adds_a_section() -> None:
    assert f"{explain(QUERY.plan)}\n\n{explain_spread(QUERY.plan)}" == QUERY.explain(engine="spark")


def test_engines_there_are_not_are_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"\A`engine` must be a known engine \(one of local, spark, hardware\), got flink\.\Z"
    ):
        QUERY.explain("flink")
