"""How every kernel is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from numba import njit
from numba.extending import register_jitable

Function = TypeVar("Function", bound=Callable[..., Any])


def kernel(function: Function) -> Function:
    """Compile once per machine (cached beside the package), run without the GIL."""
    return njit(cache=True, nogil=True)(function)  # type: ignore[return-value]


def inlined(function: Function) -> Function:
    """A piece of a kernel, compiled into it."""
    return njit(cache=True, nogil=True, inline="always")(function)  # type: ignore[return-value]


def shared(function: Function) -> Function:
    """A piece of kernels that is called from Python, too, and runs there as it stands."""
    return register_jitable(function)
