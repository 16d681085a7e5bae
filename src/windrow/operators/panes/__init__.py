"""Panes made apart from the windows over them: shared by several windows, or sent between workers."""
