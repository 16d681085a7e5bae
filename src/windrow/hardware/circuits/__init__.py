"""Circuits; `top.circuit_of` makes one of a design.

A row meets them in this order: `ports`, `filters` (shared by all queries), and then for each `query` what it needs of
the row (`expressions`), `punctuations`, `groups` and a window engine (`engine` says what that is): `window_ids` or
`panes/`, with the states of `accumulators`; results are merged by `merging`. `configuration` holds what can be set at
run time, `literal` is the papers' pipeline, `handshake/` the join.
"""
