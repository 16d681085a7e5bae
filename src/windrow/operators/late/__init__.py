"""Late rows: which still count, what each missed, corrected results, promises for single groups.

`judging` is the rule of `semantics.progress.lateness` on whole arrays. A row that still counts somewhere amends its
cell in the timeline, in the middle if need be. Under LATE REVISE (`revisions`) panes stay for WITHIN after their last
window closed; a late row goes into its pane and marks the windows it missed, which are put together again when the
next boundary closes, so several late rows make one correction. Of each group's sessions a floor is kept below which
rows are late (`session_floors`), and of those reported only the last; `semantics.windows.session` proves that this is
enough.

Promises for single groups (`group_bounds`) travel in whole arrays beside the punctuations of all
rows, only as far as a window can use them. The state of those groups is taken out of the algorithm, their windows are
reported from it, and what no later window of them needs is let go; windows that all groups close later leave out what
was reported.
"""
