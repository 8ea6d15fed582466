"""NOT … FOR at the start of a pattern, one event at a time: when the last such event came, for each key and value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from ostinato.core.columns.row_codes import RowCodes, coded_columns
from ostinato.patterns.runtime.indexed_absence import common_values, plain_comparisons
from ostinato.patterns.runtime.recent_events import KEY, TIME, RecentEvents

_FEWEST = 1 << 10  # times, before it pays to look for old ones


class IndexedRecent:
    """What is known of one NOT, while it is `active`; else that is in the table of `recent`."""

    def __init__(
        self, recent: RecentEvents, own: Sequence[str], others: Sequence[str], schema: pa.Schema, relation: str | None
    ) -> None:
        """`own` are attributes of such an event, which must equal the `others` of the first event of a match."""
        self.recent, self.active = recent, False
        coded = coded_columns(recent.encoder, relation)
        self.names = list(dict.fromkeys([*coded, *own, *others]))
        self._own, self._others = own, others
        self._columns, self._relation = pa.schema([schema.field(name) for name in self.names]), relation
        self._last: dict[tuple[Any, ...], int] = {}
        self._many = _FEWEST
        self._codes: RowCodes | None = None
        self._truth: list[bool] = []

    @staticmethod
    def of(recent: RecentEvents, schema: pa.Schema, relation: str | None) -> IndexedRecent | None:
        """For a NOT that compares no values, or only whether plain ones are equal."""
        comparisons = plain_comparisons(recent.absence.test, schema)
        if comparisons is None or any(op != "=" for op, _, _ in comparisons):
            return None
        return IndexedRecent(
            recent, [name for _, name, _ in comparisons], [other.name for _, _, other in comparisons], schema, relation
        )

    def see(self, values: Mapping[str, Any], key: int, now: int, position: int) -> bool:
        """Whether such an event came in the time before one that comes now; and this one is known from now on."""
        if not self.active:
            self._take_over()
        came = self._last.get(common_values(key, [values[name] for name in self._others]) or ())
        if self._is_such(values, position) and (wanted := common_values(key, [values[name] for name in self._own])):
            self._last[wanted] = now
            if len(self._last) >= self._many:
                self._forget(now)
        return came is not None and came >= now - self.recent.reach

    def _is_such(self, values: Mapping[str, Any], position: int) -> bool:
        if self._codes is None:
            self._codes = RowCodes(self.recent.encoder, self._columns, self._relation)
        code = self._codes.code([values[name] for name in self.names], position)
        while code >= len(self._truth):
            self._truth.append(self.recent.encoder.truth(len(self._truth))[0])
        return self._truth[code]

    def _forget(self, now: int) -> None:
        earliest = now - self.recent.reach
        self._last = {wanted: last for wanted, last in self._last.items() if last >= earliest}
        self._many = max(_FEWEST, 2 * len(self._last))

    def _take_over(self) -> None:
        """Hold what is in the table."""
        rows = self.recent.kept.to_pylist()
        self.active = True
        for row in rows:  # in the order in which they came
            if wanted := common_values(row[KEY], [row[name] for name in self._own]):
                self._last[wanted] = row[TIME]

    def settle(self) -> None:
        """Put back what is known."""
        if not self.active:
            return
        self.active = False
        rows = []
        for (key, *values), last in sorted(self._last.items(), key=itemgetter(1)):
            rows.append({KEY: key, TIME: last, **dict(zip(self._own, values, strict=True))})
        self._last = {}
        self.recent.kept = pa.Table.from_pylist(rows, self.recent.kept.schema)
