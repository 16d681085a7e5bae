"""The local engine: pushes elements through the operators in this process."""

from windrow.engines.local.run import Options, run, run_together
from windrow.pipeline.metrics import Metrics

__all__ = ["Metrics", "Options", "run", "run_together"]
