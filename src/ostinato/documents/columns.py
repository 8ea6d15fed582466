"""Documents in the rows of an Arrow column.

Text and binary columns hold documents as they are. Structs, lists and maps become JSON text first, so that everything
goes through one tokeniser. DuckDB writes that text: decimals and integers with every digit (decimals of up to 15 digits
without trailing zeros), float32 with the digits of its value as a float64, dates and times as ISO text, times with a
zone in UTC. What it cannot write faithfully is refused here; NaN and infinity, which JSON does not have, are an error
of their row.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ostinato.core import database
from ostinato.core.arrow import byte_runs, is_bytes, is_text, plain_type
from ostinato.errors import DataError

DocumentBytes = npt.NDArray[np.uint8]

_BATCH = 1 << 14  # rows that are written as JSON at a time


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

    with database.connect(threads=1) as connection:
        connection.register("rows", pa.table({"value": chunk}))
        try:
            batches = connection.sql("SELECT to_json(value) AS value FROM rows").to_arrow_reader(_BATCH)
            for batch in batches:
                yield batch.column(0)
        except duckdb.Error as error:
            reason = str(error).split("\n", 1)[0]
            raise DataError(f"the column cannot be written as JSON: {reason}") from error
