"""Joins of the last rows of two streams on a chain of cores. From outside: `array.HandshakeArray` and its ports.

A row meets, in this order: `commands` (which core keeps it), `core` (scans its share of the other window, kept in
`share`, and compares with `predicate`), `results` (the queue of a core, which also passes on those of the cores before
it); a `link` lies between neighbours. `lock_step` is the paper's array, where the rows move and not the commands.
"""
