"""Damaged, half-copied, moved and shared checkpoints, full disks: the right answer, or a refusal in one message."""

from __future__ import annotations

import errno
import os
import re
import shutil
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest
from click.testing import CliRunner, Result

import windrow as wr
from tests.soak.broken_off import Broken, breaking_after
from tests.soak.damage import REFUSED, RESCUED, RIGHT, restored, trials
from tests.strategies import comparable
from windrow.cli import main
from windrow.durable import sealed_files as durable_files
from windrow.durable.sealed_files import read_json
from windrow.engines.local.checkpoint import Checkpoints

pytestmark = pytest.mark.usefixtures("every_checkpoint")

TYPES: dict[str, pa.DataType] = {"t": pa.int64(), "k": pa.string()}
SCHEMA = pa.schema(TYPES)
ROWS = [{"t": place - place * 7 % 12, "k": "ab"[place % 2]} for place in range(60)]
HINT = "Hint: bring the folder back from a copy, or run the query from the start in an empty folder."


def stream(first: int = 0) -> wr.Query:
    table = pa.Table.from_pylist(ROWS[first:], SCHEMA)
    return wr.stream(table, time="t", progress=wr.slack(3), name=f"s{first}" if first else "s")


def query() -> wr.Query:
    return stream().group_by("k").window(range=8, slide=4).agg(n=wr.count()).late("side")


KINDS: dict[str, Callable[[], wr.Query]] = {
    "late rows": query,
    "values": lambda: stream().window(range=8).agg(middle=wr.median("t")).late("revise", within=20),
    "sessions": lambda: stream().group_by("k").window(gap=2).agg(n=wr.count()),
    "union": lambda: stream().union(stream(9)).group_by("k").window(range=8).agg(n=wr.count()).early(5),
    "distinct": lambda: stream().distinct(),
}


def given(query: wr.Query, **options: Any) -> tuple[list[Any], list[Any]]:
    result = query.run(**options)
    return comparable(result.table.to_pylist()), comparable(result.late.to_pylist())


def again(query: wr.Query, folder: Path) -> tuple[list[Any], list[Any]]:
    return given(query, checkpoint=str(folder), restore=True, batch_rows=10)


def run(folder: Path, **options: Any) -> tuple[list[Any], list[Any]]:
    return given(query(), checkpoint=str(folder), **options)


@pytest.fixture(autouse=True)
def _soon_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is on the disk when is tested with the ledger; here the disk would only be waited for."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def expected() -> tuple[list[Any], list[Any]]:
    found = given(query())
    assert all(found)
    return found


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """The checkpoint of a run that broke off behind its fourth; the third is there, too."""
    with breaking_after(4):
        run(tmp_path / "state", checkpoint_every=10, batch_rows=10)
    assert ["3", "4"] == sorted(path.name for path in (tmp_path / "state").iterdir() if path.is_dir())
    return tmp_path / "state"


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize(("one", "other"), [("3", "4"), ("4", "3")])
def test_a_manifest_of_another_checkpoint_does_not_count(
    state: Path, expected: tuple[list[Any], list[Any]], one: str, other: str
) -> None:
    shutil.copy(state / one / "manifest.json", state / other / "manifest.json")
    ways = pytest.warns(wr.DamagedCheckpointWarning, match="is that of another") if other == "4" else nullcontext()
    with ways:
        assert expected == run(state, restore=True)


def test_a_flipped_bit_or_a_cut_never_changes_an_answer(tmp_path: Path) -> None:
    """`make soak` does the same hundreds of times, over all kinds of queries."""
    outcomes: Counter[str] = Counter()
    for kind, query in KINDS.items():
        with breaking_after(3):
            given(query(), checkpoint=str(tmp_path / kind), checkpoint_every=10, batch_rows=10)
        outcomes += trials(
            tmp_path / kind,
            tmp_path / "state",
            partial(again, query()),
            given(query(), batch_rows=10),
            seeds=[f"{kind} {flip}" for flip in range(6)],
        )
    assert {RIGHT, RESCUED, REFUSED} == set(outcomes)


