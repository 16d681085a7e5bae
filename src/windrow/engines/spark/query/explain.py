"""How a plan would run on Spark, in words: what is sent, to which shards, and when there is progress."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from windrow.engines.spark.connect.frame_sources import FrameSource
from windrow.engines.spark.query.native_panes import why_not_native
from windrow.engines.spark.query.types import watermark_of
from windrow.engines.spark.session.sessions import PARTITIONS
from windrow.engines.spark.session.shard_count import describe
from windrow.physical.division.join_routing import Divided, Exchange
from windrow.physical.make import make_divided
from windrow.physical.rules.divide import is_stateless
from windrow.plan.nodes import Node, Stream
from windrow.semantics.progress.policies import Slack, lead_of
from windrow.semantics.scalars.amounts import Amount, Domain, render
from windrow.sources.base import Source

WIDTH = len("watermark")


def explain_spread(plan: Node, sources: Mapping[str, Source] | None = None) -> str:
    """The section on Spark that follows a plan; `sources` are asked whether they are static and have a watermark."""
    (divided,) = make_divided([plan])
    frames = {name: source for name, source in (sources or {}).items() if isinstance(source, FrameSource)}
    static = bool(frames) and not any(frame.is_streaming for frame in frames.values())
    sessions = [describe(frame.frame.sparkSession) for frame in frames.values()]
    number = sessions[0] if sessions else f"one for each of {PARTITIONS}"
    entries = [
        ("sent", [_sent(exchange, static) for exchange in divided.exchanges]),
        ("shards", _shards(divided, number)),
        ("progress", [_STATIC if static else _STREAMING, *_leads(divided)]),
        ("watermark", [] if static else list(_watermarks(divided, frames))),
    ]
    lines = [f"   {'' if i else name:<{WIDTH}}  {text}" for name, texts in entries for i, text in enumerate(texts)]
    return "\n".join(["On Spark", *lines])


def _sent(exchange: Exchange, static: bool) -> str:
    """What a stream sends; of static data also who puts it into panes."""
    text = f"{exchange.stream.name}: {exchange.reasons[0]}"
    if not static or exchange.merging is None:
        return text
    why = why_not_native(exchange)
    return f"{text}, by Spark's own aggregation" if why is None else f"{text}, in Python: {why}"


def _shards(divided: Divided, each: str) -> list[str]:
    """What shards there are; `each` says how many, or without a session what that follows from."""
    if is_stateless(divided.asked):
        return [f"one: {divided.one_shard}; filters and expressions run there"]
    if divided.one_shard is not None:
        return [f"one: {divided.one_shard}"]
    exchanges = divided.exchanges
    if any(exchange.copies is not None for exchange in exchanges):
        ways = ((one, f"routed by {_route(one)}" if one.copies is None else one.copies.describe()) for one in exchanges)
        return [each, *(f"{exchange.stream.name}: {way}" for exchange, way in ways)]
    return [f"{each}; rows are routed by {_routes(divided)}"]


def _routes(divided: Divided) -> str:
    """What rows are routed by, with the stream's name where streams differ."""
    routes = [(exchange.stream.name, _route(exchange)) for exchange in divided.exchanges]
    if len({route for _, route in routes}) == 1:
        return routes[0][1]
    return "; ".join(dict.fromkeys(f"{route} of {name}" for name, route in routes))


def _route(exchange: Exchange) -> str:
    return ", ".join(map(str, exchange.route))


def _leads(divided: Divided) -> Iterator[str]:
    """How rows are found that are too far ahead."""
    for stream in dict.fromkeys(exchange.stream for exchange in divided.exchanges):
        lead = lead_of(stream.policy)
        if lead is not None:
            how = "the clock of the task that reads them" if lead.wall_clock else "all rows of their micro-batch"
            yield f"{stream.name}: whether rows are early is judged by {how}"


_STREAMING = (
    "the policy speaks after each micro-batch, about all rows up to there; "
    "rows are judged by what was promised before their micro-batch"
)
_STATIC = "all data is static: nothing is late, and everything closes at the end"


def _watermarks(divided: Divided, frames: Mapping[str, FrameSource]) -> Iterator[str]:
    """What becomes of the watermark that a DataFrame brings along."""
    for stream in dict.fromkeys(exchange.stream for exchange in divided.exchanges):
        delay = watermark_of(frames[stream.name].frame.schema, stream.time) if stream.name in frames else None
        if delay is not None:
            yield f"{stream.name}: {_watermark(stream, delay)}"


def _watermark(stream: Stream, delay: int) -> str:
    shown = render(delay * 1000, Domain.TIME) if delay else "0 s"
    if isinstance(stream.policy, Slack) and stream.policy.amount == Amount.of(f"{delay} ms"):
        return f"the delay of the DataFrame's own watermark, {shown}, is the slack; Spark itself drops no row"
    return f"the DataFrame's own one ({shown}) has no effect here: Spark drops no row, the policy above decides"
