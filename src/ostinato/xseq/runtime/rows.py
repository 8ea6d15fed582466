"""Matches as columns, and what becomes of them: groups, order, rows without any value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ostinato.documents.tokens import Names, Tokens
from ostinato.errors import Limit, LimitError, Message
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.texts import TextSlices
from ostinato.xseq.walk.program import AnswerColumn, AnswerKind, WalkProgram

PIECE = 1 << 25  # bytes of texts that are copied at a time, unless one row has more
_STRINGS = 1 << 31  # from so many bytes on Arrow cannot put strings together


@dataclass(frozen=True)
class MatchRows:
    """Some matches, one row each, with the operand of every column (texts or doubles), not yet aggregated."""

    columns: list[Any]  # each an Arrow array, or Texts
    key: pa.Array | None  # the partition of each match, where the query aggregates over all of them
    last: NDArray[np.int64]  # where in the document the last bound node is: its number among all tokens
    bound: list[pa.Array] = field(default_factory=list)  # what else orders rows, where they do not come in order

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns)

    def take(self, places: NDArray[np.int64]) -> MatchRows:
        picked = pa.array(places)
        columns = [each.take(places) if isinstance(each, TextSlices) else each.take(picked) for each in self.columns]
        key = self.key.take(picked) if self.key is not None else None
        return MatchRows(columns, key, self.last[places], [array.take(picked) for array in self.bound])

    def copy_texts(self) -> MatchRows:
        """With all texts copied; together they must be less than 2 GiB."""
        columns = [each.array() if isinstance(each, TextSlices) else each for each in self.columns]
        return MatchRows(columns, self.key, self.last, self.bound)

    def pieces(self) -> Iterator[MatchRows]:
        """With texts copied, so many rows at a time that their texts are no more than PIECE bytes."""
        texts = [column for column in self.columns if isinstance(column, TextSlices)]
        if sum(column.nbytes for column in texts) <= PIECE:
            yield self.copy_texts()
            return
        ends = np.cumsum(np.sum([column.size for column in texts], axis=0))
        cuts = [0]
        while cuts[-1] < len(ends):
            full = PIECE + (int(ends[cuts[-1] - 1]) if cuts[-1] else 0)
            cuts.append(max(cuts[-1] + 1, int(np.searchsorted(ends, full, side="right"))))
        for low, high in pairwise(cuts):
            yield self._slice(low, high).copy_texts()

    def _slice(self, low: int, high: int) -> MatchRows:
        cut = slice(low, high)
        columns = [each.take(cut) if isinstance(each, TextSlices) else each[cut] for each in self.columns]
        key = self.key[cut] if self.key is not None else None
        return MatchRows(columns, key, self.last[cut], [array[cut] for array in self.bound])


class Evaluator(Protocol):
    """Turns tokens into rows."""

    def push(self, tokens: Tokens, names: Names) -> list[MatchRows]:
        """The matches that are certain now; to be used before the next tokens are read."""

    def finish(self) -> list[MatchRows]:
        """The matches that are certain because the document is over."""

    @property
    def is_small(self) -> bool:
        """Whether to keep it for the next document."""

    def shift(self, by: int) -> None:
        """What was kept of the last buffer stands `by` bytes further to the front now."""

    @property
    def keep_from(self) -> int:
        """From where on the bytes of the last buffer are still needed (the `keep_from` of the next read)."""


def answer_schema(program: WalkProgram) -> pa.Schema:
    return pa.schema([pa.field(column.name, _type(column)) for column in program.columns])


def _type(column: AnswerColumn) -> pa.DataType:
    return {"": pa.string(), "int64": pa.int64(), "double": pa.float64()}[column.number]


def drop_empty_rows(table: pa.Table) -> pa.Table:
    """The rows that have a value in some column."""
    if not any(column.null_count for column in table.columns):
        return table
    some = None
    for column in table.columns:
        valid = pc.is_valid(column)
        some = valid if some is None else pc.or_(some, valid)
    return table.filter(some)


class MatchGroups:
    """Aggregates over all matches, kept up as rows come in: one group per partition and values of the other columns."""

    def __init__(self, program: WalkProgram, most: int) -> None:
        self.columns = program.columns
        self.size, self.most = 0, most  # bytes of the texts that make up the keys of groups
        self.found: dict[tuple[Any, ...], list[list[float]]] = {}
        self.first: dict[tuple[Any, ...], int] = {}  # where the first match of each group ends

    def add(self, rows: MatchRows) -> None:
        plain = [rows.columns[n].to_pylist() for n, column in enumerate(self.columns) if column.over_all is None]
        folded = [(n, column) for n, column in enumerate(self.columns) if column.over_all is not None]
        values = [self._values(rows.columns[n], column) for n, column in folded]
        keys = rows.key.to_pylist() if rows.key is not None else [None] * len(rows.last)
        for place, key in enumerate(keys):
            group = (key, *(column[place] for column in plain))
            state = self.found.get(group)
            if state is None:
                self.size += sum(len(text) for text in group if isinstance(text, str))
                if self.size > self.most:
                    raise answer_too_large(self.most)
                state = self.found[group] = [[0.0, 0.0, np.inf, -np.inf] for _ in folded]
            self.first[group] = min(int(rows.last[place]), self.first.get(group, 1 << 62))
            for held, column in zip(state, values, strict=True):
                value = column[place]
                if value is not None:
                    held[0] += 1
                    held[1] += value
                    held[2] = min(held[2], value)
                    held[3] = max(held[3], value)

    @staticmethod
    def _values(array: pa.Array, column: AnswerColumn) -> list[float | None]:
        if column.over_all == "count":
            return [1.0 if valid else None for valid in array.is_valid().to_pylist()]
        if pa.types.is_string(array.type):
            return [text_to_number(text) for text in array.to_pylist()]
        return array.to_pylist()  # type: ignore[no-any-return]

    def table(self, schema: pa.Schema) -> pa.Table:
        out: list[list[Any]] = [[] for _ in self.columns]
        for group in sorted(self.found, key=lambda group: self.first[group]):
            plain, folded = iter(group[1:]), iter(self.found[group])
            for column, values in zip(self.columns, out, strict=True):
                values.append(next(plain) if column.over_all is None else _aggregate(column.over_all, next(folded)))
        return pa.table([pa.array(values, kind.type) for values, kind in zip(out, schema, strict=True)], schema=schema)


def _aggregate(function: str, state: list[float]) -> float | int | None:
    count, total, least, most = state
    if function == "count":
        return int(count)
    if not count:
        return None
    return {"sum": total, "avg": total / count, "min": least, "max": most}[function]


def text_to_number(text: str | None) -> float | None:
    """What a text reads as, where it reads as a number."""
    from ostinato.xseq.kernels.values import read_number

    if text is None:
        return None
    data = np.frombuffer(text.encode(), np.uint8)
    known, value = read_number(data, 0, len(data))
    return value if known else None


def answer_too_large(most: int) -> LimitError:
    return LimitError(
        "answer_bytes",
        most,
        reason="the answer has too many bytes to be held in memory as a whole",
        fix=Message(
            "return less of each match (an attribute instead of an element), take the answer in batches, or raise ",
            Limit("answer_bytes", "XSeqLimits"),
        ),
    )


def assemble_tables(
    program: WalkProgram, blocks: Iterable[MatchRows], limits: XSeqLimits, *, sort: bool, whole: bool
) -> Iterator[pa.Table]:
    """Tables out of rows; with `sort` in the order that the language states, else as they come, about PIECE bytes each.

    With `whole` the caller holds all of them, so there is a limit on their bytes together.
    """
    schema = answer_schema(program)
    if program.answer is AnswerKind.GROUPS:
        groups = MatchGroups(program, limits.answer_bytes)
        for rows in blocks:
            for piece in rows.pieces():
                groups.add(piece)
        yield drop_empty_rows(groups.table(schema))
        return
    held: list[pa.Table] = []
    order: list[pa.Table] = []
    size = 0
    if sort:
        blocks = map(_sort, blocks)
    for piece in (piece for rows in blocks if len(rows.last) for piece in rows.pieces()):
        arrays = [array.cast(kind.type) for array, kind in zip(piece.columns, schema, strict=True)]
        table = pa.table(arrays, schema=schema)
        size += table.nbytes
        if (whole or sort) and size > limits.answer_bytes:
            raise answer_too_large(limits.answer_bytes)
        if sort:
            held.append(table)
            order.append(pa.table([piece.last, *piece.bound], names=[str(n) for n in range(1 + len(piece.bound))]))
        else:
            yield drop_empty_rows(table)
    if held:
        yield from map(drop_empty_rows, _in_order(pa.concat_tables(held), pa.concat_tables(order), size))


def _sort(rows: MatchRows) -> MatchRows:
    """In document order, as far as the last node tells: texts that are not copied yet are cheap to move."""
    return rows if rows.bound or _ascending(rows.last) else rows.take(np.argsort(rows.last, kind="stable"))


def _ascending(numbers: NDArray[np.int64]) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())


def _in_order(table: pa.Table, keys: pa.Table, size: int) -> Iterator[pa.Table]:
    """The rows in the order of `keys`; in several tables, where the strings of one would be too many bytes."""
    if keys.num_columns == 1 and _ascending(keys.column(0).to_numpy()):
        yield table
        return
    places = pc.sort_indices(keys, [(name, "ascending") for name in keys.column_names])
    if size < _STRINGS:
        yield table.take(places)
        return
    wide = pa.schema(
        field.with_type(pa.large_string()) if pa.types.is_string(field.type) else field for field in table.schema
    )
    todo = [table.cast(wide).take(places)]
    while todo:
        part = todo.pop()
        if part.nbytes < _STRINGS or part.num_rows == 1:
            yield part.cast(table.schema)
        else:
            half = part.num_rows // 2
            todo += [part.slice(half), part.slice(0, half)]