def test_the_checkpoint_before_is_used_and_the_next_one_replaces_what_was_damaged(state: Path, expected: Any) -> None:
    damaged = state / "state-4.chunks"
    flip(damaged)
    told = (
        rf"\Athe last checkpoint is damaged: {re.escape(str(damaged))} has changed since it was written: its checksum "
        rf"differs\. The run goes on from the one before, {re.escape(str(state / '3'))}; 10 rows behind its 30 "
        r"are read again\Z"
    )
    with pytest.warns(wr.DamagedCheckpointWarning, match=told), breaking_after(1):
        run(state, restore=True)
    assert ["3", "5"] == sorted(path.name for path in state.iterdir() if path.is_dir())
    assert expected == run(state, restore=True)


def test_damage_of_both_is_refused_and_nothing_is_changed(state: Path) -> None:
    flip(state / "state-4.chunks")
    (state / "3" / "manifest.json").write_bytes(b"")
    before = {path: path.read_bytes() for path in state.rglob("*.*") if path.name != "windrow.lock"}
    told = (
        rf"\A`checkpoint` must hold a whole checkpoint; {re.escape(str(state))}/state-4\.chunks has changed "
        rf"since it was written: its checksum differs; {re.escape(str(state))}/3/manifest\.json is empty, got "
        rf"{re.escape(str(state))}\. {re.escape(HINT)}\Z"
    )
    with pytest.raises(wr.ConfigurationError, match=told):
        run(state, restore=True)
    assert before == {path: path.read_bytes() for path in state.rglob("*.*") if path.name != "windrow.lock"}


def test_results_that_all_checkpoints_need_are_named_once(state: Path) -> None:
    first = min(state.glob("results-*.arrow"), key=lambda path: int(path.stem.partition("-")[2]))
    first.unlink()
    told = rf"\A`checkpoint` must hold a whole checkpoint; {re.escape(str(first))} is missing, got "
    with pytest.raises(wr.ConfigurationError, match=told):
        run(state, restore=True)


def test_state_that_both_checkpoints_need_is_named_once(state: Path) -> None:
    lists = [set(read_json(state / number / "manifest.json")["state"]["files"]) for number in ("3", "4")]
    shared = state / f"state-{min(set.intersection(*lists), key=int)}.chunks"
    flip(shared)
    told = rf"\A`checkpoint` must hold a whole checkpoint; {re.escape(str(shared))} has changed since [^;]*, got "
    with pytest.raises(wr.ConfigurationError, match=told):
        run(state, restore=True)


def test_results_that_go_bad_after_the_restore_are_refused(state: Path) -> None:
    checkpoints = Checkpoints(str(state), [query().plan])
    checkpoints.ledger.files = {
        name: durable_files.Seal(**seal) for name, seal in read_json(state / "4" / "manifest.json")["given"].items()
    }
    flip(next(state.glob("results-*.arrow")))
    with pytest.raises(
        wr.ConfigurationError, match=r"\A`checkpoint` must hold a whole checkpoint; .*results-\d+\.arrow"
    ):
        list(checkpoints.replay("results"))


def test_copies_moves_and_halves_of_a_checkpoint(state: Path, tmp_path: Path, expected: Any) -> None:
    """Without any one of its files, or with a half of it, a copy is right or refused."""
    copy, outcomes = tmp_path / "copy", set()
    files = sorted(path.relative_to(state) for path in state.rglob("*.*"))
    for missing in [
        None,
        *(path for path in files if path.parent == Path() or path.name == "manifest.json"),
        files[-1],
    ]:
        shutil.rmtree(copy, ignore_errors=True)
        shutil.copytree(state, copy)
        if missing is not None:
            (copy / missing).unlink()
        outcomes.add(restored(lambda: run(copy, restore=True), expected))
    assert {RIGHT, RESCUED, REFUSED} == outcomes
    for missing in (state / "4", state / "3"):
        shutil.rmtree(missing)
        shutil.rmtree(copy)
        shutil.copytree(state, copy)
        assert RIGHT == restored(lambda: run(copy, restore=True), expected)
    state.rename(tmp_path / "moved")
    assert expected == run(tmp_path / "moved", restore=True)


