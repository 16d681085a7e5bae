"""Work divided over workers, engine-free: what runs beside the rows, what runs in shards, and what travels between.

Rows meet `pre_aggregate`, `routing` (joins: `join_routing`, `replication`) and `wire`; then `shard` with
`task_progress`; its state is cut into `chunks` (cells with marks: `cell_chunks`), written by `chunk_writing`.
"""
