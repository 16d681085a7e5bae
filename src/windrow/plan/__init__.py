"""Logical plans: what a query asks for, whether it makes sense, and how it will be computed."""
