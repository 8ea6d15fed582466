"""Several queries of a task in one engine, which takes each event to those that it can change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.patterns.live.engine import LiveEngine
from ostinato.patterns.live.matches import LiveMatches
from ostinato.spark.patterns.shipped_query import ShippedQuery

_FEW = 4  # queries: with fewer, each for itself is as fast
_ROWS = 1 << 16  # at a time: their matches are all in memory


def open_live(
    queries: Sequence[ShippedQuery],
    first: ShippedQuery,
    schema: pa.Schema,
    order_by: Sequence[str],
    lateness: int | None = 0,
    on_late: OnLate = "count",
) -> LiveEngine:
    """One engine for queries over the same rows, with the options of the `first`; `order_by` puts those of one time in
    order for all of them."""
    binding = dict(first.binding) | {"order_by": tuple(order_by)}
    live = LiveEngine(first.options(binding, lateness, on_late))
    for query in queries:
        live.add_compiled(query.name, query.compiled, query.limits)
    live.push(schema.empty_table())
    return live


@dataclass
class SharedEngine:
    """Those of some queries that can run together. The engine is made when the columns are known."""

    queries: Mapping[str, ShippedQuery]
    live: LiveEngine | None = None

    @staticmethod
    def of(queries: Sequence[ShippedQuery]) -> SharedEngine | None:
        """None where there are too few."""
        return SharedEngine({query.name: query for query in queries}) if len(queries) >= _FEW else None

    def read(self, before: pa.Table, rows: pa.Table) -> Iterator[tuple[ShippedQuery, pa.Table]]:
        """The matches that rows complete which are in order; those before them only count for later ones."""
        if self.live is None:
            queries = list(self.queries.values())
            self.live = open_live(queries, queries[0], rows.schema, ())
        for part in (before.slice(at, _ROWS) for at in range(0, len(before), _ROWS)):
            self._check(self.live.push(part))
        for part in (rows.slice(at, _ROWS) for at in range(0, len(rows), _ROWS)):
            yield from self._check(self.live.push(part))

    def flush(self) -> Iterator[tuple[ShippedQuery, pa.Table]]:
        """What the end of the stream completes."""
        if self.live is not None:
            yield from self._check(self.live.flush())

    def _check(self, found: LiveMatches) -> Iterator[tuple[ShippedQuery, pa.Table]]:
        """The matches of each query; the error of one that reached a limit, whose matches are not there."""
        assert self.live is not None
        for error in self.live.errors.values():
            raise error
        return iter([(self.queries[name], table) for name, table in found.tables.items()])
