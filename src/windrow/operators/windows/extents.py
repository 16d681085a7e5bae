"""Window numbers and their bounds for sliding and landmark windows: window k ends at origin + k * slide."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from windrow.aggregates.kinds.base import Integers
from windrow.semantics.progress.policies import START
from windrow.semantics.windows.kinds import Landmark, Sliding

Number = TypeVar("Number", int, Integers)


def first_windows(window: Sliding | Landmark, times: Number) -> Number:
    """The first window that ends after each time."""
    return (times - window.origin) // window.slide + 1


def last_windows(window: Sliding, times: Number) -> Number:
    """The last window that starts at or before each time; below the first one when the time is in no window."""
    return (times - window.origin + window.range) // window.slide


def last_closed(window: Sliding | Landmark, bound: Number) -> Number:
    """The last window that ends at or below a bound."""
    return (bound - window.origin) // window.slide


def end_of(window: Sliding | Landmark, number: Number) -> Number:
    return window.origin + number * window.slide


def start_of(window: Sliding | Landmark, number: int) -> int:
    return START if isinstance(window, Landmark) else end_of(window, number) - window.range


def in_some_window(window: Sliding | Landmark, times: Integers) -> npt.NDArray[np.bool_]:
    if isinstance(window, Landmark) or not window.loses_rows:
        return np.ones(len(times), np.bool_)
    return last_windows(window, times) >= first_windows(window, times)
