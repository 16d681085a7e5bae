"""From topics to topics, killed at random moments and gone on with: nothing is lost, nothing comes twice."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

import windrow as wr
from tests.kafka_broker import Broker
from tests.soak.kafka_victim import SLACK, TEXT

pytestmark = [pytest.mark.soak]
ROOT = Path(__file__).parents[2]
PATIENCE = 300.0
LIVES = {"local": (20, 40_000, "state/[1-9]*", 0.2), "spark": (10, 40_000, "state/spark/commits/[0-9]*", 2.0)}
"""Kills, messages, where checkpoints are noted, and about how many seconds one takes."""


@pytest.mark.parametrize("engine", LIVES)
def test_killed_again_and_again_all_is_given_once(broker: Broker, engine: str, tmp_path: Path) -> None:
    chance = random.Random(engine)
    kills, messages, _, seconds = LIVES[engine]
    trades, results, rejects = broker.topic(4), broker.topic(2), broker.topic()
    rows, bad = _send(broker, trades, messages, chance)
    limit = "?maxOffsetsPerTrigger=2000"
    addresses = {
        "trades": f"kafka://{broker.servers}/{trades}{limit}",
        "results": f"kafka://{broker.servers}/{results}?delivery=exactly-once&key=symbol",
        "rejects": f"kafka://{broker.servers}/{rejects}?delivery=exactly-once",
    }
    (tmp_path / "addresses.json").write_text(json.dumps(addresses))
    done = 0
    for number in range(kills):
        if _live(engine, tmp_path, chance.randrange(1, 3) if number else 0, chance.uniform(0, seconds)):
            break
        done += 1
        if number == kills // 2:
            broker.kill()
            broker.start()
    assert done >= kills // 2, f"all was done after {done} kills"
    print(f"{engine}: {done} kills")
    assert _live(engine, tmp_path)
    given = [message.value() for message in broker.read(results)]
    expected = _expected(rows, whole=engine == "local")
    assert expected == Counter(map(_plain, given))
    told = [json.loads(message.value()) for message in broker.read(rejects)]
    assert bad == Counter((one["partition"], one["offset"]) for one in told)


def _send(broker: Broker, topic: str, messages: int, chance: random.Random) -> tuple[list[dict[str, Any]], Any]:
    rows, bad = list[dict[str, Any]](), Counter[tuple[int, int]]()
    for partition in range(4):
        sent: list[bytes | None] = []
        for place in range(messages // 4):
            if chance.random() < 0.01:
                bad[partition, len(sent)] += 1
                sent.append(chance.choice([None, b"", b"nonsense"]))
                continue
            second = place * 0.05 + chance.uniform(0, 3) + 20 * partition
            time = f"2024-08-09T{int(second) // 3600:02}:{int(second) // 60 % 60:02}:{second % 60:09.6f}Z"
            row = {"symbol": f"s{chance.randrange(6)}", "price": chance.randrange(100), "ts": time}
            rows.append({**row, "partition": partition, "second": second})
            sent.append(json.dumps(row).encode())
        broker.send(topic, sent, partition)
    return rows, bad


def _expected(rows: list[dict[str, Any]], *, whole: bool) -> Counter[str]:
    """The windows that have closed: all of them where the stream was closed."""
    import pyarrow as pa

    from windrow.sources.conform import conform

    kinds: dict[str, pa.DataType] = {"symbol": pa.string(), "price": pa.int32(), "ts": pa.timestamp("us", "UTC")}
    raw = pa.Table.from_pylist(rows).combine_chunks().to_batches()[0]
    data = conform(raw.select(list(kinds)), pa.schema(kinds), "the test")
    table = wr.sql(TEXT.format(address="x.parquet", slack=100_000), trades=pa.Table.from_batches([data])).collect(
        engine="local"
    )
    midnight = datetime(2024, 8, 9, tzinfo=timezone.utc).timestamp()
    furthest = [max(row["second"] for row in rows if row["partition"] == partition) for partition in range(4)]
    bound = midnight + min(furthest) - SLACK
    kept = [row for row in table.to_pylist() if whole or row["window_end"].timestamp() <= bound]
    assert kept
    return Counter(json.dumps([row["symbol"], row["n"], row["total"], row["high"]]) for row in kept)


def _plain(value: bytes) -> str:
    row = json.loads(value)
    return json.dumps([row["symbol"], row["n"], row["total"], row["high"]])


def _reached(engine: str, folder: Path) -> int:
    """The number of the last checkpoint."""
    return max((int(path.name) for path in folder.glob(LIVES[engine][2]) if path.name.isdigit()), default=0)


def _live(engine: str, folder: Path, checkpoints: int | None = None, seconds: float = 0.0) -> bool:
    """One life, to its end or until so many seconds behind so many checkpoints; whether it came to its end."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"}
    log = (folder / "log").open("ab")
    life = subprocess.Popen(
        [sys.executable, "-m", "tests.soak.kafka_victim", engine, str(folder)],
        cwd=ROOT,
        env=environment,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    log.close()
    until, before = time.monotonic() + PATIENCE, _reached(engine, folder)
    while life.poll() is None and time.monotonic() < until:
        if checkpoints is not None and _reached(engine, folder) >= before + checkpoints:
            time.sleep(seconds)
            break
        time.sleep(0.02)
    ended = life.poll()
    if ended is None:
        os.killpg(life.pid, signal.SIGKILL)
    life.wait()
    said = (folder / "log").read_text()[-3000:]
    assert ended in (None, 0), said
    assert ended == 0 or time.monotonic() < until, said
    return ended == 0
