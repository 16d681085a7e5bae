"""Window kinds, each with its three functions: `windows`, `extent` and `wids`; and which rows are late for sessions."""
