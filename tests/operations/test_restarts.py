from __future__ import annotations

import errno

import pytest

from windrow.errors import ConfigurationError, InternalError, QueryError, SourceError, UnavailableError
from windrow.operations.restarts import Delays, is_outside


def caused(error: Exception, cause: BaseException) -> Exception:
    try:
        try:
            raise cause
        except BaseException:
            raise error from None
    except Exception as raised:
        return raised


def of_spark(text: str) -> Exception:
    kind: type[Exception] = type("StreamingQueryException", (Exception,), {"__module__": "pyspark.errors"})
    return kind(text)


@pytest.mark.parametrize(
    ("expected", "error"),
    [
        (True, UnavailableError("is away", parameter="trades")),
        (True, ConnectionResetError(errno.ECONNRESET, "reset")),
        (True, TimeoutError("late")),
        (True, OSError(errno.EHOSTUNREACH, "no route")),
        (True, caused(SourceError("cannot be read", parameter="trades"), ConnectionRefusedError(111, "refused"))),
        (True, of_spark("... Caused by: java.net.ConnectException: Connection refused")),
        (True, of_spark("org.apache.kafka.common.errors.TimeoutException: no metadata")),
        (False, of_spark("[DIVIDE_BY_ZERO] Division by zero")),
        (False, OSError(errno.ENOSPC, "no space left on device")),
        (False, FileNotFoundError(errno.ENOENT, "gone")),
        (False, SourceError("has no column", parameter="trades")),
        (False, caused(QueryError("is wrong"), ConnectionRefusedError(111, "refused"))),
        (False, caused(ConfigurationError("is wrong"), ConnectionRefusedError(111, "refused"))),
        (False, InternalError("promised 5 after 7")),
        (False, ValueError("Connection refused")),
    ],
)
def test_what_comes_from_outside(expected: bool, error: Exception) -> None:
    assert expected is is_outside(error)


def test_an_error_that_causes_itself_is_looked_at_once() -> None:
    first, second = ValueError("a"), ValueError("b")
    first.__cause__, second.__cause__ = second, first
    assert not is_outside(first)


def test_waits_double_up_to_a_minute_and_begin_anew_after_a_run_that_went_well() -> None:
    now = [0.0]
    delays = Delays(7.0, clock=lambda: now[0])
    waits = []
    for seconds in (0, 1, 59, 59.9, 0, 60, 0):
        delays.begin()
        now[0] += seconds
        waits.append(delays.next())
    assert [7.0, 14.0, 28.0, 56.0, 60.0, 7.0, 14.0] == waits


def test_a_first_wait_of_more_than_a_minute_stays() -> None:
    delays = Delays(90.0, clock=lambda: 0.0)
    assert [90.0, 90.0] == [delays.next(), delays.next()]
