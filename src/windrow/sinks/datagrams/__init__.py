"""Datagrams that go out: `sender` gives many to the system in one call, `sink` makes them of results."""
