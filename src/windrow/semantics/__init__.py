"""What streams, windows, lateness and answers mean, in plain Python; everything faster is tested against it.

`windows` says which rows a window holds, `scalars` what expressions mean, `progress` what punctuations promise and
which windows a row missed, `joins` which rows meet. The `oracle` computes a whole query from these by brute force.
"""
