"""A Spark to run in: what it needs, how it starts, how its workers start, and its failures in plain words."""
