"""Builds the table that a user gets from matches: the columns of SELECT *, or the items of a labelled SELECT."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core import expressions as ex
from ostinato.core.arrays import Int64
from ostinato.core.arrow import plain_type
from ostinato.core.columns.expressions import CastFailure, ColumnProgram
from ostinato.core.expressions import Expr
from ostinato.errors import DataError
from ostinato.patterns.runtime.aggregates import aggregate
from ostinato.patterns.runtime.history import History
from ostinato.patterns.runtime.matches import Matches
from ostinato.patterns.syntax.item_names import REACHED
from ostinato.patterns.syntax.nodes import Item


@dataclass(frozen=True)
class AnswerBuilder:
    """Turns matches into a table. `labels` are what symbols 1, 2, … stand for; `columns` are the user's columns."""

    items: tuple[Item, ...] | None
    labels: tuple[frozenset[str], ...]
    repeated: frozenset[str]  # variables under a +, and groups: lists, not single values
    partition_by: tuple[str, ...]
    time: str | None
    columns: tuple[str, ...]
    with_events: bool
    ends: tuple[str, str] | None = None  # a column of the first and one of the last event, added to each match
    reached: bool = False  # whether each row says in which part it stopped, where it is no match
    content: tuple[str, ...] | None = None  # the columns that identify events, where matches are told apart

    @property
    def needs(self) -> list[str]:
        """Columns of the input that answers are made of."""
        if self.with_events or any(isinstance(node, ex.Variable) for node in self._nodes(self._bare_items())):
            return list(self.columns)
        wanted = {
            node.name
            for node in self._nodes([item.expr for item in self.items or ()])
            if isinstance(node, ex.Attribute)
        }
        if self.items is None:
            wanted |= {*self.partition_by, *([self.time] if self.time else [])}
        wanted |= {*(self.ends or ()), *(self.content or ())}
        return [column for column in self.columns if column in wanted]

    def _bare_items(self) -> list[Expr]:
        return [item.expr for item in self.items or () if isinstance(item.expr, ex.Variable)]

    @staticmethod
    def _nodes(exprs: list[Expr]) -> list[Expr]:
        return [node for expr in exprs for node in ex.walk(expr)]

    def table(self, matches: Matches, history: History, keys: list[pa.Array]) -> pa.Table:
        """The answer; `keys` are the partition attributes of each match."""
        if self.items is None:
            table = self._positions_table(matches, history, keys)
        else:
            labelled = _Labelled(self, matches, history)
            table = pa.table({item.name: labelled.column(item.expr) for item in self.items})
        if self.reached:
            stopped = np.zeros(len(matches), np.int64) if matches.reached is None else matches.reached
            table = table.append_column(REACHED, pa.array(stopped, mask=stopped == 0))
        if self.ends is not None:  # a match that shows no event has neither
            for name, positions in zip(self.ends, (matches.first, matches.last), strict=True):
                table = table.append_column(name, history.rows(positions, [name])[name])
        return table

    def _positions_table(self, matches: Matches, history: History, keys: list[pa.Array]) -> pa.Table:
        columns = dict(zip(self.partition_by, keys, strict=True))
        first, last, narrow = matches.ends()
        for name, positions in (("start", first), ("end", last)):
            columns[name] = history.rows(positions, [self.time])[self.time] if self.time else pa.array(positions)
        offsets = pa.array(narrow)
        columns["positions"] = pa.ListArray.from_arrays(offsets, pa.array(matches.positions))
        if self.with_events:
            columns["events"] = pa.ListArray.from_arrays(
                offsets, _structs(history, matches.positions, list(self.columns))
            )
        return pa.table(columns)


