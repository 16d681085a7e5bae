"""State of window aggregates: int64 columns of three kinds (add, greatest, latest pair) and multisets of values.

`saving` makes tables of it; `changes` are the tables that know what changed since the last save.
"""
