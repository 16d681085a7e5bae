"""The parent of Python workers: it loads what they need once, and they are its forks.

A worker that begins by importing the engine needs seconds before its first row, and there are several of them. An
embedded session names this module as `spark.python.daemon.module`; a cluster can do the same.
"""

from __future__ import annotations

import os
import sys

from pyspark.daemon import manager


def load() -> None:
    """Import the engine, and call the kernels of an ordinary query, so that their machine code is in memory."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads do not survive a fork
    if sys.argv[1:2] not in ([], ["pyspark.worker"]):  # others only plan what is read
        import windrow.engines.spark.connect.replay  # noqa: F401

        return
    import pandas  # noqa: F401

    from windrow.engines.local.compiling import small_queries
    from windrow.engines.spark.session.worker import compile_two_levels, settle

    for _, plan in list(small_queries())[:2]:
        compile_two_levels(plan)
    settle()


if __name__ == "__main__":
    load()
    manager()
