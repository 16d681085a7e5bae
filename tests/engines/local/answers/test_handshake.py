"""Handshake join in the local engine: answers and accounts are those of the other joins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engines.local.answers.test_joins import (
    POLICIES,
    TWO,
    Rows,
    answer,
    as_tuples,
    expected,
    split,
    streams,
    tables,
)
from tests.operators.joins.cases import plans
from windrow.plan.nodes import Join, JoinStrategy
from windrow.semantics.progress.policies import Policy


@settings(max_examples=60)
@given(plans(), TWO, st.tuples(POLICIES, POLICIES), st.integers(1, 50), st.integers(1, 3))
def test_answers_and_accounts_under_every_policy(
    plan: Join, found: Sequence[Rows], policies: Sequence[Policy], batch_rows: int, threads: int
) -> None:
    left, right = streams(policies)
    plan = replace(plan, left=left, right=right, strategy=JoinStrategy.HANDSHAKE)
    results, _, metrics = answer(plan, tables(found), batch_rows=batch_rows, threads=threads)
    assert as_tuples(results) == expected(plan, found, policies)
    missed = sum(len(split(rows, policy)[1]) for rows, policy in zip(found, policies, strict=True))
    assert (metrics.rows_in, metrics.rows_late, metrics.rows_used) == (
        sum(map(len, found)),
        missed,
        sum(map(len, found)) - missed,
    )
    assert metrics.rows_stored == 0
