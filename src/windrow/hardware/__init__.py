"""The same query as a circuit: from a physical plan to Amaranth, Verilog, a simulated answer and its cost on a chip.

`design.py` says what a circuit is, as data. `planning/` makes it from physical plans and refuses what a circuit cannot
do. `circuits/` turns it into hardware, `simulate/` runs that cycle by cycle, `cost/` says what it takes on a chip,
`formal/` proves small ones. `tools.py` finds the tools of the extra `windrow[hardware]`; nothing else needs them.
"""
