"""Sources read span by span, by several processes, as often as needed."""