def test_files_of_another_copy_do_not_fit(state: Path, tmp_path: Path, expected: Any) -> None:
    """Every file is whole, but they are of two runs."""
    with breaking_after(4):
        query().run(checkpoint=str(tmp_path / "other"), checkpoint_every=12, batch_rows=12)
    shutil.copy(tmp_path / "other" / "state-4.chunks", state / "state-4.chunks")
    assert RESCUED == restored(lambda: run(state, restore=True), expected)


def test_a_number_that_is_no_folder_counts_as_damage(state: Path, expected: Any) -> None:
    (state / "9").touch()
    with pytest.warns(
        wr.DamagedCheckpointWarning, match=r"/9/manifest\.json cannot be read \(not a directory\)\. The run"
    ):
        assert expected == run(state, restore=True)


def test_a_run_that_does_not_go_on_is_refused_where_there_is_one(state: Path, expected: Any) -> None:
    told = rf"\A`checkpoint` holds a run already, got {re.escape(str(state))}\. Hint: go on from it with restore, or "
    with pytest.raises(wr.ConfigurationError, match=told):
        run(state)
    assert expected == run(state, restore=True)


def test_a_folder_of_a_run_on_spark_is_refused(tmp_path: Path) -> None:
    (tmp_path / "windrow.json").write_text("{}")
    message = "`checkpoint` must be of a run in process; this one is of a run on Spark, got {}. Hint: go on with "
    message += "engine='spark', or choose an empty folder."
    for restore in (False, True):
        with pytest.raises(wr.ConfigurationError, match=f"^{re.escape(message.format(tmp_path))}$"):
            run(tmp_path, restore=restore)


