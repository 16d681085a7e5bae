"""Engines run plans: the same operators, fed in different ways."""
