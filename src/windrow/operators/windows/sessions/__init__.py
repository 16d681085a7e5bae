"""Session windows, open and revised."""
