"""Handshake join: a chain of workers past which both streams flow in opposite directions.

`protocol` is what one worker does; `simulation` runs any number of them by a seeded schedule; `chain` runs them on
threads, `driver` feeds the two ends, `operator` makes it an operator.
"""
