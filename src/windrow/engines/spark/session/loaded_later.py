"""Values that travel to other processes and are loaded there when they are needed, not when they arrive.

For each stream that is read and each stateful query Spark starts a Python process that only plans. Loading the engine
there, which it never calls, was half of the time that a query took to start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pyspark import cloudpickle

T = TypeVar("T")


class LoadedLater(Generic[T]):
    """A value, or after a journey the bytes it is made of until somebody asks for it.

    >>> from pickle import dumps, loads
    >>> sent = loads(dumps(LoadedLater({"a": 1})))
    >>> sent.is_loaded, sent.value, sent.is_loaded
    (False, {'a': 1}, True)
    """

    def __init__(self, value: T) -> None:
        self._value: T = value
        self._body = b""
        self.is_loaded = True

    @property
    def value(self) -> T:
        if not self.is_loaded:
            self._value = cloudpickle.loads(self._body)
            self.is_loaded = True
        return self._value

    def __call__(self, *arguments: Any) -> Any:
        """Call the value, which is a function."""
        function: Any = self.value
        return function(*arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        dumps: Callable[[T], bytes] = cloudpickle.dumps
        return _arrived, (self._body or dumps(self._value),)


def _arrived(body: bytes) -> LoadedLater[Any]:
    one: LoadedLater[Any] = LoadedLater(None)
    one._body, one.is_loaded = body, False
    return one
