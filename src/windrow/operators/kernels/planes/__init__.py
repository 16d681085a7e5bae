"""Words laid out bit by bit, and what is computed on them as they lie.

`layout.py` makes planes of the words of a block and reads them, for `kernels/compression/`. `directory.py` lists what
is to be known of each block of a column; `folding.py` has sums and extremes, `ranks.py` order statistics,
`different.py` numbers of different values, of stretches of its rows. `lanes.py` are their steps, for 512 rows at once.
"""
