"""Loops of joins: sorted runs to look partners up in, scans of stored rows."""
