"""Events in time order, within a bound on their lateness."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from ostinato.core.clock import Clock
from ostinato.core.events import StreamColumns
from ostinato.core.reorder import ReleasedRows, ReorderBuffer

SECOND = 10**9


def rows(*times: int) -> pa.Table:
    return pa.table({"ts": pa.array(times, pa.int64()), "n": list(range(len(times)))})


def buffer(lateness: int | None, *order_by: str) -> ReorderBuffer:
    schema = rows().schema.set(1, pa.field("n", pa.int64()))
    return ReorderBuffer(Clock.of(schema, "ts"), StreamColumns("ts", None, order_by), schema, lateness)


def push(held: ReorderBuffer, first: int, *times: int) -> tuple[list[int], list[int]]:
    released, late = held.push(rows(*times), np.arange(first, first + len(times)))
    return in_order(released), late["ts"].to_pylist()


def in_order(released: ReleasedRows) -> list[int]:
    times: list[int] = released.rows["ts"].to_pylist()
    return times if released.order is None else [times[place] for place in released.order]


def test_without_lateness_rows_pass_sorted_and_older_ones_are_late() -> None:
    held = buffer(0)
    assert push(held, 0, 2, 1, 3) == ([1, 2, 3], [])
    assert held.count_late(rows(2, 3, 4)) == 1
    assert push(held, 3, 2, 3, 4) == ([3, 4], [2])


def test_rows_wait_as_long_as_earlier_ones_may_come() -> None:
    held = buffer(2 * SECOND)
    assert push(held, 0, 5, 3) == ([3], [])
    assert push(held, 2, 4, 7, 2) == ([4, 5], [2])
    assert in_order(held.flush()) == [7]
    assert held.count_late(rows(7)) == 1


def test_time_may_advance_without_rows() -> None:
    held = buffer(None)
    assert push(held, 0, 3, 1, 2) == ([], [])
    assert in_order(held.advance(2)) == [1, 2]
    assert push(held, 3, 1, 3) == ([], [1])
    assert in_order(held.advance(10)) == [3, 3]


def test_rows_of_one_time_wait_for_each_other_where_they_are_sorted() -> None:
    held = buffer(None, "n")
    push(held, 0, 5, 5)
    assert in_order(held.advance(5)) == []
    assert in_order(held.advance(6)) == [5, 5]


def test_positions_stay_with_their_rows() -> None:
    held = buffer(SECOND)
    held.push(rows(5), np.array([10]))
    released, _ = held.push(rows(4, 9), np.array([11, 12]))
    assert dict(zip(released.rows["ts"].to_pylist(), released.positions, strict=True)) == {5: 10, 4: 11}


def test_without_a_clock_rows_pass_as_they_come() -> None:
    held = ReorderBuffer(None, StreamColumns(None, None), rows().schema, 0)
    released, late = held.push(rows(3, 1), np.arange(2))
    assert (in_order(released), len(late), held.count_late(rows(1))) == ([3, 1], 0, 0)
