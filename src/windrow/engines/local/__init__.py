"""The local engine: pushes elements through the operators in this process."""

from windrow.engines.local.options import LocalOptions
from windrow.engines.local.run import run
from windrow.engines.run import Receiver
from windrow.pipeline.metrics import Metrics

__all__ = ["LocalOptions", "Metrics", "Receiver", "run"]
