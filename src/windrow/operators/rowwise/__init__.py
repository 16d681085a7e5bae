"""Operators that look at rows one by one: select, project, union, distinct, sort."""
