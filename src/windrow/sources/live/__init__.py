"""Streams whose rows are still to come: standard input, lines over TCP, files that grow, rows that are pushed.

`line_cutter` makes rows of bytes as they arrive; the others wait for bytes, each in its own way, and never longer than
they are asked to.
"""
