"""Where windows begin for many queries at once: as for each alone, and only when a query looks."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost


def event(kind: str, ts: float) -> dict[str, Any]:
    return {"type": kind, "ts": ts}


@pytest.mark.parametrize("single", [False, True])
@pytest.mark.parametrize("scale", [0.1, 1e-9, 1e7, 0.3])
def test_windows_of_many_sizes_over_floats(scale: float, single: bool) -> None:
    """Bounds are those that a query alone has, to the last digit."""
    windows = [f"{size} {unit}" for unit in ("milliseconds", "seconds", "nanoseconds") for size in (1, 100, 300, 1000)]
    queries = {window: ost.cel(f"A ; B WITHIN {window}") for window in windows}
    times = [number * scale for number in (0, 1, 1, 2, 3, 4, 6, 7, 8, 10, 13, 20, 30, 31)]
    events = [event("AB"[place % 3 == 2 or place > 8], time) for place, time in enumerate(times)]
    live = ost.engine(queries)
    found: dict[str, list[Any]] = {window: [] for window in windows}
    for batch in events if single else [events[:5], events[5:]]:
        for match in live.push(batch):
            found[match["query"]].append(match["positions"])
    for window, query in queries.items():
        alone = query.detect(pa.Table.from_pylist(events)).to_pylist()
        assert sorted(found[window]) == sorted(match["positions"] for match in alone)


def test_windows_cost_nothing_until_a_query_wakes() -> None:
    schema = pa.schema({"ts": pa.int64(), "type": pa.string()}.items())
    live = ost.engine({str(size): ost.cel(f"A ; B WITHIN {size} seconds") for size in range(1, 40)}, schema=schema)
    live.push((0, "A"))
    assert live.shared.state.ticks.shape == (1, 1) and not live.shared.state.lows.size  # of one event
    live.push(pa.Table.from_pylist([event("zz", 1)] * 100, schema))
    assert live.shared.state.ticks.shape == (1, 100) and len(live.shared.state.lows) < 10
