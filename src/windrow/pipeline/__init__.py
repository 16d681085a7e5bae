"""Operators connected: from plans to a graph that elements are pushed through, and what it counts."""
