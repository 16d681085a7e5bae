"""Window joins: rows of two streams that are in each other's window and for which a predicate holds."""
