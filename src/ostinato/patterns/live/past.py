"""The events that came before a query was added: which of the stream's they are, and whether they can be those."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.core.clock import find_step_back
from ostinato.core.events import time_order
from ostinato.core.reorder import ReleasedRows
from ostinato.errors import DataError, Message, Option
from ostinato.patterns.live.front import Front
from ostinato.patterns.runtime.history import History

_FIX = Message("give ", Option("since"), " the last events that were pushed, all of them, in the order they came")


def place_past(front: Front, history: History, rows: pa.Table, events: int) -> ReleasedRows:
    """The last events of a stream of so many, but for those that still wait; some are in its `history`."""
    waiting = front.reorder.positions
    last = np.arange(events)[max(0, events - len(rows) - len(waiting)) :]
    positions = np.setdiff1d(last, waiting)[-len(rows) :]
    if len(positions) < len(rows):
        raise DataError(f"the stream has read {len(positions):,} events, `since` has {len(rows):,}", fix=_FIX)
    _check_times(front, rows)
    _check_kept(history, rows, positions)
    return ReleasedRows(rows, positions, time_order(rows, front.columns))


def _check_times(front: Front, rows: pa.Table) -> None:
    if front.clock is None:
        return
    ticks, watermark = front.clock.ticks(rows[front.clock.column]), int(front.reorder.watermark)
    if watermark > np.iinfo(np.int64).min and (late := np.flatnonzero(ticks > watermark)).size:
        reason = "an event in `since` is newer than what the stream has read"
        raise DataError(reason, row=int(late[0]), fix=_FIX)
    if front.lateness == 0 and (place := find_step_back(ticks, int(ticks[0]))) is not None:
        raise DataError("an event in `since` is older than the one before it", row=place, fix=_FIX)


def _check_kept(history: History, rows: pa.Table, positions: Int64) -> None:
    """Events that other queries still hold must be the same."""
    there = np.isin(history.kept_positions, positions)
    kept = history.kept.filter(pa.array(there))
    places = np.searchsorted(positions, history.kept_positions[there])
    given = rows.take(pa.array(places))
    for name in filter(rows.column_names.__contains__, kept.column_names):
        pairs = zip(kept[name].to_pylist(), given[name].to_pylist(), strict=True)
        for place, (own, other) in zip(places.tolist(), pairs, strict=True):
            if not _are_same(own, other):
                reason = f"an event in `since` has another `{name}` than the one that the stream has read"
                raise DataError(reason, row=place, fix=_FIX)


def _are_same(own: Any, other: Any) -> bool:
    return own is None or own == other or (own != own and other != other)  # NULL: nobody asked for it so far
