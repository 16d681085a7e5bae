"""Scalar values and expressions, row by row."""