def test_files_that_may_not_be_read(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    told = (
        r"\A`checkpoint` must be a folder that can be read \(.*manifest\.json: permission denied\), got .* Hint: mend"
    )
    with pytest.raises(wr.ConfigurationError, match=told):
        run(state, restore=True)


@pytest.mark.parametrize("room", [0, 100, 3_000, 5_000, 8_000])
def test_a_full_disk_leaves_the_last_checkpoint(state: Path, room: int, expected: Any) -> None:
    left, write = [room], durable_files.SealedWriter.write

    def write_while_there_is_room(self: Any, content: Any) -> int:
        left[0] -= len(memoryview(content))
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(self, content)

    before = sorted(path.relative_to(state) for path in state.rglob("*"))
    told = (
        r"\A`checkpoint` must be a folder that can be written \(no space left on device\), got \S*state\. "
        r"Hint: choose another folder, mend its permissions or make room on its disk\.\Z"
    )
    patch = mock.patch.object(durable_files.SealedWriter, "write", write_while_there_is_room)
    with patch, pytest.raises(wr.ConfigurationError, match=told):
        run(state, restore=True, checkpoint_every=10, batch_rows=10)
    if room < 3_000:  # else another one was still written
        assert before == sorted(path.relative_to(state) for path in state.rglob("*"))
    assert [] == list(state.glob("*.draft"))
    assert expected == run(state, restore=True)


def test_a_run_killed_at_any_step_of_a_save_leaves_a_whole_checkpoint(tmp_path: Path, expected: Any) -> None:
    """Each file and folder that is made, made durable, renamed or removed is the last one in turn."""
    steps = [(os, "fsync"), (Path, "open"), (Path, "mkdir"), (Path, "replace"), (Path, "unlink"), (shutil, "rmtree")]
    for last in range(200):
        state, left = tmp_path / str(last), [last]
        with ExitStack() as stack:
            for owner, name in steps:
                stack.enter_context(mock.patch.object(owner, name, dying(getattr(owner, name), left)))
            stack.enter_context(suppress(Broken))
            run(state, checkpoint_every=20, batch_rows=20)
            break
        assert expected == run(state, restore=True)
    assert 40 < last < 199


def dying(step: Callable[..., Any], left: list[int]) -> Callable[..., Any]:
    """The power goes off instead of a step when none is left."""

    def take(*given: Any, **named: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise Broken
        return step(*given, **named)

    return take


def test_two_runs_at_once(tmp_path: Path, expected: Any) -> None:
    batches = query().batches(checkpoint=str(tmp_path / "state"), batch_rows=5)
    next(batches)
    with pytest.raises(
        wr.ConfigurationError, match=r"\A`checkpoint` must be used by one run at a time; this process on "
    ):
        run(tmp_path / "state", restore=True)
    batches.close()  # type: ignore[attr-defined]
    assert expected == run(tmp_path / "state", restore=True)


def test_queries_that_share_nothing_have_folders_of_their_own(tmp_path: Path) -> None:
    """Streams of one name with other data."""
    other = wr.stream(pa.Table.from_pylist(ROWS[5:], SCHEMA), time="t", progress=wr.slack(3), name="s")
    both = [query(), other.window(range=8).agg(n=wr.count())]
    tables = [one.collect() for one in both]
    for restore in (False, True):
        found = wr.run(both, checkpoint=str(tmp_path), restore=restore)
        assert tables == [result.table for result in found]
    assert {"1", "set-1", "windrow.lock"} <= {path.name for path in tmp_path.iterdir()}


SQL = "CREATE STREAM s FROM 's.parquet' PROGRESS ON t SLACK 3; SELECT count(*) AS n FROM s [RANGE 8 WATTR t]"


@pytest.fixture
def windrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    monkeypatch.chdir(tmp_path)
    parquet.write_table(pa.Table.from_pylist(ROWS, SCHEMA), "s.parquet")
    flags = ("--engine", "local", "--checkpoint", "state", "--every", "10", "--batch-rows", "10")
    return lambda *more: CliRunner().invoke(main, ["run", "-e", SQL, *flags, *more])


@pytest.mark.filterwarnings("default::windrow.errors.DamagedCheckpointWarning")
def test_the_command_line_says_what_is_damaged_and_goes_on(windrow: Callable[..., Result]) -> None:
    whole = windrow()
    shutil.copytree("state", "whole")
    last = max(int(path.name) for path in Path("state").iterdir() if path.name.isdigit())
    flip(Path("state") / str(last) / "manifest.json")
    found = windrow("--restore")
    assert (0, whole.stdout) == (found.exit_code, found.stdout)
    told = (
        f"Warning: the last checkpoint is damaged: state/{last}/manifest.json has changed since it was written: its "
        f"checksum differs. The run goes on from the one before, state/{last - 1}; the rows behind its 60 are read "
        "again."
    )
    assert told in found.stderr.splitlines()
    assert whole.stdout == windrow("--restore").stdout


def test_the_command_line_refuses_in_one_message(windrow: Callable[..., Result]) -> None:
    windrow()
    for path in Path("state").glob("results-*.arrow"):
        path.write_bytes(b"")
    found = windrow("--restore")
    assert 2 == found.exit_code
    assert re.search(
        r"\AError: `checkpoint` must hold a whole checkpoint; state/results-\d+\.arrow is empty ", found.stderr
    )
    assert 2 == windrow().exit_code
    shutil.rmtree("state")
    Path("state").touch()
    found = windrow()
    assert (2, True) == (found.exit_code, "must be a folder that can be written (it is a file" in found.stderr)
