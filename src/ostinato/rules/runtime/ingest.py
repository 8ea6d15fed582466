"""Rows as incoming events: the roles of their columns, and the matching of terms that SQL cannot do."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from ostinato.core.events import DEFAULT_TYPE
from ostinato.errors import DataError, Message, Option, did_you_mean
from ostinato.rules.relational.kinds import DOCUMENT, REF, TERM, Attributes, Kind, logical_type
from ostinato.rules.relational.match_plan import MatchPlan, compile_match
from ostinato.rules.relational.sql_names import ColumnNames
from ostinato.rules.runtime.map_columns import check_maps, has_map, maps_to_dicts
from ostinato.rules.runtime.times import DEFAULT_TIME_TYPE, TimeColumns
from ostinato.rules.terms.data import Child, DataTerm, from_canonical, from_row, to_json
from ostinato.rules.terms.document import parse_document

LABEL = "#label"


@dataclass(frozen=True)
class IncomingColumns:
    """The roles of the columns of incoming events. `document` holds a whole event, as JSON or XML text."""

    times: TimeColumns
    type: str | None
    document: str | None
    attributes: Attributes
    label: str | None = None  # of all events, where there is no column for it

    @classmethod
    def resolve(
        cls,
        schema: pa.Schema,
        *,
        labels: Sequence[str],
        begin: str | None = None,
        end: str | None = None,
        time: str | None = None,
        type: str | None = None,
        document: str | None = None,
        default_time: pa.DataType = DEFAULT_TIME_TYPE,
    ) -> IncomingColumns:
        times = TimeColumns.resolve(schema, begin=begin, end=end, time=time, default=default_time)
        for option, name in (("type", type), ("document", document)):
            if name is not None and name not in schema.names:
                raise DataError(
                    Message(Option(option, None), f" is `{name}`, but there is no such column"),
                    fix=did_you_mean(name, schema.names),
                    option=option,
                )
        if type is None and DEFAULT_TYPE in schema.names:
            type = DEFAULT_TYPE
        if type is not None:
            _check_label_type(type, logical_type(schema.field(type).type))
        if document is not None:
            only = labels[0] if type is None and len(labels) == 1 else None
            return cls(times, type, document, Attributes({DOCUMENT: TERM}, {DOCUMENT: "c0"}), only)
        if type is None and len(labels) > 1:
            raise DataError(
                f"the rules use the event types {', '.join(sorted(labels))}, but there is no column `{DEFAULT_TYPE}`",
                fix=Message("name the column that tells them apart with ", Option("type")),
            )
        others = [name for name in schema.names if name not in (times.begin, times.end, type)]
        attributes = Attributes.of({name: logical_type(schema.field(name).type) for name in others})
        for name, kind in attributes.types.items():
            check_maps(name, kind)
        return cls(times, type, None, attributes, None if type is not None else next(iter(labels), None))

    def read(self, rows: pa.Table, *, first_row: int = 0) -> pa.Table:
        """Rows as events: #label, begin, end in ticks, and the attributes under the names of their columns."""
        begins, ends = self.times.ticks(rows, first_row=first_row)
        columns: dict[str, Any] = {LABEL: self.labels(rows), "begin": pa.array(begins), "end": pa.array(ends)}
        for name in self.attributes.types:
            columns[self.attributes.columns[name]] = self.attribute(rows, name)
        if self.document is None:
            return pa.table(columns)
        return self._documents(pa.table(columns), first_row)

    def attribute(self, rows: pa.Table, name: str) -> pa.ChunkedArray:
        """A column of values, as rules read them."""
        kind, column = self.attributes.types[name], rows[self.document or name]
        wanted = pa.string() if kind is TERM else kind
        return column if column.type == wanted else column.cast(wanted)

    def labels(self, rows: pa.Table) -> Any:
        if self.type is not None:
            labels = rows[self.type]
            return labels if pa.types.is_string(labels.type) else labels.cast(pa.string())
        return pa.array([self.label] * len(rows), pa.string())

    def _documents(self, events: pa.Table, first_row: int) -> pa.Table:
        """Texts as canonical terms; an XML document says its label itself."""
        place = self.attributes.columns[DOCUMENT]
        terms: list[DataTerm] = []
        for row, (label, text) in enumerate(zip(events[LABEL].to_pylist(), events[place].to_pylist(), strict=True)):
            try:
                terms.append(_check_label(parse_document(text or "", label or "")))
            except DataError as error:
                raise error.replace(row=first_row + row) from None
        events = events.set_column(0, LABEL, pa.array([term.label for term in terms], pa.string()))
        texts = pa.array([to_json(term) for term in terms], pa.string())
        return events.set_column(events.column_names.index(place), place, texts)


