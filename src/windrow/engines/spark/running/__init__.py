"""A query on Spark while it runs: to the end of its sources or on, its checkpoint folder, its metrics."""
