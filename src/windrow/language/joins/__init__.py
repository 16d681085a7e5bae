"""JOIN: kinds, windows and conditions of two sides."""
