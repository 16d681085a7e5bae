"""Columns of numbers in few bytes: sealed blocks, each coded as its values suggest, bit for bit.

`coded_column.py` is a column: read, taken from, sliced, joined and searched without being coded anew.
`saved_blocks.py` gives its blocks as an Arrow table and takes them back, whoever wrote them.
`folding.py` computes sums, extremes and ranks on the blocks as they lie.
The loops are in `kernels/compression/` and `kernels/planes/`, where what a block may be is said, too.
"""
