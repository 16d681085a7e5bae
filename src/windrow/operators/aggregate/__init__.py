"""The window aggregate: rows are grouped, windows closed by an algorithm of `windows`, answers made of their state.

A row meets `frame`, which drives the rest: `grouping`, then the bounds of `late`, which decide whether it is late, then
the `algorithm`. `partials` are cells made apart from the windows over them: shared by several, or sent between workers.
A closed window meets `results`. `early_results` and `smoothing` are there where they were asked for.
"""
