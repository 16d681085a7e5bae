"""The window aggregate: rows are grouped, windows closed by an algorithm of `windows`, answers made of their state.

A row meets `grouping`, then one of `sliding`, `sessions`, `per_row` and `last_rows`; a closed window meets `lowering`
and `results`.
"""
