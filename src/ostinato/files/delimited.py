"""CSV files, with a header line; the separator is the one the header uses."""

from __future__ import annotations

import csv
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from ostinato.core.text.counts import format_count
from ostinato.errors import DataError
from ostinato.files import text
from ostinato.files.csv_rows import find_rows
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

_NULLS = ["", "NULL", "null", "N/A", "n/a", "#N/A"]
_BOM = "\ufeff"


class CsvSource(TextSource):
    names: list[str]
    separator = ","

    def begin(self, head: bytes) -> None:
        header = head.partition(b"\n")[0].decode("utf-8", "replace").removeprefix(_BOM).removesuffix("\r")
        self.names = []
        if not head.removeprefix(_BOM.encode()).strip():
            return  # an empty file needs no header
        if not header.strip():
            raise DataError(
                "the file has no header line", source=str(self.path), fix="name the columns in the first line"
            )
        self.separator = max((",", ";", "\t"), key=header.count)
        if find_rows(header.encode(), self.separator, complete=True).unclosed:
            raise DataError(
                "a quote in the header line is never closed",
                source=f"{self.path}, line 1",
                fix="close it; column names cannot span lines",
            )
        try:
            self.names = [name.strip() for name in next(csv.reader([header], delimiter=self.separator))]
        except csv.Error as error:
            raise DataError(
                f"the header cannot be read: {error}",
                source=f"{self.path}, line 1",
                fix="end lines with \\n or \\r\\n; a lone \\r is the line end of old systems",
            ) from None
        twice = [name for place, name in enumerate(self.names) if name in self.names[:place]]
        if twice:
            raise DataError(
                f"two columns are named `{twice[0]}`", source=str(self.path), fix="rename one of them in the header"
            )

    def split(self, data: bytes, *, last: bool) -> tuple[int, list[UnreadableRow]]:
        """A row with an unclosed quote ends with the line of that quote: what follows is not part of the value."""
        found = find_rows(data, self.separator, complete=last or len(data) > text.LONGEST_ROW)
        end = len(data) if last else int(found.ends[-1]) if len(found.ends) else 0
        spoilt = [
            UnreadableRow(*row, "a quote opens here that nothing closes") for row in found.unclosed if row.end <= end
        ]
        return end, spoilt

    def scan(self, block: Block, columns: list[str] | None) -> pa.Schema:
        wanted = [name for name in self.names if columns is None or name in columns]
        if not wanted:
            return pa.schema([])
        table = self._parse(block, wanted, {}, [])
        found = table.schema
        for place, name in enumerate(wanted):
            if too_large_for_floats(table[name]) and self._are_whole(block, name):
                found = found.set(place, pa.field(name, WHOLE))
        # `read` reports bytes that are not UTF-8, with their place; a time of day is kept as it is written.
        text = [pa.types.is_time(field.type) or pa.types.is_binary(field.type) for field in found]
        return pa.schema(
            [(field.name, pa.string() if as_text else field.type) for field, as_text in zip(found, text, strict=True)]
        )

    def _are_whole(self, block: Block, name: str) -> bool:
        """Whether a column holds whole numbers only, none of them too long for WHOLE."""
        texts = self._parse(block, [name], {name: pa.string()}, [])[name].drop_null()
        return bool(pc.all(pc.match_substring_regex(texts, rf"^\s*[+-]?\d{{1,{WHOLE.precision}}}\s*$")).as_py())

    def widen(self, left: pa.DataType, right: pa.DataType) -> pa.DataType:
        """Two types that have nothing else in common become text, which any value can be read as."""
        if left == right or pa.types.is_null(right):
            return left
        if pa.types.is_null(left):
            return right
        types = pa.types
        numbers = [pa.int64(), WHOLE, pa.float64()]
        if left in numbers and right in numbers:
            return max(left, right, key=numbers.index)
        if types.is_timestamp(left) and types.is_timestamp(right) and left.tz == right.tz:
            return finer_timestamp(left, right)
        if (types.is_date(left) and types.is_timestamp(right)) or (types.is_timestamp(left) and types.is_date(right)):
            moment = left if types.is_timestamp(left) else right
            return moment if moment.tz is None else pa.string()
        return pa.string()

    def read(self, block: Block, schema: pa.Schema) -> tuple[pa.Table, list[BadRow]]:
        types = {field.name: field.type for field in schema}
        odd: list[arrow_csv.InvalidRow] = []
        try:
            table = self._parse(block, schema.names, types, odd)
            if not odd:
                return table, []
        except pa.ArrowInvalid:
            pass
        ends = [*find_rows(block.data, self.separator, complete=True).ends.tolist(), len(block.data)]
        decodable = self.blank_out(block.data, block.first_line, block.bytes_read, find_undecodable(block.data, ends))
        table, bad = self._read_with_care(decodable, schema)
        return table, [*decodable.bad, *bad]

    def _read_with_care(self, block: Block, schema: pa.Schema) -> tuple[pa.Table, list[BadRow]]:
        """Read all values as text first to find the bad rows; slow, so only for blocks that have some."""
        odd: list[arrow_csv.InvalidRow] = []
        texts = self._parse(block, schema.names, dict.fromkeys(self.names, pa.string()), odd, threads=False)
        every = self._rows(block)
        bad: dict[int, BadRow] = {}  # by row
        at = 0
        for row in odd:  # they come in order, so each search starts after the last one
            shown = row.text.rstrip("\r\n")
            at = next((place for place in range(at, len(every)) if every[place][1] == shown), at)
            reason = f"expected {format_count(row.expected_columns, 'value')}, got {row.actual_columns}"
            bad[at] = self._bad(every[at], reason)
            at += 1
        whole = [place for place in range(len(every)) if place not in bad]
        wrong: set[int] = set()
        for number, field in enumerate(schema):
            column = texts[field.name].combine_chunks()
            if pa.types.is_string(field.type):
                continue
            column = pc.utf8_trim_whitespace(column) if not pa.types.is_null(field.type) else pa.nulls(len(column))
            texts = texts.set_column(number, field.name, column)
            for place in find_unfit(column, partial(_cast, kind=field.type)):
                reason = f"`{field.name}` is {column[place].as_py()!r}, not {_describe_type(field.type)}"
                bad.setdefault(whole[place], self._bad(every[whole[place]], reason))
                wrong.add(place)
        if wrong:
            texts = texts.take(pa.array([place for place in range(texts.num_rows) if place not in wrong], pa.int64()))
        return texts.cast(schema) if schema.names else texts, [bad[place] for place in sorted(bad)]

    def _rows(self, block: Block) -> list[tuple[int, str]]:
        """The line and the text of every row that is not blank, without the header."""
        found: list[tuple[int, str]] = []
        start, line = 0, block.first_line
        for end in [*find_rows(block.data, self.separator, complete=True).ends.tolist(), len(block.data)]:
            shown = block.data[start:end].rstrip(b"\r\n")
            if shown and (line > 1 or not self._header_lines(block)):
                found.append((line, shown.decode("utf-8", "replace")))
            line += block.data.count(b"\n", start, end)
            start = end
        return found

    def _header_lines(self, block: Block) -> int:
        return 1 if block.first_line == 1 else 0

    def _bad(self, row: tuple[int, str], reason: str) -> BadRow:
        return BadRow(str(self.path), *row, reason)

    def _parse(
        self,
        block: Block,
        columns: list[str],
        types: dict[str, pa.DataType],
        odd: list[arrow_csv.InvalidRow],
        *,
        threads: bool = True,
    ) -> pa.Table:
        def skip(row: arrow_csv.InvalidRow) -> str:
            odd.append(row)
            return "skip"

        start = block.data.find(b"\n") + 1 or len(block.data) if self._header_lines(block) else 0
        if not block.data[start:].strip(b"\r\n"):
            return pa.schema([(name, types.get(name, pa.null())) for name in columns]).empty_table()
        return arrow_csv.read_csv(
            pa.BufferReader(block.data),
            read_options=arrow_csv.ReadOptions(
                column_names=self.names,
                skip_rows=self._header_lines(block),
                use_threads=threads,
                block_size=len(block.data) + 1,  # in one piece: a row may be longer than Arrow's blocks
            ),
            parse_options=arrow_csv.ParseOptions(
                delimiter=self.separator, newlines_in_values=b'"' in block.data, invalid_row_handler=skip
            ),
            convert_options=arrow_csv.ConvertOptions(
                column_types=types,
                include_columns=columns,
                null_values=_NULLS,
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )


def _cast(column: pa.Array, kind: pa.DataType) -> pa.Array:
    return column.cast(kind)


def _describe_type(kind: pa.DataType) -> str:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "a number"
    return f"a {kind}"
