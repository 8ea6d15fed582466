"""Engines of this process for the queries of a stream, bound to their columns, which go from bucket to bucket.

To compile queries and to look up what events mean for them takes longer than to read the rows of a bucket, so it is
done once for each process, and only the state comes and goes.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.patterns.live.engine import LiveEngine
from ostinato.spark.buckets import Buckets
from ostinato.spark.patterns.shared_engine import open_live
from ostinato.spark.patterns.shipped_query import ShippedQuery

_MOST = 16
_engines: OrderedDict[bytes, LiveEngine] = OrderedDict()


@dataclass(frozen=True)
class StreamSettings:
    """What the stateful step knows: the queries of each split, the columns that come in, and those that go out.

    `delay` is the watermark's, see StatefulStep. With `isolated`, a query that reaches a limit stops alone. With
    `carries`, another stateful step may follow: what lies at the watermark has passed then, as for Spark's own steps.
    With `carried`, rows come from such a step.
    """

    splits: dict[str, tuple[ShippedQuery, ...]]
    schema: pa.Schema
    order_by: tuple[str, ...]
    output: pa.Schema
    buckets: Buckets
    delay: int | None = None
    on_late: OnLate = "count"
    isolated: bool = False
    carries: bool = False
    carried: bool = False

    @cached_property
    def digest(self) -> bytes:
        return hashlib.blake2b(repr(self).encode(), digest_size=16).digest()

    def engine(self, split: str, queries: Sequence[ShippedQuery]) -> LiveEngine:
        """An engine for some queries of one split, with whatever state it had last. It is in nobody else's hands."""
        live = _engines.pop(self._key(split, queries), None)
        if live is None:
            mode: OnLate = "raise" if self.on_late == "raise" else "count"
            live = open_live(queries, self.splits[split][0], self.schema, self.order_by, None, mode)
        return live

    def give_back(self, split: str, queries: Sequence[ShippedQuery], live: LiveEngine) -> None:
        """Let others have an engine that runs these queries."""
        _engines[self._key(split, queries)] = live
        if len(_engines) > _MOST:
            _engines.popitem(last=False)

    def _key(self, split: str, queries: Sequence[ShippedQuery]) -> bytes:
        return b"\0".join([self.digest, split.encode(), *(query.name.encode() for query in queries)])