def _check_label_type(name: str, kind: pa.DataType) -> None:
    if not (pa.types.is_string(kind) or pa.types.is_null(kind)):
        raise DataError(
            f"`{name}` should say what kind of event each row is, and holds {kind}",
            fix=Message("cast it to text, or name the column of labels with ", Option("type")),
        )


def _check_label(term: DataTerm) -> DataTerm:
    if not term.label:
        reason = "a JSON document does not say what kind of event it is"
        raise DataError(reason, fix=Message("name the column that does with ", Option("type")))
    return term


class TermMatcher:
    """Q^X over a stream whose events are nested: rows in, a row for each substitution out."""

    def __init__(self, found: MatchPlan, attributes: Attributes, names: ColumnNames) -> None:
        self.found, self.attributes, self.names = found, attributes, names
        self.match = compile_match(found.match)
        self.read = term_reader(found.match.term.label, attributes.types, attributes.columns, untag)

    @property
    def schema(self) -> pa.Schema:
        match, kinds = self.found.match, self.found.kinds
        times = [(self.names.time(match.ident, side), pa.int64()) for side in ("begin", "end")]
        data = [(self.names.variable(name), _storage_type(kinds[name])) for name in match.schema.data]
        return pa.schema([*times, *data, (self.names.time(match.ident, REF), pa.string())])

    def __call__(self, events: pa.Table) -> pa.Table:
        """`events` have begin, end and the attributes of the stream."""
        match = self.found.match
        out: list[tuple[Any, ...]] = []
        for row in events.to_pylist():
            term = self.read(row)
            found = self.match(term)
            if not found:
                continue
            reference = event_digest(row["begin"], row["end"], term)
            for each in found:
                data = tuple(self._value(each.get(name), self.found.kinds[name]) for name in match.schema.data)
                out.append((row["begin"], row["end"], *data, reference))
        columns = list(zip(*out, strict=True)) if out else [()] * len(self.schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, self.schema, strict=True)]
        return pa.table(arrays, schema=self.schema)

    def _value(self, value: Child | None, kind: Kind) -> Any:
        if value is None or kind is not TERM:
            return value
        return tag(value)


def tag(value: Child) -> str:
    """A value as a TERM (relational.kinds)."""
    return f'"{value}' if isinstance(value, str) else to_json(value)


def untag(text: str) -> Child:
    return text[1:] if text.startswith('"') else from_canonical(text)


def event_digest(begin: int, end: int, term: DataTerm) -> str:
    return hashlib.blake2b(f"{begin} {end} {to_json(term)}".encode(), digest_size=16).hexdigest()


def term_reader(
    label: str, types: Mapping[str, Kind], columns: Mapping[str, str], content: Callable[[Any], Child]
) -> Callable[[Mapping[str, Any]], DataTerm]:
    """From a row to its term: a document, where it is one, else what its attributes say.

    `types` and `columns` are those of the attributes; `content` makes what a row has for one of type TERM its content.
    """
    document = columns.get(DOCUMENT)
    attributes = {name: kind for name, kind in types.items() if name != DOCUMENT}
    mapped = {name for name, kind in attributes.items() if kind is not TERM and has_map(kind)}

    def read(row: Mapping[str, Any]) -> DataTerm:
        if document is not None and row[document] is not None:
            term = from_canonical(row[document])
            assert isinstance(term, DataTerm)
            return term
        children: list[Child] = []
        for name, kind in attributes.items():
            value = row[columns[name]]
            if name in mapped:
                value = maps_to_dicts(value, kind)
            if isinstance(value, DataTerm) or (kind is TERM and value is not None):
                children.append(DataTerm(name, (content(value),)))
            else:
                children.extend(from_row(label, {name: value}, without=()).children)
        return DataTerm(label, tuple(children))

    return read


def _storage_type(kind: Kind) -> pa.DataType:
    return pa.string() if kind is TERM else kind
