from __future__ import annotations

import io
from datetime import datetime

import pyarrow as pa
import pytest

from windrow.errors import ConfigurationError
from windrow.sinks import LiveTerminalSink, TerminalSink, open_sink
from windrow.sinks.terminal import cells

BATCH = pa.record_batch(
    {
        "symbol": pa.array(["UBSN", None, "[b]x\n"]).dictionary_encode(),
        "number": pa.array([1, 20, None]),
        "mean": pa.array([0.1 + 0.2, None, 2.0]),
        "end": pa.array([0, 1_500_000, None], pa.timestamp("us", "UTC")),
    }
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_plain_text_is_aligned_and_says_what_is_left_out() -> None:
    stream = io.StringIO()
    with open_sink("-", BATCH.schema, limit=4, stream=stream) as sink:
        sink.write(BATCH)
        sink.write(BATCH)
    expected = (
        "symbol  number  mean  end\n"
        "------  ------  ----  ---------------------\n"
        "UBSN         1   0.3  1970-01-01 00:00:00.0\n"
        "NULL        20  NULL  1970-01-01 00:00:01.5\n"
        "[b]x\\n    NULL     2  NULL\n"
        "UBSN         1   0.3  1970-01-01 00:00:00.0\n"
        "... 2 more rows\n"
    )
    assert expected == stream.getvalue()


def test_without_a_limit_all_rows_are_shown() -> None:
    stream = io.StringIO()
    with TerminalSink(BATCH.schema, limit=None, stream=stream) as sink:
        for _ in range(40):
            sink.write(BATCH)
    assert 122 == len(stream.getvalue().splitlines())


def test_an_empty_answer_says_so() -> None:
    stream = io.StringIO()
    with TerminalSink(BATCH.schema, stream=stream):
        pass
    assert "symbol  number  mean  end\n------  ------  ----  ---\n(no rows)\n" == stream.getvalue()


def test_one_more_row_is_singular() -> None:
    stream = io.StringIO()
    with TerminalSink(BATCH.schema, limit=2, stream=stream) as sink:
        sink.write(BATCH)
    assert stream.getvalue().endswith("... 1 more row\n")


def test_an_aborted_answer_is_not_shown() -> None:
    stream = io.StringIO()
    sink = TerminalSink(BATCH.schema, stream=stream)
    sink.write(BATCH)
    sink.abort()
    sink.close()
    assert "" == stream.getvalue()


def test_a_terminal_gets_the_same_cells_unread_as_markup() -> None:
    stream = Terminal()
    with TerminalSink(BATCH.schema, limit=3, stream=stream) as sink:
        sink.write(BATCH)
        sink.write(BATCH)
    text = stream.getvalue()
    assert all(cell in text for cell in ("symbol", "UBSN", "[b]x\\n", "1970-01-01 00:00:01.5", "... 3 more rows\n"))


def test_whole_seconds_show_no_decimals() -> None:
    assert ["2024-01-01 00:00:00"] == cells(pa.array([datetime(2024, 1, 1)], pa.timestamp("ns")))


class FullDisk(io.StringIO):
    def write(self, _: str) -> int:
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("kind", [TerminalSink, LiveTerminalSink])
def test_a_standard_output_that_is_full_or_closed_is_no_fault(
    kind: type[TerminalSink], monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = pa.record_batch({"n": [1]})
    message = r"^`output` must be a place that can be written \({}\), got standard output\. Hint: give the command an "
    full = message.format("no space left on device")
    with pytest.raises(ConfigurationError, match=full), kind(batch.schema, stream=FullDisk()) as sink:
        sink.write(batch)
    monkeypatch.setattr("sys.stdout", None)
    with pytest.raises(ConfigurationError, match=message.format("it is closed")):
        kind(batch.schema)
