"""The window aggregate: rows are grouped, windows closed by an algorithm of `windows`, answers made of their state.

A row meets `frame`, which drives the rest: `grouping`, then `bounds`, which say whether it is late, then the algorithm
that `making` or `trial` chose. Cells come in through `merging`. A closed window meets `results` with `empty_windows`,
`lowering` and `result_times`. `early_results` and `smoothing` are there where they were asked for.
"""
