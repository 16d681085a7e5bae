"""Rows and values that are kept until something passes them."""
