"""Answers to few matches, made of Python values: for those, to look rows up in Arrow costs more than all else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, chain, pairwise
from typing import Any

import numpy as np
import pyarrow as pa

from ostinato.core import expressions as ex
from ostinato.core.arrow import is_text
from ostinato.core.expressions import Expr
from ostinato.core.rows import plain_check
from ostinato.patterns.runtime.answer import AnswerBuilder
from ostinato.patterns.runtime.history import History
from ostinato.patterns.runtime.matches import Matches

_INTS, _LISTS = pa.int64(), pa.list_(pa.int64())
_MOST_MATCHES, _MOST_EVENTS = 64, 512
Values = list[Any]


@dataclass(slots=True)
class _Few:
    """Some matches as lists."""

    matches: Matches
    history: History
    labels: Sequence[frozenset[str]]
    positions: list[int]
    offsets: list[int]
    symbols: list[int]
    found: dict[str, list[list[int]]] = field(default_factory=dict)

    def of_variable(self, variable: str) -> list[list[int]]:
        """The positions of a variable's events, for each match."""
        if variable not in self.found:
            own = {symbol for symbol, label in enumerate(self.labels, start=1) if variable in label}
            marked = list(zip(self.positions, self.symbols, strict=True))
            self.found[variable] = [
                [position for position, symbol in marked[begin:end] if symbol in own]
                for begin, end in pairwise(self.offsets)
            ]
        return self.found[variable]


Column = Callable[[_Few], Values]


class FewMatches:
    """Makes the columns of an answer, each by a function of its own."""

    def __init__(self, schema: pa.Schema, columns: Sequence[Column], labels: Sequence[frozenset[str]]) -> None:
        self._schema, self._columns, self._labels = schema, columns, labels
        self._types, self._names = schema.types, schema.names
        self.narrow = all(map(_is_narrow, self._types))  # no value takes more than a few bytes

    @staticmethod
    def of(answers: AnswerBuilder, stream: pa.Schema, schema: pa.Schema) -> FewMatches | None:
        """For answers with this schema; None where they are more than values of plain columns."""
        if answers.ends is not None or answers.content is not None:
            return None
        columns = _positions(answers, stream) if answers.items is None else _items(answers, stream)
        if columns is None:
            return None
        if answers.reached:
            columns.append(_reached)
        return FewMatches(schema, columns, answers.labels)

    def are_few(self, matches: Matches) -> bool:
        return len(matches.keys) <= _MOST_MATCHES and len(matches.positions) <= _MOST_EVENTS

    def table(self, matches: Matches, history: History) -> pa.Table:
        few = self._few(matches, history)
        arrays = [_as_arrow(column(few), kind) for column, kind in zip(self._columns, self._types, strict=True)]
        return pa.Table.from_arrays(arrays, schema=self._schema)

    def rows(self, matches: Matches, history: History) -> list[dict[str, Any]]:
        """The rows of the table, as Python values."""
        few, names = self._few(matches, history), self._names
        columns = [_as_python(column(few), kind) for column, kind in zip(self._columns, self._types, strict=True)]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _few(self, matches: Matches, history: History) -> _Few:
        lists = matches.positions.tolist(), matches.offsets.tolist(), matches.symbols.tolist()
        return _Few(matches, history, self._labels, *lists)


def _is_narrow(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _is_narrow(kind.value_type)
    return bool(pa.types.is_primitive(kind) or pa.types.is_null(kind))


def _as_arrow(values: Values, kind: pa.DataType) -> pa.Array:
    if kind == _INTS and None not in values:  # a fifth of what Arrow takes to look at each of them
        return pa.Array.from_buffers(_INTS, len(values), [None, pa.py_buffer(np.array(values, np.int64))])
    if kind == _LISTS:
        inner = _as_arrow(list(chain.from_iterable(values)), _INTS)
        offsets = np.array([0, *accumulate(map(len, values))], np.int32)
        return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(offsets)], children=[inner])
    return pa.array(values, kind)


def _as_python(values: Values, kind: pa.DataType) -> Values:
    """What Arrow would give back."""
    if pa.types.is_float64(kind):
        return [None if value is None else float(value) for value in values]
    if kind == _LISTS:
        return values
    if pa.types.is_integer(kind) or is_text(kind) or pa.types.is_boolean(kind):
        return values
    found: Values = pa.array(values, kind).to_pylist()
    return found


def _are_plain(names: Sequence[str], stream: pa.Schema) -> bool:
    """Whether Arrow takes what Python has of these columns, and the other way round."""
    kinds = [stream.field(name).type for name in names]
    return all(plain_check(kind) is not None and not pa.types.is_dictionary(kind) for kind in kinds)


def _positions(answers: AnswerBuilder, stream: pa.Schema) -> list[Column] | None:
    """The columns of SELECT *."""
    by = answers.partition_by
    read = [*by, *([answers.time] if answers.time else []), *(answers.columns if answers.with_events else ())]
    if not _are_plain(read, stream):
        return None
    if any(pa.types.is_floating(stream.field(name).type) for name in by):
        return None  # 0.0 stands for -0.0
    columns: list[Column] = [partial(_ends, 0, name) for name in by]
    columns += [partial(_ends, 0, answers.time), partial(_ends, -1, answers.time), _marked]
    return [*columns, partial(_events, answers.columns)] if answers.with_events else columns


def _ends(end: int, name: str | None, few: _Few) -> Values:
    """Of the first event (0) of each match or of its last (-1); its position, where no column is asked for."""
    bounds = few.offsets[:-1] if end == 0 else [offset - 1 for offset in few.offsets[1:]]
    positions = [few.positions[bound] for bound in bounds]
    return positions if name is None else few.history.values(positions, name)


def _marked(few: _Few) -> Values:
    return [few.positions[begin:end] for begin, end in pairwise(few.offsets)]


def _events(names: Sequence[str], few: _Few) -> Values:
    rows = _rows(few.positions, names, few.history)
    return [rows[begin:end] for begin, end in pairwise(few.offsets)]


def _rows(positions: list[int], names: Sequence[str], history: History) -> Values:
    columns = [history.values(positions, name) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _reached(few: _Few) -> Values:
    reached = few.matches.reached
    return [None] * len(few.matches) if reached is None else [part or None for part in reached.tolist()]


def _items(answers: AnswerBuilder, stream: pa.Schema) -> list[Column] | None:
    """The columns of a SELECT of variables and their attributes."""
    columns: list[Column] = []
    for item in answers.items or ():
        column = _item(item.expr, answers, stream)
        if column is None:
            return None
        columns.append(column)
    return columns


def _item(expr: Expr, answers: AnswerBuilder, stream: pa.Schema) -> Column | None:
    if isinstance(expr, ex.Variable):
        if not _are_plain(answers.columns, stream):
            return None
        return partial(_of_variable, expr.name, answers.columns, expr.name in answers.repeated)
    if not isinstance(expr, ex.Attribute) or not _are_plain([expr.name], stream):
        return None
    return partial(_of_variable, expr.variable, expr.name, expr.variable in answers.repeated)


def _of_variable(variable: str, wanted: str | Sequence[str], repeated: bool, few: _Few) -> Values:
    """An attribute of a variable's event, or its whole row; of all of them where it is repeated."""
    groups = few.of_variable(variable)
    if not repeated:
        groups = [group[:1] for group in groups]
    every = [position for group in groups for position in group]
    values = iter(few.history.values(every, wanted) if isinstance(wanted, str) else _rows(every, wanted, few.history))
    if repeated:
        return [[next(values) for _ in group] for group in groups]
    return [next(values) if group else None for group in groups]
