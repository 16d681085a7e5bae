"""Frames of datagrams: one header for rows, promises and what goes to a circuit and comes back.

`header` is what every frame begins with; `tuples` says how the columns of a stream lie in a record of fixed width;
`packing` makes frames of batches. They are taken apart where they come in: `sources/datagrams`, `hardware/wire`.
"""
