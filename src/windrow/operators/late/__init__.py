"""Late rows: how far rows have come, which late ones still count, what each missed, corrected results.

`bounds` are what is closed, for all groups and for single ones; `judging` is the rule of `semantics.progress.lateness`
on whole arrays. A row that still counts somewhere amends its cell in the timeline, in the middle if need be. Under LATE
REVISE there are `revisions`.

Promises for single groups travel in whole arrays beside the punctuations of all rows, only as far as a window can use
them. The state of those groups is taken out of the algorithm, their windows are reported from it, and what no later
window of them needs is let go; windows that all groups close later leave out what was reported.
"""
