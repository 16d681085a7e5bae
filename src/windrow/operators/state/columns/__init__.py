"""State columns, one file each: how one argument is lifted into columns of a table, and read back.

base.py says what they have in common; `making.py` gives the columns that a part declares.
"""
