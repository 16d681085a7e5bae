"""Window joins: rows of two streams that are in each other's window and for which a predicate holds.

`operator` is OA-Join: rows of either side look for partners among what is kept of the other (`probing`) and are kept
themselves (`store`) while a partner may still come. Nothing is sorted by time, nothing waits.

- What is looked up (`encoding`, `scales`). Equal keys of any types have equal 64-bit words. Values of a band become
  their places in the order of all numbers of their width, NaN above all, and a band becomes an interval of places
  whose ends are exact: they hold just when the predicate as written does, rounding included. Loops then compare
  integers only.
- Runs (`runs`, `kernels.joins.index`). Rows are sorted by word, within it by the last band, or by time without one;
  where there are several bands and no key, strips of the first band serve as words. A probe finds its first candidate
  by bucket and by halving, then reads on. What neither word nor band decides is tried on candidates, some ten
  thousands at a time.
- Segments. A store is cut into sixths of the time that rows stay, or into some thousands of rows if that is more, so
  that what no row to come can meet leaves in whole segments.
- Payload. Runs of a segment that is past change no more: their columns are sealed and saved once (`saved_runs`).
- Promises (`progress`). One time of a result lags by the window's length behind the other side's promise.
  Where a window above groups by the other time, too, joint punctuation closes its groups without that lag.
- Windows of rows are the same with numbers of arrival in place of times.

`asof` is the join with the nearest row (`nearest`), and `asof_rows` are the rows of its sides. `in_order` holds rows
back until they join in order, to be compared with.
"""
