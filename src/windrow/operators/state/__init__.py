"""State of window aggregates: int64 columns of three kinds (add, greatest, latest pair) and multisets of values.

A minimum is the greatest of the complement; floats are mapped to integers that keep their order. Three loops serve
every bounded aggregate, and aggregates of one argument share columns: `avg(x), sum(x)` keep one sum.

Columns widen when the data asks for it: the count of values appears with the first NULL, an integer sum splits into
two halves before it could overflow, float digits grow to the whole range of a double. Stored state is converted then,
so nothing is paid in advance. Float sums are exact (`kernels.digits`): a fixed-point number in 32-bit digits, each in
an int64; digits add and subtract without rounding, and the sum is rounded once, when it is read.

`timeline` holds the closed panes that windows still need, sorted by pane. One kernel plans a schedule of steps: a
step is one window, with the cells that leave, the cells that enter and the answers to write. Then each kind of state
runs along that schedule (`kernels.panes.sliding`): adding state as a running difference, greatest-of state by two
stacks; values as a running multiset that takes in the sorted runs that enter and gives back those that leave
(`values`). Each makes tables of itself; `changes` are tables that know what changed since the last save.
"""
