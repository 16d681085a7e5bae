"""Circuits as text: readable ports, the same text each time, a comment that says what it is."""

from __future__ import annotations

import re

from tests.hardware.small_circuits import Running
from windrow.hardware.design import AggregateDesign, BitLayout, CircuitPart, Field, Function, JoinDesign, WindowQuery
from windrow.hardware.verilog import described, ports_of, rtlil_text, verilog_text
from windrow.semantics.scalars.expressions import Call, Column, Literal

PRICE = BitLayout((Field("price", 32),))


def test_ports_are_flat_and_know_their_fields() -> None:
    circuit = Running()
    ports = ports_of(circuit)
    assert all(name in rtlil_text(circuit) for name in ports)
    names = ["input_payload", "input_ready", "input_valid", "output_payload", "output_ready", "output_valid", "rows"]
    assert names == sorted(ports)
    assert (("last", 0, 1), ("value", 1, 70)) == ports["input_payload"].members
    assert [True, False, True] == [ports[f"input_{name}"].is_input for name in ("payload", "ready", "valid")]
    assert 81 == ports["output_payload"].bits


def test_verilog_has_readable_ports_and_says_what_it_is() -> None:
    circuit = Running()
    text = verilog_text(circuit, name="running", about=["totals of all values"])
    assert text.startswith("// totals of all values\n// clk, rst: one clock, ")
    assert "// input_payload: input, 71 bits\n//   [0:0] last\n//   [70:1] value\n" in text
    assert re.search(r"^module running\(", text, re.MULTILINE)
    declared = set(re.findall(r"^  (?:input|output) (?:reg )?(?:\[\d+:0\] )?(\w+);", text, re.MULTILINE))
    assert {*ports_of(circuit), "clk", "rst"} == declared


def test_the_same_circuit_gives_the_same_text() -> None:
    assert rtlil_text(Running()) == rtlil_text(Running())
    assert verilog_text(Running()) == verilog_text(Running())
    assert "src" not in rtlil_text(Running())


def test_a_design_is_described_in_full() -> None:
    where = Call(">", (Column("price"), Literal(7)))
    parts = (CircuitPart(Function.COUNT), CircuitPart(Function.MAX, Column("price")))
    design = AggregateDesign(PRICE, (WindowQuery(600, 60, 30, parts, (where,), ("price",), 4),))
    lines = described(design)
    assert "query 0: range 600, slide 60, slack 30" == lines[0]
    assert ["  where (price > 7)", "  group by price: 4 groups"] == lines[1:3]
    assert ["  count(*), 32 bits", "  max(price), 32 bits"] == lines[3:5]
    assert "time_width 32, algorithm panes, variant repaired, " in lines[5]


def test_a_join_is_described_in_full() -> None:
    lines = described(JoinDesign(PRICE, PRICE, None, 8, 16, 4))
    assert "handshake join: 4 cores, the last 8 and 16 rows" == lines[0]
    assert "predicate: every pair" == lines[1]
