"""What streams, windows, lateness and answers mean, in plain Python; everything faster is tested against it.

Each window kind has a module with `windows`, `extent` (window -> rows), `wids` (row -> windows) and `interval`;
`framework` picks the module for a window. `scalar` gives expressions their value, `reference` aggregates theirs,
`lateness` says which windows a row missed, and `oracle` computes a whole query from these by brute force.
"""
