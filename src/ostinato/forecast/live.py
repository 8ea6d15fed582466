"""Scoring a stream batch by batch: one look-up per event, and a state per key to go on from."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ostinato.errors import DataError
from ostinato.forecast.answer import answer
from ostinato.forecast.reader import Read, Reader
from ostinato.forecast.track import track
from ostinato.forecast.truth import completions
from ostinato.kernels.keys import KeyTable
from ostinato.kernels.protocol import Bools, Int32

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel

_STATE, _PART = "#state", "#part"


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
        """Where each key stands, for `restore` with the same model."""
        keys = self.reader.keys.to_table() if self.model.pattern.partition_by else pa.table({})
        states = pa.array(self.states)
        table = pa.table([*keys.columns, states], names=[*keys.column_names, _STATE])
        parts = self.reader.parts.values
        if len(parts):
            table = table.append_column(_PART, pa.array(parts))
        sink = pa.BufferOutputStream()
        described = table.replace_schema_metadata({"states": json.dumps(self.model.machine.product.states)})
        with pa.ipc.new_stream(sink, described.schema) as writer:
            writer.write_table(described)
        return bytes(sink.getvalue())

    def restore(self, snapshot: bytes) -> None:
        """Go on where `snapshot` was taken."""
        try:
            table = pa.ipc.open_stream(snapshot).read_all()
            known = json.loads((table.schema.metadata or {})[b"states"])
        except (pa.ArrowInvalid, KeyError, ValueError) as error:
            raise DataError("this is no snapshot of a scorer", fix="give what Scorer.snapshot() returned") from error
        if known != self.model.machine.product.states:
            raise DataError("the snapshot is of another model", fix="load the model that it was taken with")
        self.states = table[_STATE].to_numpy().astype(np.int32)
        if self.model.pattern.partition_by:
            self.reader.keys = KeyTable.from_table(table.select(self.model.pattern.partition_by))
        if _PART in table.column_names:
            self.reader.parts.values = table[_PART].to_numpy().astype(np.int64)
