"""What events are, as far as queries ask: the type of each, and its class for each feature of the wake index."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int32
from ostinato.core.columns.name_matcher import NameMatcher
from ostinato.patterns.live.wake_index import WakeIndex


class EventClasses:
    """For the types and features that an index has now."""

    def __init__(self, index: WakeIndex, type_column: str | None) -> None:
        self._types, self._type_column = index.types, type_column
        self._features = list(index.features.values())
        self._matcher = NameMatcher(list(self._types)) if type_column is not None and self._types else None
        self.one_type = np.zeros(1, np.int32)
        self.one_class = np.zeros((len(self._features), 1), np.int32)

    def types(self, rows: pa.Table) -> Int32:
        numbers = np.zeros(len(rows), np.int32)
        if self._matcher is None:
            return numbers
        begin = 0
        for chunk in rows[self._type_column].chunks:
            self._matcher.match(chunk, numbers[begin : begin + len(chunk)])
            begin += len(chunk)
        return numbers

    def classes(self, rows: pa.Table) -> Int32:
        """A row per feature."""
        found = [feature.classify(rows) for feature in self._features]
        return np.array(found, np.int32).reshape(-1, len(rows))

    def see_one(self, values: Mapping[str, Any], kind: str | None) -> None:
        """Put the type and the classes of one event into `one_type` and `one_class`."""
        self.one_type[0] = self._types.get(kind, 0) if kind is not None else 0
        for number, feature in enumerate(self._features):
            self.one_class[number, 0] = feature.classify_one([values[name] for name in feature.names])
