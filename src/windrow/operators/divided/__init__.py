"""One operator as several, each with some of the groups, on the threads of this process.

A row meets `operator`, which has `routing` say whose it is, or puts it into panes first; `workers` are the threads.
"""
