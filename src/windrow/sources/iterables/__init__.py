"""Python iterables as sources."""
