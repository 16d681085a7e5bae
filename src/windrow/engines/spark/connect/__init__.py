"""Where Spark's rows come from and go to: addresses, the format `windrow`, DataFrames, replayed sources."""
