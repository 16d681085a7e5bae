"""A query as DataFrames: pre-aggregation beside the rows, shards inside Spark's state, types on the way.

`frames` puts a query together; `processor` puts a shard behind each key of `transformWithStateInPandas`, where
`saved_shards` runs it; for static DataFrames `applyInArrow` runs the same shard once. State bears the mark of the
micro-batch that wrote it: a worker that still holds the shard of that mark goes on with it and reads nothing. Nothing
touches the JVM directly, so all of it runs on Spark Connect.
"""
