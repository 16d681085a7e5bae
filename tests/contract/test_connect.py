"""The contract on Spark Connect, in a process of its own: a JVM serves classic sessions or Connect, not both."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_contract_holds_on_spark_connect() -> None:
    command = [sys.executable, "-m", "pytest", "tests/contract", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "SPARK_", "PYSPARK_"))}
    env = {**kept, "WINDROW_CONTRACT": "connect", "PYSPARK_PYTHON": sys.executable}
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=root, check=False)
    print(done.stdout.strip().rsplit("\n", 1)[-1])
    assert 0 == done.returncode, done.stdout