@dataclass
class _Labelled:
    """The columns of one batch of labelled matches; the events of each variable are looked up once."""

    answer: AnswerBuilder
    matches: Matches
    history: History
    found: dict[str, tuple[Int64, Int64]] = field(default_factory=dict)

    def column(self, expr: Expr) -> pa.Array:
        if isinstance(expr, ex.Variable):
            return self._variable_column(expr.name)
        if ex.is_attribute(expr) and (repeated := ex.variables(expr) & self.answer.repeated):
            offsets, positions = self._events(min(repeated))
            return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), self._values(positions, expr))
        return self._scalar(expr)

    def _variable_column(self, variable: str) -> pa.Array:
        offsets, positions = self._events(variable)
        rows = _structs(self.history, positions, list(self.answer.columns))
        if variable in self.answer.repeated:
            return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), rows)
        return rows.take(_at(offsets[:-1], offsets[:-1] < offsets[1:]))

    def _scalar(self, expr: Expr) -> pa.Array:
        """Aggregates and single attributes become columns of a table with a row per match; the rest is arithmetic."""
        leaves: dict[str, pa.Array] = {}
        lifted_from: dict[str, Expr] = {}

        def lift(node: Expr) -> Expr:
            if ex.is_attribute(node):
                value = self._edge(node, last=False)
            elif not isinstance(node, ex.Call):
                return node
            elif node.op in ex.AGGREGATES:
                value = self._aggregate(node)
            else:
                return replace(node, args=tuple(map(lift, node.args)))
            name = f"leaf {len(leaves)}"
            leaves[name], lifted_from[name] = value, node
            return ex.Attribute(ex.CURRENT, name, node.span)

        lifted = lift(expr)
        if isinstance(lifted, ex.Attribute):
            return leaves[lifted.name]
        failures: list[CastFailure] = []
        try:
            (value,) = ColumnProgram([lifted]).run(lambda attribute: leaves[attribute.name], failures)
        except DataError as error:
            raise DataError(f"cannot evaluate {ex.to_text(expr)}", fix=error.fix) from None
        for failure in failures:
            place = failure.first()
            rows = [self._row(lifted_from[leaf.name], place) for leaf in ex.attributes(failure.operand)]
            raise failure.error(place, max((row for row in rows if row is not None), default=None))
        if isinstance(value, pa.Scalar):
            value = pa.repeat(value, len(self.matches))
        zones = [leaf.type.tz for leaf in leaves.values() if pa.types.is_timestamp(leaf.type) and leaf.type.tz]
        if zones and pa.types.is_timestamp(value.type):
            value = value.cast(pa.timestamp(value.type.unit, zones[0]))  # expressions work in UTC without a zone
        return value

    def _aggregate(self, call: ex.Call) -> pa.Array:
        target = call.args[0]
        (variable,) = ex.variables(target)
        offsets, positions = self._events(variable)
        if isinstance(target, ex.Variable):
            return pa.array(np.diff(offsets))
        if ex.is_attribute(target) and call.op in ("first", "last"):
            return self._edge(target, last=call.op == "last")
        if ex.is_attribute(target) and call.op in ("min", "max"):
            values = self._values(positions, target)  # of their own type, which may have a zone
            values = values.cast(plain_type(values.type))
        else:
            failures: list[CastFailure] = []
            (values,) = ColumnProgram([ex.rename_to_current(target)]).run(
                lambda attribute: self._values(positions, attribute), failures
            )
            for failure in failures:
                raise failure.error(failure.first(), int(positions[failure.first()]))
        return aggregate(call, values, offsets)

    def _row(self, value: Expr, match: int) -> int | None:
        """The event that a value of this match is of; of an aggregate of many, the last of them."""
        (variable,) = ex.variables(value)
        offsets, positions = self._events(variable)
        first, end = int(offsets[match]), int(offsets[match + 1])
        of_first = isinstance(value, ex.Call) and value.op == "first"
        return None if first == end else int(positions[first if of_first else end - 1])

    def _edge(self, attribute: Expr, *, last: bool) -> pa.Array:
        """The attribute of the first or last event of a variable; null where the variable is unbound."""
        (variable,) = ex.variables(attribute)
        offsets, positions = self._events(variable)
        values = self._values(positions, attribute)
        return values.take(_at(offsets[1:] - 1 if last else offsets[:-1], offsets[:-1] < offsets[1:]))

    def _events(self, variable: str) -> tuple[Int64, Int64]:
        if variable not in self.found:
            labels = enumerate(self.answer.labels, start=1)
            self.found[variable] = self.matches.of_symbols([number for number, label in labels if variable in label])
        return self.found[variable]

    def _values(self, positions: Int64, attribute: Expr) -> pa.Array:
        """The values of `x.a`, or of `x.a.b.c`, in their own type."""
        column, *fields = ex.attribute_path(attribute)
        values = _flat(_rows(self.history, positions, [column])[column])
        return pc.struct_field(values, fields) if fields and not pa.types.is_null(values.type) else values


def cast_answer(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Cast the answer to the types that the query's columns had from the start."""
    return pa.table(
        [_fitted(values, field) for values, field in zip(table.itercolumns(), schema, strict=True)], schema=schema
    )


def _fitted(values: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    try:
        return values.cast(field.type)
    except pa.ArrowInvalid:
        reason = f"a value of `{field.name}` is too large for its column, which holds {field.type}"
        raise DataError(reason, fix="calculate with floats, such as 1.0 * x.attr") from None


def _structs(history: History, positions: Int64, columns: list[str]) -> pa.StructArray:
    rows = _rows(history, positions, columns)
    return pa.StructArray.from_arrays([_flat(rows[name]) for name in columns], fields=list(rows.schema))


def _rows(history: History, positions: Int64, columns: list[str]) -> pa.Table:
    try:
        return history.rows(positions, columns)
    except pa.ArrowNotImplementedError as error:
        raise DataError(f"cannot show {', '.join(columns)}: {error}", fix="convert it to a plain type") from None


def _flat(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _at(places: Int64, present: npt.NDArray[np.bool_]) -> pa.Array:
    """Indices for `take` that give null where nothing is present."""
    return pa.array(np.where(present, places, 0), mask=~present)
