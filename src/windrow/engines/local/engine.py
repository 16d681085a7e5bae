"""The engine in this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from windrow.engines.base import Engine
from windrow.engines.local.run import LocalOptions, run
from windrow.engines.run import Outcome, Receiver, Requests
from windrow.plan.nodes import Node
from windrow.sources.base import Source


class LocalEngine(Engine):
    """Pushes elements through the operators in this process."""

    name = "local"
    options = LocalOptions

    def run(
        self,
        plans: Sequence[Node],
        sources: Mapping[str, Source],
        receiver: Receiver,
        options: LocalOptions,
        requests: Requests,
    ) -> Outcome:
        return run(plans, sources, receiver, options, requests)


ENGINE = LocalEngine()
