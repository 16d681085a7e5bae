"""Where late rows are lost without anybody having chosen it."""

from __future__ import annotations

import pyarrow as pa

import windrow as wr
from windrow.engines.local.checkpoint import fingerprint
from windrow.language import to_sql
from windrow.plan.checks.lateness import loses_unasked
from windrow.plan.checks.nodes import walk

TABLE = pa.table({"t": [1]})
ONE, OTHER = wr.stream(TABLE, time="t", name="one"), wr.stream(TABLE, time="t", name="other")


def test_whether_a_policy_was_chosen_is_no_part_of_a_plan() -> None:
    """It is told by what loses rows, and changes neither equality nor what checkpoints are known by."""
    plans = {
        late: wr.sql(f"SELECT count(*) FROM s [RANGE 4 WATTR t] {late}", s=wr.stream(TABLE, time="t")).plan
        for late in ("", "LATE DROP", "LATE SIDE", "LATE REVISE", "LATE REVISE WITHIN 9")
    }
    assert plans[""] == plans["LATE DROP"]
    assert fingerprint(plans[""]) == fingerprint(plans["LATE DROP"])
    assert ["", "LATE REVISE"] == [
        late for late, plan in plans.items() if any(loses_unasked(node, plan) for node in walk(plan))
    ]
    assert ["LATE DROP", "LATE SIDE", "LATE REVISE", "LATE REVISE WITHIN 9"] == [
        late for late, plan in plans.items() if to_sql(plan).endswith(late) and late
    ]


def test_a_join_too() -> None:
    silent, chosen = ONE.join(OTHER, ["t"], range=3), ONE.join(OTHER, ["t"], range=3, late="drop")
    assert silent.plan == chosen.plan == silent.late("drop").plan
    assert [True, False, False] == [
        loses_unasked(query.plan, query.plan) for query in (silent, chosen, silent.late("drop"))
    ]
    assert [False, True] == ["LATE DROP" in to_sql(query.plan) for query in (silent, chosen)]
