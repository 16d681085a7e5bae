"""Parts of state, one file each: which columns they keep of an argument, and what they read from these.

columns.py says what a column is, and what a sketch declares; counts, sums, squares, extremes and edges are the parts
of the built-in aggregates. A part that nobody shares lies in the file of its aggregate, as in approx_distinct.
"""
