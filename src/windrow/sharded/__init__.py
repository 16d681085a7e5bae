"""Work divided over workers, engine-free: what runs beside the rows, what runs in shards, and what travels between.

- Whatever remembers nothing is done where the rows are read. Where the first operator with state is a window over
  panes with bounded aggregates and LATE DROP, rows are aggregated into panes right there (`pre_aggregate`), and
  little is left to send. The rest of the plan runs in shards, each with the groups that a hash of the common keys of
  all operators with state sends there (`physical.division`; rows of joins to several, `replication`).
- What is sent are bodies (`wire`): Arrow IPC streams with a note in JSON. Each task sends each shard what it saw of
  its stream (`task_progress`), so every shard knows every stream, and a policy is applied after all rows of a
  micro-batch.
- A `shard` holds the very pipeline that the local engine runs. Its state is cut into `chunks` (cells with
  marks: `cell_chunks`); only those that changed are written. `signature` says which query it is of.
- Several queries (`bundle`) are one: equal rows and cells of shared panes are sent once.
"""
