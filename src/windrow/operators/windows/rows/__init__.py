"""Windows that end with rows (`per_row`) or count rows (`last_rows`), and the rings and timelines of their rows.

Slide-by-tuple windows: rows wait in a few sorted runs; those that a punctuation releases become the cells of a
timeline (`row_timeline`), which slides over them by the kernels that slide over panes. Ends of closed windows are
remembered for one RANGE, and only where it matters which of them a late row missed. A batch with late rows is not cut
where the bound moved: it has the bound of each row, and the windows that the batch closes get its late rows from where
they met their bounds on (`latecomers`).

Windows of rows: windows of different keys end at different times, so there is no common timeline. Each group has a
ring of its own panes (`rings`), a pane being gcd(RANGE, SLIDE) rows of its partition. One kernel numbers the rows of
a batch and finds which windows end after which cells; a second plans visits, in which a partition's groups give up the
panes that left and answer; then each kind of state runs along the visits, as on the timeline. Where panes are rows and
groups are partitions, a ring holds rows (`kept_rows`): what aggregates add up or list of them, once.

Values in both (`sliding_runs`): rows that hold values are sorted by group and order; a window slides over their
ranks, with a tree that counts them, counts alone, or a tree of the most frequent. Users' aggregates are put together
from stretches as long as powers of two.
"""
