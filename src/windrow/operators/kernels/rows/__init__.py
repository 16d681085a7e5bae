"""Loops of windows that count rows, of sessions and of kept values."""
