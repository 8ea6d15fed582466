"""Random streams of the events that random CEL queries are about.

Events have the attributes v (small integer or null), s (a short text or null), k (a key or null), ts (seconds, never
going back, with ties), n (an integer that never goes back, for WITHIN … ON n), m (one that never goes back among the
events of one k), t (the time as a timestamp, or null) and o (v and s once more, in nested data that may be null).
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from support.generators.draws import Draw, below

Row = dict[str, Any]

SECOND = 1_000_000_000
START = datetime(2026, 1, 1)
SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "v": pa.int64(),
        "s": pa.string(),
        "k": pa.int64(),
        "ts": pa.int64(),
        "n": pa.int64(),
        "m": pa.int64(),
        "t": pa.timestamp("us"),
        "o": pa.struct({"v": pa.int64(), "p": pa.struct({"s": pa.string()})}),
    }
)


_events = st.tuples(
    st.sampled_from(["A", "B", "C", "A", "B", "A", "B", "C", "D", None]),
    st.sampled_from([1, 0, 2, -1, -2, 1, 2, None, None]),
    st.sampled_from(["a", "b", "c", "a", "b", None]),
    st.sampled_from([1, 1, 1, 2, None]),
    st.sampled_from([0, 1, 1, 2, 3]),
    st.sampled_from([0, 1, 2]),
)


@st.composite
def streams(draw: Draw, max_size: int = 9) -> list[Row]:
    """Rows in stream order; the time is in `ts`."""
    rows: list[Row] = []
    ts = n = 0
    # Short streams have few matches: of two lengths take the greater.
    for _ in range(max(draw(below(max_size + 1)), draw(below(max_size + 1)))):
        relation, v, s, k, later, more = draw(_events)
        ts, n = ts + later, n + more
        row: Row = {"type": relation, "v": v, "s": s, "k": k, "ts": ts, "n": n, "m": n - 9 * (k or 0)}
        row["t"] = None if v is None else START + timedelta(seconds=ts)
        row["o"] = None if k is None else {"v": v, "p": None if v == 0 else {"s": s}}
        rows.append(row)
    return rows


def table(rows: Iterable[Row]) -> pa.Table:
    """The same rows as Arrow data, with types even where every value is null."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)
