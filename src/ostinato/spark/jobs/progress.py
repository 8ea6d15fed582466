"""Following a stream that runs: its micro-batches as they end, until it ends or a signal ends it."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ostinato.spark.kafka import SKIPPED

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

_METRICS = "ostinato"  # the name of the counts that detection adds to Spark's progress
_POLL = 0.5  # seconds


@dataclass(frozen=True)
class MicroBatch:
    """What one micro-batch did. `waiting`: events that will give a row once the watermark has passed them; `skipped`
    is None where no message can be left out."""

    number: int
    events: int
    matches: int
    late: int
    skipped: int | None
    waiting: int


def follow(query: StreamingQuery, report: Callable[[MicroBatch], None]) -> bool:
    """Report every micro-batch until the stream ends; whether a signal ended it. Raises what the stream failed with."""
    last, stop_requested = -1, threading.Event()

    def report_new() -> None:
        nonlocal last
        for step in _micro_batches(query, last):
            report(step)
            last = step.number

    # A signal must not cut off a call to Java, so it only asks.
    signals = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, lambda *_: stop_requested.set()) for number in signals}
    try:
        while query.isActive and not stop_requested.is_set():
            report_new()
            stop_requested.wait(_POLL)
        query.stop()
        report_new()
        query.awaitTermination()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return stop_requested.is_set()


def _micro_batches(query: StreamingQuery, after: int) -> Iterator[MicroBatch]:
    for step in query.recentProgress:
        if step.batchId <= after:
            continue
        observed = step.observedMetrics.get(_METRICS)
        counts = observed.asDict() if observed is not None else {}
        matches, late = (
            sum(value or 0 for name, value in counts.items() if name.rpartition(".")[2] in wanted)
            for wanted in (("matches", "derived"), ("late",))
        )
        skipped = step.observedMetrics.get(SKIPPED)
        yield MicroBatch(
            number=step.batchId,
            events=step.numInputRows,
            matches=matches,
            late=late,
            skipped=skipped["skipped"] if skipped is not None else None,
            waiting=step.numInputRows - counts["rows"] if "rows" in counts else 0,
        )
