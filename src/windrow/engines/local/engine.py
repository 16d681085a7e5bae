"""The engine in this process."""

from windrow.engines.base import Engine
from windrow.engines.local.run import LocalOptions, run


class LocalEngine(Engine):
    """Pushes elements through the operators in this process."""

    name = "local"
    options = LocalOptions
    run = staticmethod(run)


ENGINE = LocalEngine()
