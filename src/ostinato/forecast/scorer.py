"""Scoring a stream batch by batch: one look-up per event, and a state per key."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isinf
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Bools, Int32
from ostinato.core.backends import is_spark_frame
from ostinato.core.snapshot_format import SCORER, Snapshot
from ostinato.errors import DataError
from ostinato.forecast.learn.ground_truth import completions
from ostinato.forecast.score.columns import add_within, check_within, event_rows
from ostinato.forecast.symbols.reader import SymbolBatch, SymbolReader
from ostinato.forecast.symbols.single_events import SingleSymbols

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel

_MOST_ROWS = 1 << 16  # that are remembered


class Scorer:
    """Follows the keys of a stream. Batches come in the order of time; rows within one are sorted.

    It keeps the model as it was when the scorer was made: what `update` changes later is for other scorers.
    """

    def __init__(self, model: ForecastModel, within: Sequence[int] = ()) -> None:
        self.predictor, self.fingerprint = model.predictor, model.fingerprint
        within = check_within(within, model.settings.horizon)
        self.per_state = add_within(model.per_state, model.predictor.waiting, within)
        self.reader = SymbolReader(model.pattern, model.settings.binding, model.symbols)
        self.states: Int32 = np.zeros(0, np.int32)
        self.time = -inf  # of the last event
        self._single: tuple[pa.Schema, SingleSymbols | None] | None = None  # for the columns that the reader has
        self._rows: dict[tuple[int, bool], pa.Table] = {}  # of single events, by the state after them

    @property
    def unseen(self) -> int:
        """How many events so far were of a kind that was never observed in training."""
        return self.reader.unseen

    def push(self, events: Any) -> pa.Table:
        """A row for each event, in the order of the rows. Raises DataError where time goes back between batches.

        Parameters
        ----------
        events
            A table (pyarrow, pandas, polars) or a list of dicts; or one event as a dict, in which an attribute that is
            absent is NULL.
        """
        if isinstance(events, dict):
            found = self._push_one(events)
            if found is not None:
                return found
            events = [dict.fromkeys(self.reader.names) | events]
        if is_spark_frame(events):
            raise DataError(
                "a scorer takes tables, not a Spark DataFrame", fix="use model.forecast(frame), which runs on Spark"
            )
        read = self.reader.read(events, since=self.time)
        if read.seconds is not None and len(read.seconds):
            self.time = float(read.seconds[-1])
        states, completes = self.follow(read)
        return event_rows(self.per_state, read.in_row_order(states), read.in_row_order(completes))

    def _push_one(self, event: dict[str, Any]) -> pa.Table | None:
        """The row of an event; None, and nothing is changed, where it has to be read as a batch."""
        bound = self.reader.schema
        if bound is None:
            return None
        if self._single is None or self._single[0] is not bound:
            self._single = bound, SingleSymbols.of(self.reader)
        single = self._single[1]
        found = None if single is None else single.read(event, self.time)
        if found is None:
            return None
        self._hold_keys(found.key + 1)
        product, before = self.predictor.product, int(self.states[found.key])
        after = int(product.next[before, found.symbol])
        if after < 0:
            return None
        self.states[found.key] = after
        self.time = max(self.time, found.seconds)
        self.reader.unseen += found.unseen
        return self._row(after, bool(product.completes[before, found.symbol]))

    def _row(self, state: int, completes: bool) -> pa.Table:
        known = self._rows.get((state, completes))
        if known is None:
            if len(self._rows) >= _MOST_ROWS:
                self._rows.clear()
            known = event_rows(self.per_state, np.array([state], np.int32), np.array([completes]))
            self._rows[state, completes] = known
        return known

    def _hold_keys(self, count: int) -> None:
        """Have room for the states of so many keys."""
        if count > len(self.states):
            more = max(count - len(self.states), len(self.states))
            self.states = np.concatenate([self.states, np.zeros(more, np.int32)])

    def follow(self, read: SymbolBatch) -> tuple[Int32, Bools]:
        """The state after each of these events, and whether it completes a match."""
        self._hold_keys(read.key_count)
        completes = read.completes
        if completes is None:
            product, before = self.predictor.product, self.states.copy()
            completes = completions(product.next, product.completes, read.symbols, read.keys, before)
        return self.predictor.follow(read, self.states), completes

    def snapshot(self) -> bytes:
        """The state of each key, for `restore` with the same model; a versioned, checked format without code."""
        arrays, tables = self.reader.save()
        meta = {
            "model": self.fingerprint,
            "unseen": self.reader.unseen,
            "time": None if isinf(self.time) else self.time,
        }
        known = self.states[: self.reader.key_count]
        return Snapshot(meta, arrays | {"states": known}, tables).to_bytes()

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken."""
        stored = Snapshot.from_bytes(snapshot)
        stored.check_kind(SCORER)
        if stored.meta["model"] != self.fingerprint:
            raise DataError("the snapshot was taken with another model", fix="load the model that it was taken with")
        self.states = stored.arrays["states"]
        self.reader.unseen = stored.meta["unseen"]
        self.time = -inf if stored.meta["time"] is None else stored.meta["time"]
        self.reader.load(stored.arrays, stored.tables)
