"""Whole queries: declarations, SELECT, FROM, windows and aggregation to plan nodes."""
