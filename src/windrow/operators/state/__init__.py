"""State of window aggregates: int64 columns of three kinds (add, greatest, latest pair) and multisets of values."""
