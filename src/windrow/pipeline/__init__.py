"""Operators connected: from plans to a graph that elements are pushed through, and what it counts.

One graph serves several queries. A part that an earlier plan has too (nodes compare by value) is used again; within one
query every place keeps its own. An input listens for all windows above it: its grid is the common refinement of theirs.
Each query has an `End`, where its answer comes out and by which its rows are counted.
"""
