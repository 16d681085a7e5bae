"""What a row does to the window that ends with it: nothing, closes it, has closed it; or that is not known yet."""

from __future__ import annotations

SILENT, CLOSES, CLOSED, UNCOUNTED = 0, 1, 2, 3
