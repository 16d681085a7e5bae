"""The local engine: pushes elements through the operators in this process."""

from windrow.engines.local.run import Options, run
from windrow.engines.run import Receiver
from windrow.pipeline.metrics import Metrics

__all__ = ["Metrics", "Options", "Receiver", "run"]
