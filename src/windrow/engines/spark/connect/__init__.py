"""Where Spark's rows come from and go to: addresses, the format `windrow`, DataFrames, replayed sources.

Files and data in memory are read by a Python data source (`replay`) that pre-aggregates inside its reader, so their
rows never pass through the JVM. Streaming DataFrames come in through `mapInArrow`. They do not report their end: a
source without rows (`end_of_stream`) is part of every such query, and does so when it is run with `close=True`.
"""
