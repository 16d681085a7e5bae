"""Expressions over whole batches: Arrow kernels that answer exactly as `semantics.scalar` does row by row.

Where Arrow would answer differently (NaN, text of numbers, overflow), a kernel works around it or leaves the rows to
the row-by-row meaning.
"""
