"""State columns: how one argument is lifted into columns of a table, and read back.

`base.py` is what they have in common, `sums.py` has exact sums; `making.py` has the others and makes those that a part
declares.
"""
