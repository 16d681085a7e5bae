"""The physical operators: state and algorithm, written once, knowing no engine."""
