"""Loops of panes: rows into cells, cells into windows."""
