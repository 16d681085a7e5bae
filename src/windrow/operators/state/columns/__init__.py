"""State columns: how one argument is lifted into columns of a table, and read back.

`base.py` says what they have in common, `sums.py` has exact sums; `making.py` has the others and gives those that a
part declares.
"""
