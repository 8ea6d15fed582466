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


pieces = st.lists(st.tuples(st.sampled_from(("table", "list", "dicts")), st.integers(0, 6)), max_size=5)
Pieces = list[tuple[str, int]]


def in_pieces(rows: list[Row], cut: Pieces) -> list[Any]:
    """Rows in pieces, each as something that can be pushed; the last ones one at a time."""
    at, found = 0, list[Any]([table([])])
    for way, size in [*cut, ("dicts", len(rows))]:
        piece, at = rows[at : at + size], at + size
        found += piece if way == "dicts" else [table(piece) if way == "table" or not piece else piece]
    return found


KINDS = {
    "ts": st.sampled_from([pa.int64(), pa.float64(), pa.timestamp("us"), pa.timestamp("s", "UTC"), pa.int32()]),
    "type": st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]),
    "k": st.sampled_from([pa.int64(), pa.string(), pa.large_string(), pa.float64(), pa.timestamp("us")]),
    "v": st.sampled_from([pa.int64(), pa.float64(), pa.int8(), pa.float32()]),
}
_TEXTS = (pa.string(), pa.large_string())


@st.composite
def typed_streams(draw: st.DrawFn) -> pa.Table:
    """Columns of several types, with and without NULL, perhaps out of order."""
    rows = draw(streams(max_size=40))
    kinds = {name: draw(kind) for name, kind in KINDS.items()}
    if draw(st.booleans()):
        rows = [row | {name: row[name] if row[name] is not None else row["ts"] % 2 for name in "vk"} for row in rows]
    if draw(st.integers(0, 5)) == 0:
        rows = draw(st.permutations(rows))
    begin = datetime(1970, 1, 1)

    def cast(name: str, value: Any) -> Any:
        kind = kinds.get(name)
        if value is None or kind is None:
            return value
        if pa.types.is_timestamp(kind):
            return begin + timedelta(seconds=value)
        return float(value) / 2 if pa.types.is_floating(kind) else str(value) if kind in _TEXTS else value

    columns = [pa.array([cast(field.name, row[field.name]) for row in rows], kinds.get(field.name, field.type))
               for field in SCHEMA]  # fmt: skip
    return pa.table(columns, names=SCHEMA.names).select(draw(st.sampled_from([SCHEMA.names, ["type", *"vskmn", "ts"]])))
