"""JSON lines: one object per line. Text that is a time throughout becomes a timestamp, in UTC.

It has a zone where some text has one.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as arrow_json

from ostinato.core.arrays import Int64
from ostinato.errors import DataError
from ostinato.files.source import BadRow
from ostinato.files.text import (
    WHOLE,
    Block,
    TextSource,
    UnreadableRow,
    find_undecodable,
    find_unfit,
    finer_timestamp,
    too_large_for_floats,
)

DEEPEST = 64  # levels of objects and lists
_ZONE = r"(Z|[+-]\d\d:?\d\d)$"
_ZONED = re.compile(rb'(Z|[+-]\d\d:?\d\d)"')
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"')
_NO_OBJECT = re.compile(rb"(?m)^(?!\A\xef\xbb\xbf)[ \t\r]*[^\s{]")  # the file may begin with a byte order mark
_BRACKET = re.compile(rb"[][{}]")


class JsonLinesSource(TextSource):
    def begin(self, head: bytes) -> None:
        if head.lstrip().startswith(b"["):
            raise DataError(
                "the file is one JSON array",
                source=str(self.path),
                fix="write one JSON object per line, for example with jq -c '.[]'",
            )

    def split(self, data: bytes, *, last: bool) -> tuple[int, list[UnreadableRow]]:
        end = len(data) if last else data.rfind(b"\n") + 1
        whole = data[:end]
        ends = np.append(np.flatnonzero(np.frombuffer(whole, np.uint8) == ord("\n")) + 1, end)
        found = [*_no_objects(whole, ends), *_too_deep(whole, ends), *find_undecodable(whole, ends.tolist())]
        spoilt = {row.start: row for row in found}
        return end, [spoilt[start] for start in sorted(spoilt)]

    def scan(self, block: Block, columns: list[str] | None) -> pa.Schema:
        return self._scan(block.data, columns)

    def _scan(self, data: bytes, columns: list[str] | None) -> pa.Schema:
        """Types of some lines; where lines contradict each other, halves are scanned apart and the first one counts."""
        try:
            table = _parse(data, None)
        except pa.ArrowInvalid:
            lines = data.splitlines(keepends=True)
            if len(lines) < 2:
                return pa.schema([])
            halves = b"".join(lines[: len(lines) // 2]), b"".join(lines[len(lines) // 2 :])
            return self._merge(*(self._scan(half, columns) for half in halves))
        wanted = [name for name in table.column_names if columns is None or name in columns]
        types = {name: _time_type(table[name]) for name in wanted}
        for name in wanted:
            if pa.types.is_timestamp(table.schema.field(name).type) and _ZONED.search(data):
                # Arrow takes text of whole seconds for times itself, and forgets their zones.
                texts = _parse(data, pa.schema([(name, pa.string())]))[name]
                types[name] = pa.timestamp(types[name].unit, _zone(texts))
            if too_large_for_floats(table[name]) and _fits(data, pa.schema([(name, WHOLE)])):
                types[name] = WHOLE
        return pa.schema(list(types.items()))

    def widen(self, left: pa.DataType, right: pa.DataType) -> pa.DataType:
        types = pa.types
        if types.is_timestamp(left) and types.is_timestamp(right):
            return finer_timestamp(left, right)
        if WHOLE in (left, right) and pa.float64() in (left, right):
            return pa.float64()
        if {types.is_timestamp(left), types.is_timestamp(right)} == {True, False} and pa.string() in (left, right):
            return pa.string()
        try:
            both = [pa.schema([("", left)]), pa.schema([("", right)])]
            return pa.unify_schemas(both, promote_options="permissive").field(0).type
        except (pa.ArrowInvalid, pa.ArrowTypeError):
            return left

    def read(self, block: Block, schema: pa.Schema) -> tuple[pa.Table, list[BadRow]]:
        try:
            return _convert(block.data, schema), []
        except pa.ArrowInvalid:
            lines = block.data.splitlines(keepends=True)
        places = find_unfit(lines, lambda part: _convert(b"".join(part), schema))
        bad = [
            BadRow(str(self.path), block.first_line + place, _decode_line(lines[place]), _reason(lines[place], schema))
            for place in places
        ]
        for place in places:
            lines[place] = b"\n"
        return _convert(b"".join(lines), schema), bad


def _no_objects(data: bytes, ends: Int64) -> list[UnreadableRow]:
    """Lines that do not begin with an object: Arrow takes some for objects without values, and crashes on others."""
    found: list[UnreadableRow] = []
    for begin in _NO_OBJECT.finditer(data):
        line = int(np.searchsorted(ends, begin.end() - 1, side="right"))
        start = int(ends[line - 1]) if line else 0
        found.append(UnreadableRow(start, start, int(ends[line]), "not a JSON object"))
    return found


def _too_deep(data: bytes, ends: Int64) -> list[UnreadableRow]:
    """Lines nested deeper than DEEPEST, which recursive parsers may not survive."""
    if data.count(b"{") + data.count(b"[") <= DEEPEST:
        return []
    # Among the brackets of a line that may be too deep, two of these follow each other; `{` is `[` with one bit more.
    some = np.flatnonzero((np.frombuffer(data, np.uint8) | 0x20) == ord("{"))[:: DEEPEST // 2]
    lines = np.searchsorted(ends, some, side="right")
    found: list[UnreadableRow] = []
    for line in np.unique(lines[1:][lines[1:] == lines[:-1]]).tolist():
        start, end = int(ends[line - 1]) if line else 0, int(ends[line])
        depth = 0
        for bracket in _BRACKET.finditer(_STRING.sub(b"", data[start:end])):
            depth += 1 if bracket[0] in b"{[" else -1
            if depth > DEEPEST:
                found.append(UnreadableRow(start, start, end, f"nested more than {DEEPEST} deep"))
                break
    return found


def _decode_line(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r\n")


def _reason(line: bytes, schema: pa.Schema) -> str:
    try:
        _convert(line, schema)
    except pa.ArrowInvalid as error:
        return re.sub(r"^JSON parse error: |\.? in row \d+$", "", str(error).splitlines()[0]).rstrip(".")
    return "does not fit the other lines"


def _parse(data: bytes, schema: pa.Schema | None) -> pa.Table:
    if not data.strip():
        return (schema or pa.schema([])).empty_table()
    options = arrow_json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    return arrow_json.read_json(
        pa.BufferReader(data), read_options=arrow_json.ReadOptions(block_size=len(data) + 1), parse_options=options
    )


def _fits(data: bytes, schema: pa.Schema) -> bool:
    try:
        _parse(data, schema)
        return True
    except pa.ArrowInvalid:
        return False


def _convert(data: bytes, schema: pa.Schema) -> pa.Table:
    """Times are read as text first: Arrow's JSON reader reads only whole seconds."""
    as_text = pa.schema(
        [(field.name, pa.string() if pa.types.is_timestamp(field.type) else field.type) for field in schema]
    )
    table = _parse(data, as_text if as_text.names else None)
    for place, field in enumerate(schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(place, field, _moments(table[field.name], field.type))
    return table


def _time_type(column: pa.ChunkedArray) -> pa.DataType:
    if not pa.types.is_string(column.type):
        return column.type
    for unit in ("us", "ns"):
        try:
            _moments(column[:1], pa.timestamp("ns"))  # for most text, the first value already shows that it is no time
            _moments(column, pa.timestamp(unit))
        except pa.ArrowInvalid:
            continue
        return pa.timestamp(unit, _zone(column))
    return column.type


def _zone(texts: pa.ChunkedArray) -> str | None:
    return "UTC" if pc.any(pc.match_substring_regex(texts, _ZONE)).as_py() else None


def _moments(texts: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Text as times: with a zone they are brought to UTC, without one they are in UTC."""
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        zoned = pc.match_substring_regex(texts, _ZONE)
        plain = pc.if_else(zoned, pa.scalar(None, pa.string()), texts).cast(pa.timestamp(kind.unit))
        moved = pc.if_else(zoned, texts, pa.scalar(None, pa.string())).cast(pa.timestamp(kind.unit, "UTC"))
        return pc.coalesce(plain.cast(kind), moved.cast(kind))
