"""Documents in the rows of an Arrow column, and what format a document has.

Text and binary columns hold documents as they are. Structs, lists and maps become JSON text first, so that everything
goes through one tokeniser. DuckDB writes that text: decimals and integers with every digit (decimals of up to 15 digits
without trailing zeros), float32 with the digits of its value as a float64, dates and times as ISO text, times with a
zone in UTC. What it cannot write faithfully is refused here; NaN and infinity, which JSON does not have, are an error
of their row.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core.arrow import byte_runs, is_bytes, is_text, plain_type
from ostinato.documents import compressed as packed
from ostinato.documents.read import ByteReader, ByteSource, open_source, to_utf8
from ostinato.errors import DataError, Message, Option

Format = Literal["xml", "json", "jsonl"]
DocumentBytes = npt.NDArray[np.uint8]

_EXTENSIONS: dict[str, Format] = {".xml": "xml", ".json": "json", ".jsonl": "jsonl", ".ndjson": "jsonl"}
_HEAD = 1 << 20  # bytes that are looked at to tell JSON from JSON lines
_BATCH = 1 << 14  # rows that are written as JSON at a time
_BLANKS = b" \t\r\n"


def column_documents(column: pa.Array | pa.ChunkedArray) -> Iterator[tuple[int, DocumentBytes]]:
    """The number and the document of every row that has one; the bytes are Arrow's own."""
    row = 0
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
        for piece in _written(chunk):
            for at, document in _rows(piece):
                yield row + at, document
            row += len(piece)


def holds_json(kind: pa.DataType) -> bool:
    """Whether the rows of such a column become JSON text: structs, lists and maps."""
    return bool(pa.types.is_nested(_storage(kind)))


def may_hold_documents(kind: pa.DataType) -> bool:
    plain = plain_type(_storage(kind))
    return is_text(plain) or is_bytes(plain) or bool(pa.types.is_nested(plain))


def _rows(chunk: pa.Array) -> Iterator[tuple[int, DocumentBytes]]:
    ends, data = byte_runs(chunk)
    valid = chunk.is_valid().to_numpy(zero_copy_only=False) if chunk.null_count else None
    for row in range(len(chunk)):
        if valid is None or valid[row]:
            yield row, data[ends[row] : ends[row + 1]]


def _storage(kind: pa.DataType) -> pa.DataType:
    return kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind


def _written(chunk: pa.Array) -> Iterator[pa.Array]:
    """The same rows as arrays of text or bytes."""
    if isinstance(chunk, pa.ExtensionArray):
        chunk = chunk.storage
    kind = plain_type(chunk.type)
    if is_text(kind) or is_bytes(kind):
        yield chunk.dictionary_decode() if isinstance(chunk, pa.DictionaryArray) else chunk
    elif pa.types.is_nested(kind):
        _check(kind, "")
        yield from _as_json(chunk)
    else:
        raise DataError(
            f"a column of type {chunk.type} holds no documents",
            fix="give a column of text or bytes with XML or JSON in it, or of structs, lists or maps",
        )


def _check(kind: pa.DataType, path: str) -> None:
    """Refuse what DuckDB would not write as it is."""
    kind = plain_type(kind)
    if pa.types.is_struct(kind) or pa.types.is_union(kind):
        for field in (kind.field(at) for at in range(kind.num_fields)):
            if not field.name or pa.types.is_union(kind):
                raise _unfaithful(path, "a field without a name" if pa.types.is_struct(kind) else f"type {kind}")
            _check(field.type, f"{path}.{field.name}")
    elif pa.types.is_map(kind):
        _check(kind.key_type, f"{path}.key")
        _check(kind.item_type, f"{path}.value")
    elif pa.types.is_nested(kind):
        _check(kind.value_type, f"{path}[]")
    elif (
        is_bytes(kind)
        or pa.types.is_fixed_size_binary(kind)
        or pa.types.is_float16(kind)
        or pa.types.is_decimal256(kind)
        or pa.types.is_duration(kind)
        or pa.types.is_interval(kind)
        or isinstance(kind, pa.BaseExtensionType)
    ):
        raise _unfaithful(path, f"type {kind}")


def _unfaithful(path: str, what: str) -> DataError:
    where = f"`{path.removeprefix('.')}` in the column" if path else "the column"
    return DataError(
        f"{where}: {what} cannot be written as JSON without loss", fix="cast it to text or to a plain number"
    )


def _as_json(chunk: pa.Array) -> Iterator[pa.Array]:
    import duckdb  # it takes a while to load, and few columns need it

    with duckdb.connect(":memory:", config={"threads": 1}) as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", pa.table({"value": chunk}))
        try:
            batches = connection.sql("SELECT to_json(value) AS value FROM rows").to_arrow_reader(_BATCH)
            for batch in batches:
                yield batch.column(0)
        except duckdb.Error as error:
            reason = str(error).split("\n", 1)[0]
            raise DataError(f"the column cannot be written as JSON: {reason}") from error


def guess_format(source: ByteSource, name: str | None = None) -> Format:
    """Whether a document is XML, JSON or JSON lines: by its extension if it is a file, else by how it begins.

    `name` is what errors call it. Of an open file as much is read as it takes.
    """
    if isinstance(source, str | os.PathLike):
        found = _of_name(os.fspath(source))
        if found is not None:
            return found
    elif isinstance(source, np.ndarray) and (found := _of_row(source)) is not None:
        return found
    raw, name = open_source(source, name)
    try:
        return _of_head(to_utf8(raw, None, name), name)
    finally:
        raw.close()


def _of_name(path: str) -> Format | None:
    name, extension = os.path.splitext(path.lower())
    return _EXTENSIONS.get(os.path.splitext(name)[1] if extension in packed.EXTENSIONS else extension)


def _of_row(document: DocumentBytes) -> Format | None:
    """What most documents of columns are seen to be at once: these may be many."""
    first = document[0] if document.size else 0
    if first == ord("<"):
        return "xml"
    one_line = first in (ord("{"), ord("[")) and document.size <= _HEAD and not (document[:-1] == ord("\n")).any()
    return "json" if one_line else None


def _of_head(reader: ByteReader, name: str | None) -> Format:
    """By how a document begins: no more of it is read than needed, as more of a pipe may come much later."""
    head, room = b"", np.empty(min(_HEAD, (reader.size or _HEAD) + 1), np.uint8)
    while len(head) < _HEAD and (got := reader.into(room)):
        head = (head + room[:got].tobytes()).lstrip(_BLANKS)
        if head.startswith(b"<"):
            return "xml"
        if head.partition(b"\n")[2].strip(_BLANKS):
            break
    if not head:
        raise DataError("the document is empty", source=name, fix="leave it out, or look at what wrote it")
    if head[:1] not in b'{["-0123456789tfn':
        reason = f"the document begins with {head[:8]!r}, which neither XML nor JSON does"
        raise DataError(
            reason,
            source=name,
            fix=Message("if it is JSON all the same, say so to see what is wrong: ", Option("format", "json")),
        )
    line, _, rest = head.partition(b"\n")
    return "jsonl" if rest.strip(_BLANKS) and _is_json(line) else "json"


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True
