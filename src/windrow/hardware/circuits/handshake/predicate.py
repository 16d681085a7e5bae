"""The predicate of a join as a circuit over the rows of both sides."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const

from windrow.hardware.circuits.expressions import fields_of, wire, wire_later
from windrow.hardware.design import JoinDesign


def is_match(design: JoinDesign, left: Any, right: Any) -> Any:
    """One bit: whether the predicate is true for these two packed rows; NULL is not true."""
    if design.predicate is None:
        return Const(1, 1)
    row = {**fields_of(design.left, left), **fields_of(design.right, right)}
    return wire(design.predicate, row).is_true


def is_match_later(m: Any, design: JoinDesign, left: Any, right: Any) -> Any:
    """The same for the rows that were there one cycle before."""
    if design.predicate is None:
        return Const(1, 1)
    row = {**fields_of(design.left, left), **fields_of(design.right, right)}
    return wire_later(m, design.predicate, row).is_true
