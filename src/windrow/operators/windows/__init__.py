"""How windows are computed: one file or room an algorithm. All of them give the same answers.

`panes` (Paned-WID) aggregates a batch into a dense scratch table of its own (pane, group) cells and merges that into
the open cells, a hash table (`state.cells`); a sparse batch goes to the open cells directly. When a punctuation
passes, the cells below it move to the timeline (`state.timeline`), from which windows are put together. `wid` keeps
cells per window instead, and for holistic aggregates the rows too; `buffer` keeps packed rows (`row_shape`) and makes
cells of them when a window closes, or folds the blocks they are in (`folded_rows`). `adaptive` is panes for the groups
that are worth it and packed rows for the others; an answer adds up both.
`two_level` closes windows in slices. `sessions` puts the rows of a batch into sessions among themselves, then merges
these with the open ones. `rows` are windows that end with rows, or count them.

A strategy (`plan.nodes.Strategy`) is the module of that name here, or the room.
"""
