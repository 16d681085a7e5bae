"""Kafka on Spark: a topic of four partitions in sliding windows, beside Spark's own connector and window().

Both read the same messages into the same windows (10 s every second, 100 keys) and give results to the same sink, which
takes them and forgets them. Spark's connector comes by Maven, once, into the cache that the broker of the tests has.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from _figures import Figure, Unit
from _harness import Settings, benchmark, side_by_side
from kafka import PARTITIONS, QUERY, message, topic_of

import windrow as wr

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.kafka_broker import CACHE

MESSAGES = 400_000
CONNECTOR = (
    "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
    "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
    "org.apache.kafka:kafka-clients:3.9.2",
    "org.apache.commons:commons-pool2:2.13.1",
)
"""The newest that could be had; its delegation tokens are not used."""


def jars() -> list[str]:
    folder = CACHE.parent / "connectors"
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for artifact in CONNECTOR:
        group, name, version = artifact.split(":")
        jar = folder / f"{name}-{version}.jar"
        if not jar.exists():
            get = ["mvn", "-q", "-B", "dependency:get", f"-Dartifact={artifact}", "-Dtransitive=false"]
            subprocess.run(get, check=True)
            place = Path.home() / ".m2" / "repository" / group.replace(".", "/") / name / version
            shutil.copy(place / jar.name, jar)
        found.append(str(jar))
    return found


def drained(frame: Any, folder: str) -> int:
    """Run to where the topic ended; the rows that were read."""
    with TemporaryDirectory(dir=folder) as state:
        writer = frame.writeStream.format("noop").option("checkpointLocation", state)
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return len(query.recentProgress)


def plain(spark: Any, servers: str, topic: str) -> Any:
    """What a program without Windrow does."""
    from pyspark.sql import functions as sf

    options = {"kafka.bootstrap.servers": servers, "subscribe": topic, "startingOffsets": "earliest"}
    messages = spark.readStream.format("kafka").options(**options).load()
    schema = "symbol string, price double, volume long, ts timestamp"
    rows = messages.select(sf.from_json(sf.col("value").cast("string"), schema).alias("row")).select("row.*")
    windows = rows.withWatermark("ts", "1 hour").groupBy(sf.window("ts", "10 seconds", "1 second"), "symbol")
    return windows.agg(sf.count("*"), sf.sum("volume"), sf.max("price"))


def main(settings: Settings) -> None:
    from windrow.engines.spark.session.sessions import embedded

    rows = settings.rows(MESSAGES)
    with topic_of(rows) as (servers, topic), TemporaryDirectory() as folder:
        spark = embedded(memory="2g", **dict[str, Any]({"spark.jars": ",".join(jars())}))
        query = wr.sql(QUERY.format(address=f"kafka://{servers}/{topic}"))
        works = {
            "Spark's connector and window()": lambda: drained(plain(spark, servers, topic), folder),
            "Windrow": lambda: drained(query.to_spark(spark), folder),
        }
        found = side_by_side(works, settings.repeats)
        spark.stop()
    first = found["Spark's connector and window()"].median
    lines = [[name, one.rate(rows), Figure.once(first / one.median, Unit.GAIN)] for name, one in found.items()]
    title = f"{rows:,} messages of {len(message(0))} bytes in {PARTITIONS} partitions, in one micro-batch"
    settings.report(title, ["", "messages/s", "over Spark's own"], lines)


if __name__ == "__main__":
    with benchmark(__doc__) as settings:
        main(settings)
