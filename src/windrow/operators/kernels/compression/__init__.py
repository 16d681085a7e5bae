"""Blocks of whole numbers as bytes and back: one call codes or reads a whole column.

`words.py` numbers at any byte, `bits.py` words of equal width, `classes.py`, `code_lengths.py` and `prefix_codes.py`
words by how often their classes occur, `widths.py` words in whichever of the two is smaller; `differences.py` what is
coded in place of the values, `distinct.py` dictionaries and runs, `decimals.py` floats as whole numbers; `plans.py`
what is decided for some blocks in a row, `choosing.py` decides it, `writing.py` and `reading.py` do it for a block,
`columns.py` for a column. Blocks in planes are in `kernels/planes/`. Words are uint64 and wrap around, so that every
difference of int64 has one.
"""
