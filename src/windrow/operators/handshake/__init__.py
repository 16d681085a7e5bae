"""Handshake join: a chain of workers past which both streams flow in opposite directions, for joins that must try every
pair.

`protocol` is what one worker does with a message; `chain` runs workers on threads. `driver` cuts rows into blocks,
feeds both ends and expires blocks that have left their window. `scanning` is what a worker holds and how it compares;
`lookup` finds the same by key or band. Workers try the rest of the predicate, too. Pairs of ids reach the driver
through an outlet, where workers wait when many are not yet taken. `operator` keeps the rows themselves (`kept`),
settles the chain before it promises anything or its state is saved, and begins again with the rows that matter when
most of those held do not.
"""
