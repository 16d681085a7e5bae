"""The local engine: pushes elements through the operators in this process."""

from windrow.engines.local.metrics import Metrics
from windrow.engines.local.run import Options, run

__all__ = ["Metrics", "Options", "run"]
