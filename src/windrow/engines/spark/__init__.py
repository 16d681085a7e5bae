"""The Spark engine: the operators of the local engine inside Structured Streaming and on static DataFrames."""
