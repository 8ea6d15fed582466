"""Scoring a stream batch by batch: one look-up per event, and a state per key to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.errors import DataError
from ostinato.forecast.answer import answer
from ostinato.forecast.reader import Read, Reader
from ostinato.forecast.track import track
from ostinato.forecast.truth import completions
from ostinato.kernels.protocol import Bools, Int32
from ostinato.runtime.state import Snapshot

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel


class Scorer:
    """Where each key of a stream stands. Batches come in the order of time; rows within one are sorted."""

    def __init__(self, model: ForecastModel) -> None:
        self.model = model
        self.reader = Reader(model.pattern, model.settings.binding, model.symbols)
        self.states: Int32 = np.zeros(0, np.int32)

    @property
    def unseen(self) -> int:
        """How many events so far were of a kind that was never observed in training."""
        return self.reader.unseen

    def push(self, events: Any) -> pa.Table:
        """A row for each event, in the order of the rows."""
        read = self.reader.read(events)
        states, completes = self.follow(read)
        return answer(self.model.per_state, read.as_given(states), read.as_given(completes))

    def follow(self, read: Read) -> tuple[Int32, Bools]:
        """The state after each of these events, and whether it completes a match."""
        machine = self.model.machine
        self.states = np.concatenate([self.states, np.zeros(read.key_count - len(self.states), np.int32)])
        completes = read.completes
        if completes is None:
            before = self.states.copy()
            completes = completions(machine.follow, machine.product.completes, read.symbols, read.keys, before)
        return track(machine.follow, read.symbols, read.keys, self.states), completes

    def snapshot(self) -> bytes:
        """Where each key stands, for `restore` with the same model; a versioned, checked format without code."""
        arrays, tables = self.reader.save()
        meta = {"model": self.model.fingerprint, "unseen": self.reader.unseen}
        return Snapshot(meta, arrays | {"states": self.states}, tables).to_bytes()

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken."""
        held = Snapshot.from_bytes(snapshot)
        if held.meta.get("model") != self.model.fingerprint:
            raise DataError("the snapshot was taken with another model", fix="load the model that it was taken with")
        self.states = held.arrays["states"]
        self.reader.unseen = held.meta["unseen"]
        self.reader.load(held.arrays, held.tables)
