"""The window aggregate: rows are grouped, windows closed by an algorithm of `windows`, answers made of their state.

A row meets `grouping`, which takes the marked rows, turns group keys into dense codes (`state.groups`; a dictionary
column is looked up per entry, not per row) and lifts arguments into state columns. Then one of `sliding`, `sessions`,
`per_row` and `last_rows` takes it. A closed window meets `lowering`, which turns its state into Arrow columns, and
`results`. Groups that no open window knows are forgotten once they are most of all (EMIT EMPTY and LATE REVISE keep
them). A strategy that the query leaves open is on `trial` in process: the first rows wait, their groups and rows a pane
are counted, and the estimates for these choose. State says which algorithm made it, and a restored run goes on with it.

With `flush="slow"` or `"lazy"` (`smoothing`) a punctuation only notes that windows are over: what is late is judged by
it at once. The closing itself is work that the engine resumes after each element, a slice of the groups at a time, and
the promise leaves after the last slice.
"""
