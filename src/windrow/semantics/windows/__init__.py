"""Window kinds, each with its three functions: `windows`, `extent` and `wids`."""
