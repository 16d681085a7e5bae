"""Whether a plan makes sense: columns, windows, streams, joins, progress."""
