"""Two-level aggregation in process, whose windows close in slices."""
