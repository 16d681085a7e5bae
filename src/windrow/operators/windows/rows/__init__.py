"""Windows that count rows or end with rows, and the rings and timelines of their rows."""
