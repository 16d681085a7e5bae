"""The engine of simulated circuits."""

from windrow.engines.base import Engine
from windrow.engines.hardware.options import HardwareOptions
from windrow.engines.hardware.run import run


class HardwareEngine(Engine):
    """Feeds streams to circuits, cycle by cycle."""

    name = "hardware"
    options = HardwareOptions
    run = staticmethod(run)


ENGINE = HardwareEngine()
