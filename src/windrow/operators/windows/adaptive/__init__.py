"""AdaptWID: panes for the groups that are worth it, packed rows for the others."""

from windrow.operators.windows.adaptive.windower import make

__all__ = ["make"]
