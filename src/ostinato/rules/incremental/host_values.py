"""Delta queries in Python that compute values of tuples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.codes import decode_value, encode_value
from ostinato.rules.incremental.delta_query import Host, PointPlan
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.relational.kinds import Kind


class NeedsHostError(Exception):
    """A value inside of a group that kernels cannot compute."""


@dataclass(eq=False)
class HostValues(Host):
    """Computes values of tuples, and appends them."""

    target: PointPlan
    inputs: Sequence[tuple[str, Kind]]  # the variables in the columns of the source; "" for a column that is not read
    functions: Sequence[tuple[Callable[[dict[str, object]], object], str]]
    interned: Interned

    def __call__(self, rows: Int64) -> Int64:
        made = np.empty((len(rows), len(self.functions)), np.int64)
        for place, row in enumerate(rows.tolist()):
            bindings = {
                name: decode_value(code, kind, self.interned)
                for code, (name, kind) in zip(row, self.inputs, strict=True)
                if name
            }
            for column, (function, coded) in enumerate(self.functions):
                made[place, column] = encode_value(function(bindings), coded, self.interned)
        return np.concatenate([rows, made], axis=1)
