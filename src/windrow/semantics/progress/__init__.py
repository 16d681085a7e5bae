"""Punctuations and where they come from; which rows are late, early or far behind."""
