"""How to run queries on simulated circuits."""

from __future__ import annotations

from dataclasses import dataclass, field

from windrow.engines.base import INNER
from windrow.errors import ConfigurationError
from windrow.hardware.planning.options import CircuitOptions

SIMULATORS = ("auto", "cxxrtl", "python")


@dataclass(frozen=True)
class HardwareOptions(CircuitOptions):
    """What there is to say of a circuit, and of its simulation.

    What is not said of `groups`, `dictionaries` and `ahead` is taken from the data. The `simulator` "cxxrtl" needs a
    C++ compiler, "python" does not and is slow; "auto" takes the first, where there is one and the stream is worth it.
    With `vcd` all signals are written to a file.
    """

    simulator: str = "auto"
    vcd: str | None = None
    checkpoint: None = field(default=None, metadata=INNER)

    def check(self) -> None:
        super().check()
        if self.simulator not in SIMULATORS:
            raise ConfigurationError(
                "must be a known simulator", parameter="simulator", value=self.simulator, allowed=SIMULATORS
            )
