"""A query as DataFrames: pre-aggregation beside the rows, shards inside Spark's state, types on the way."""
