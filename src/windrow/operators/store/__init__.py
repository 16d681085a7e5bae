"""Rows and values that are kept, all in one kind of store.

`row_block.py` is the unit: some rows as named columns, never changed, with whole rows of Arrow where they are given
back. `row_store.py` keeps blocks: rows are appended or put into their places, scanned and tested block by block, found
by number, forgotten from the front. Only `content()` brings all rows into one array. `chosen_rows.py` says which rows
of a block are meant. `packed.py` is a column in few bytes, `cell_rows.py` rows that carry state, `waiting_rows.py` rows
above a bound. `sealed_rows.py` is whole rows of Arrow in few bytes, each column a `sealed_array.py`, saved by
`saved_rows.py`. Blocks that single rows are looked up in are remembered by `block_cache.py`. `sealing.py` decides when
rows go into coded blocks, `budget.py` when these go to the disk, where they are a `spilled_column.py`.

Who keeps rows here: values of panes, sessions and per-row windows (`state/values/value_rows.py`), the buffer, kept rows
of adaptive windows, ends of past windows, sessions, waiting rows of per-row windows, last rows, sorts and ordered
joins, both sides of as-of joins, the rows of a handshake chain, and all joins in what they save.

Who does not, and why:

- *Timelines* of panes and rows, *rings* of last rows, open *cells*: kernels write state in place, at places they keep.
- The *index* of a join: kernels search sorted arrays. Its *payload* is whole rows, one batch a run: to pick 131,072 of
  a million rows out of one takes 1.0 to 2.6 ms, out of blocks of 2^16 to 2^17 rows 4.8 to 18 ms. It is sealed once no
  rows come between any more (`joins/store.py`): packed, or in coded blocks, of which a run has one list.
- *Pending rows* of adaptive windows and of a trial: at most some ten thousand, taken all at once, never saved.
- *Late rows* of a batch (`windows/rows/latecomers.py`): they are gone with the batch.
- *Revisions* know windows and groups to correct, not rows: the rows are in the panes. *Distinct* keeps a time for each
  entry of its dictionary, by code.
"""
