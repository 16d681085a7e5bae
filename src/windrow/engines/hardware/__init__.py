"""Queries on simulated circuits: `run.py` has the engine and its runs.

A stream is read to its end (`reading.py`), what a circuit must know of it is taken from it (`sizing.py`), it goes
through the circuit (`simulating.py`), and what lies above the circuit is done in software.
"""
