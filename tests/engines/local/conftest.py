"""Checkpoints one after the other, for tests that go on from each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.soak import broken_off


@pytest.fixture
def every_checkpoint() -> Iterator[None]:
    """None is skipped."""
    with broken_off.every_checkpoint():
        yield
