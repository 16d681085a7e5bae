"""A job for Spark: trades in, the last ten minutes of each symbol out, every minute. Started again, it goes on.

python examples/spark_job.py                            on an embedded Spark, over generated trades
spark-submit examples/spark_job.py                      the same, in the session of spark-submit
spark-submit examples/spark_job.py --source s3a://bucket/trades --output s3a://bucket/busy --checkpoint ...
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import windrow as wr

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERY = """
    SELECT symbol, count(*) AS number, sum(volume) AS volume
    FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]
    GROUP BY symbol
"""


def generated(spark: SparkSession) -> wr.Query:
    """Half an hour of trades, up to 30 s out of order; the column `punctuation` says what cannot come any more."""
    spark.dataSource.register(wr.spark_source())
    reader = spark.readStream.format("windrow").option("recipe", "trades").option("rows", 18000)
    reader = reader.option("eventRate", 10).option("seed", 1).option("disorder", "band 30 s")
    trades = reader.option("punctuate", "30 s").option("batchRows", 10000).load()
    return wr.stream(trades, time="time", progress=wr.punctuated("punctuation"), name="trades")


def landed(spark: SparkSession, folder: str) -> wr.Query:
    """Parquet files that land in a folder, with rows up to 30 s out of order."""
    trades = spark.readStream.schema("symbol string, price bigint, volume bigint, time timestamp").parquet(folder)
    return wr.stream(trades, time="time", progress=wr.slack("30 s"), name="trades")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", help="a folder of Parquet files; generated trades unless given")
    here = Path.cwd()  # Spark's idea of a relative path is where it was started
    parser.add_argument("--output", default=f"{here}/busy", help="the folder for the answers")
    parser.add_argument("--checkpoint", default=f"{here}/busy-checkpoint", help="what a restart goes on from")
    given = parser.parse_args()

    spark = wr.spark_session()  # the session of spark-submit, or one in this process
    trades = landed(spark, given.source) if given.source else generated(spark)
    answers = wr.sql(QUERY, trades=trades).to_spark()
    writer = answers.writeStream.format("parquet").option("path", given.output)
    writer = writer.option("checkpointLocation", given.checkpoint)
    writer.trigger(availableNow=True).start().awaitTermination()  # what is there now; leave it out to run on

    busiest = spark.read.parquet(given.output).orderBy("volume", "window_end", "symbol", ascending=False)
    busiest = busiest.selectExpr("symbol", "date_format(window_end, 'HH:mm') AS until", "number", "volume")
    for row in busiest.take(3):
        print(f"{row['symbol']} until {row['until']}: {row['number']} trades, {row['volume']} shares")


if __name__ == "__main__":
    main()

# It prints:
# AACW until 00:28: 76 trades, 93500 shares
# AACE until 00:24: 72 trades, 93100 shares
# AADS until 00:10: 76 trades, 92500 shares
