"""Expressions over batches, and predicates as masks; the kernels are in `expressions`."""

from windrow.operators.expressions.predicate import Predicate
from windrow.operators.expressions.tree import evaluate

__all__ = ["Predicate", "evaluate"]
