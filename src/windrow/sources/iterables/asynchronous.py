"""Asynchronous iterators as ordinary ones: the thread that reads waits, whoever else runs goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Iterator
from typing import Any


def waited_for(data: AsyncIterable[Any]) -> Iterator[Any]:
    """The elements of an asynchronous iterable, in the event loop that runs here now, else in one of its own."""
    try:
        loop: asyncio.AbstractEventLoop | None = asyncio.get_running_loop()
    except RuntimeError:
        loop = None
    return _Elements(_in_loop(aiter(data), loop) if loop else _in_own_loop(aiter(data)), getattr(data, "schema", None))


class _Elements:
    """An iterator, with the columns of what it iterates over, where that tells them."""

    def __init__(self, elements: Iterator[Any], schema: Any) -> None:
        self._elements = elements
        self.schema = schema

    def __iter__(self) -> Iterator[Any]:
        return self._elements

    def __next__(self) -> Any:
        return next(self._elements)


def _in_own_loop(came: AsyncIterator[Any]) -> Iterator[Any]:
    loop = asyncio.new_event_loop()
    try:
        while (element := loop.run_until_complete(_next(came))) is not _END:
            yield element
    finally:
        loop.close()


def _in_loop(came: AsyncIterator[Any], loop: asyncio.AbstractEventLoop) -> Iterator[Any]:
    while (element := asyncio.run_coroutine_threadsafe(_next(came), loop).result()) is not _END:
        yield element


async def _next(came: AsyncIterator[Any]) -> Any:
    return await anext(came, _END)


_END = object()
