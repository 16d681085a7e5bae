"""One operator as several, each with some of the groups, on the threads of this process.

A row meets `operator`, which finds its shard by `routing`, or puts it into panes first (`pre_aggregate`).
"""
