"""Derived events as the table of an answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core.arrays import Int64
from ostinato.rules.incremental.codes import FLOAT, MOMENT, NUMBERED, code_kind, decode_column, decode_value
from ostinato.rules.incremental.head_values import display_text
from ostinato.rules.incremental.interned import Interned
from ostinato.rules.relational.kinds import TERM, Kind
from ostinato.rules.runtime.bound_program import BoundProgram

_FEW = 16  # rows that are sorted and decoded one by one
Derived = Sequence[tuple[str, Int64]]  # label; rows of begin, end and the attributes of the label
Decode = Callable[[int], Any]


class AnswerBuilder:
    """Makes answers of derived events, sorted by end, begin, type and the attributes that can be."""

    def __init__(self, bound: BoundProgram, interned: Interned) -> None:
        self.bound, self.interned = bound, interned
        self.schema = bound.answer_schema
        self.moment = bound.columns.times.scalar(whole=bound.whole_seconds)
        self.private = bound.sql.plan.outputs.private
        self._known: dict[str, tuple[list[int], list[Decode] | None]] = {}
        self.sorted_by = [
            place for place, field in enumerate(bound.sql.output, 3) if not pa.types.is_nested(field.type)
        ]

    def build(self, found: Derived) -> pa.Table:
        if not found:
            return self.schema.empty_table()
        if sum(len(rows) for _, rows in found) <= _FEW and all(self._of(label)[1] is not None for label, _ in found):
            return self._few(found)
        ends, begins = (np.concatenate([rows[:, column] for _, rows in found]) for column in (1, 0))
        order = np.lexsort((begins, ends))
        ends, begins = ends[order], begins[order]
        is_sorted = not ((ends[1:] == ends[:-1]) & (begins[1:] == begins[:-1])).any()
        return self.bound.answer(self._table(found, begins, ends, order), ordered=not is_sorted)

    def _of(self, label: str) -> tuple[list[int], list[Decode] | None]:
        """The columns of the answer that a label has, and what decodes them one by one, where that can be."""
        if label not in self._known:
            kinds = self.bound.sql.plan_types.derived[label]
            decoders = [each for kind in kinds.values() if (each := self._decoder(kind)) is not None]
            is_plain = len(decoders) == len(kinds) and self.moment is not None
            self._known[label] = _places(kinds, self.bound.sql.output), decoders if is_plain else None
        return self._known[label]

    # Few rows: Arrow would take longer to set up than they take to make

    def _few(self, found: Derived) -> pa.Table:
        width, null = len(self.schema), self.interned.null
        made: list[list[Any]] = []
        ticks: list[tuple[int, int]] = []
        for label, rows in found:
            places, decoders = self._of(label)
            assert decoders is not None
            for codes in rows.tolist():
                row: list[Any] = [None] * width
                row[0] = label
                ticks.append((codes[1], codes[0]))
                for place, decode, code in zip(places, decoders, codes[2:], strict=True):
                    if code != null:
                        row[place] = decode(code)
                made.append(row)
        order: Sequence[int] = range(len(made))
        if len(made) > 1:
            order = sorted(order, key=lambda place: self._sort_key(ticks[place], made[place]))
        moment = self.moment
        assert moment is not None
        for (end, begin), row in zip(ticks, made, strict=True):
            row[1], row[2] = moment(begin), moment(end)
        columns = list(zip(*(made[place] for place in order), strict=True))
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def _sort_key(self, ticks: tuple[int, int], row: list[Any]) -> tuple[Any, ...]:
        """NULL comes last."""
        return (*ticks, row[0], *((row[place] is None, row[place]) for place in self.sorted_by))

    def _decoder(self, kind: Kind) -> Decode | None:
        """From a code to what Arrow makes a value of the answer of; None where that takes a whole column."""
        coded, values = code_kind(kind), self.interned.values
        if coded == NUMBERED:
            if kind is TERM:
                return lambda code: display_text(values[code])
            return None if pa.types.is_decimal(kind) else values.__getitem__
        if coded == MOMENT:
            return None
        if coded == FLOAT:
            return lambda code: decode_value(code, kind, self.interned)
        return bool if pa.types.is_boolean(kind) else int

    # Many rows

    def _table(self, found: Derived, begins: Int64, ends: Int64, order: Int64) -> pa.Table:
        """The rows in an order."""
        numbers = np.repeat(np.arange(len(found)), [len(rows) for _, rows in found])
        labels = pa.array([label for label, _ in found], pa.string()).take(pa.array(numbers[order]))
        columns = [labels, pa.array(begins), pa.array(ends)]
        for place, field in enumerate(self.bound.sql.output, 3):
            columns.append(self._attribute(found, place, field, order))
        return pa.table(columns, names=["type", "begin", "end", *self.bound.sql.output.names])

    def _attribute(self, found: Derived, place: int, field: pa.Field, order: Int64) -> pa.Array:
        """A column of the answer, from all labels that have it."""
        derived = self.bound.sql.plan_types.derived
        kinds = [derived[label][field.name] for label, _ in found if field.name in derived[label]]
        if not kinds:
            return pa.nulls(len(order), field.type)
        null = self.interned.null
        parts = [
            rows[:, places.index(place) + 2] if place in (places := self._of(label)[0]) else np.full(len(rows), null)
            for label, rows in found
        ]
        if all(kind == kinds[0] for kind in kinds):
            return self._column(np.concatenate(parts)[order], kinds[0], field.type)
        own = [
            self._column(np.ascontiguousarray(codes), derived[label].get(field.name, pa.null()), field.type)
            for (label, _), codes in zip(found, parts, strict=True)
        ]
        return pa.concat_arrays(own).take(pa.array(order))

    def _column(self, codes: Int64, kind: Kind, shown: pa.DataType) -> pa.Array:
        if kind is TERM:
            values, null = self.interned.values, self.interned.null
            texts = [None if code == null else display_text(values[code]) for code in codes.tolist()]
            return pa.array(texts, pa.string())
        made = decode_column(codes, kind, self.interned)
        return made if made.type == shown else made.cast(shown)


def _places(kinds: dict[str, Kind], output: pa.Schema) -> list[int]:
    """The columns of an answer in which the attributes of a label are."""
    return [3 + output.get_field_index(name) for name in kinds]
