"""From a query to the design of its circuit, and what the reader of its results needs to know.

`plan.py` is the door: `circuit_plan` for window aggregates, `join_plan` for joins by arrival. On the way: `options.py`
what a user may set, `columns.py` values as bits, `expressions.py` expressions over them, `times.py` the circuit's clock
of stream time, `aggregates.py` what is accumulated and how answers are read from it, `windows.py` and `joins.py` the
nodes of the physical plan. What a circuit cannot do is refused on the way, with the reason and the way out.
"""
