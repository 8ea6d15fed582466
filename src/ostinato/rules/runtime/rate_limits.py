"""Output rate limits (`at most 1 per 5 minutes per var S`): which derived events of a label an answer shows.

Events go through in order of their end; those that end together by their begin, then by their values, child by child in
the order of labels. One is shown if, of those shown before it with the same key, fewer than `most` ended less than
`per` before it. So answers come in the same order whatever the batches, and a limit only needs to know what it showed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.arrays import Int64
from ostinato.rules.algebra.time_relations import SECOND
from ostinato.rules.plan.outputs import RateLimit
from ostinato.rules.runtime.times import TimeColumns
from ostinato.rules.terms.data import DataTerm, from_row, sort_key, to_json

_MANY = 1_000  # keys; fewer are not worth looking through
Key = tuple[str, ...]  # a label, and the canonical texts of the values that a limit goes by


@dataclass
class RateLimiter:
    """`shown` are the ends of the last events of each key that were shown, in ticks."""

    limits: Mapping[str, RateLimit]
    times: TimeColumns
    shown: dict[Key, list[int]] = field(default_factory=dict)
    _kept: int = 0

    def let_through(self, answer: pa.Table) -> pa.Table:
        """The events of an answer that are shown; those of later calls end no earlier than those of this one."""
        limited = pc.is_in(answer["type"], pa.array(list(self.limits), pa.string())).to_numpy()
        places = np.flatnonzero(limited)
        if not len(places):
            return answer
        rows = answer.take(pa.array(places))
        labels, keys = rows["type"].to_pylist(), self._keys(rows)
        begins, ends = (self.times.answer_ticks(rows[side]) for side in ("begin", "end"))
        is_shown = ~limited
        for place in _in_order(rows, begins, ends):
            limit, end = self.limits[labels[place]], int(ends[place])
            # Both are in whole ticks, and a limit of less than a tick is none.
            since = end - limit.per * self.times.ticks_per_second // SECOND
            before = [each for each in self.shown.get(keys[place], ()) if each > since]
            if len(before) < limit.most:
                is_shown[places[place]] = True
                self.shown[keys[place]] = [*before, end]
        self._forget(int(ends.max()))
        return answer.filter(pa.array(is_shown))

    def _keys(self, rows: pa.Table) -> list[Key]:
        names = {name for limit in self.limits.values() for name in limit.by}
        values = {name: [_text(value) for value in rows[name].to_pylist()] for name in names}
        labels = rows["type"].to_pylist()
        return [(label, *(values[name][place] for name in self.limits[label].by)) for place, label in enumerate(labels)]

    def _forget(self, now: int) -> None:
        """Drop what no later event can be close to."""
        if len(self.shown) < 2 * self._kept + _MANY:
            return
        for key, ends in list(self.shown.items()):
            limit = self.limits.get(key[0])
            if limit is None or ends[-1] <= now - limit.per * self.times.ticks_per_second // SECOND:
                del self.shown[key]
        self._kept = len(self.shown)


def _text(value: Any) -> str:
    term = from_row("", {"": value})
    return "".join(map(to_json, term.children))


def _in_order(rows: pa.Table, begins: Int64, ends: Int64) -> list[int]:
    """The places of the rows in the order in which they go through."""
    order = np.lexsort((begins, ends)).tolist()
    found: list[int] = []
    for _, group in groupby(order, lambda place: (ends[place], begins[place])):
        same = list(group)
        if len(same) > 1:
            terms = rows.take(pa.array(same)).to_pylist()
            by_place = dict(zip(same, terms, strict=True))
            same.sort(key=lambda place: _values(from_row(by_place[place]["type"], by_place[place])))
        found += same
    return found


def _values(term: DataTerm) -> tuple[Any, ...]:
    by_label = sorted(term.children, key=lambda child: child.label if isinstance(child, DataTerm) else "")
    return tuple(map(sort_key, by_label))
