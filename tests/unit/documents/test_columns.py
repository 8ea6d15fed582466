"""Documents in Arrow columns, and what format a document has."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from ostinato.documents.columns import column_documents, holds_json
from ostinato.documents.json.tokeniser import JsonSource
from ostinato.errors import DataError
from support import json_reference as reference

TEXTS = ["<a/>", None, "", "é{}", "x" * 100]
KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()]


def rows(column: pa.Array | pa.ChunkedArray) -> list[tuple[int, bytes]]:
    return [(row, document.tobytes()) for row, document in column_documents(column)]


def values(column: pa.Array | pa.ChunkedArray) -> list[Any]:
    return [json.loads(text, parse_float=str) for _, text in rows(column)]


@pytest.mark.parametrize("kind", [*KINDS, pa.dictionary(pa.int8(), pa.string()), pa.json_()])
def test_text_and_bytes(kind: pa.DataType) -> None:
    plain = [None if text is None else text.encode() for text in TEXTS]
    binary = kind in KINDS[3:]
    storage = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    column = pa.array(plain if binary else TEXTS, storage)
    if storage != kind:
        column = pa.ExtensionArray.from_storage(kind, column)
    expected = [(row, text) for row, text in enumerate(plain) if text is not None]
    assert rows(column) == expected
    assert rows(column[3:]) == [(row - 3, text) for row, text in expected if row >= 3]
    assert rows(pa.chunked_array([column[:2], column[2:2], column[2:]])) == expected
    assert not holds_json(kind)


def test_text_is_not_copied() -> None:
    column = pa.array(["<a/>", "<b/>"])
    low = column.buffers()[2].address
    places = [document.__array_interface__["data"][0] for _, document in column_documents(column)]
    assert places == [low, low + 4]


def test_rows_can_be_read() -> None:
    column = pa.array(['{"a":1}', '{"a":', '{"a":2}'])
    found = []
    for row, document in column_documents(column):
        try:
            found.append((row, len(reference.drain(JsonSource(document, lines=False))[0])))
        except DataError:
            found.append((row, -1))
    assert found == [(0, 3), (1, -1), (2, 3)]


def test_structs_lists_and_maps() -> None:
    kind = pa.struct(
        [("n", pa.int64()), ("t", pa.string()), ("l", pa.list_(pa.struct([("x", pa.float64())]))), ("b", pa.bool_())]
    )
    given: list[Any] = [{"n": 2**63 - 1, "t": 'q"\\\né\x01', "l": [{"x": 0.1}, None], "b": True}, None]
    given += [{"n": None, "t": "", "l": [], "b": None}]
    column = pa.array(given, kind)
    assert holds_json(kind)
    assert [row for row, _ in column_documents(column)] == [0, 2]
    assert values(column) == [{**given[0], "l": [{"x": "0.1"}, None]}, given[2]]
    assert values(column[2:]) == [given[2]]
    assert [row for row, _ in column_documents(pa.chunked_array([column, column]))] == [0, 2, 3, 5]
    assert values(pa.array([[1, None], []], pa.list_(pa.int8()))) == [[1, None], []]
    assert values(pa.array([[[1], []]], pa.large_list(pa.list_(pa.int8(), -1)))) == [[[1], []]]
    assert values(pa.array([[("k", 1), ("l", None)]], pa.map_(pa.string(), pa.int64()))) == [{"k": 1, "l": None}]


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        (Decimal("12345678901234567890123456.789"), pa.decimal128(38, 3), "12345678901234567890123456.789"),
        (Decimal("1234567890123456.78"), pa.decimal128(18, 2), "1234567890123456.78"),
        (Decimal("0.07"), pa.decimal128(5, 2), "0.07"),
        (2**64 - 1, pa.uint64(), "18446744073709551615"),
        (dt.datetime(2024, 1, 2, 3, 4, 5, 678901), pa.timestamp("us"), '"2024-01-02 03:04:05.678901"'),
        (1704164645678901234, pa.timestamp("ns"), '"2024-01-02 03:04:05.678901234"'),
        (dt.datetime(2024, 7, 2, 3, 4, 5), pa.timestamp("us", "Europe/Berlin"), '"2024-07-02 03:04:05+00"'),
        (dt.date(2024, 1, 2), pa.date32(), '"2024-01-02"'),
        (dt.time(1, 2, 3, 4), pa.time64("us"), '"01:02:03.000004"'),
        (1e300, pa.float64(), "1e300"),
        (5e-324, pa.float64(), "5e-324"),
        (None, pa.decimal128(5, 2), "null"),
    ],
)
def test_values_are_written_faithfully(value: Any, kind: pa.DataType, written: str) -> None:
    column = pa.array([{"a": value}], pa.struct([("a", kind)]))
    assert rows(column) == [(0, b'{"a":%s}' % written.encode())]


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (pa.struct([("a", pa.struct([("b", pa.binary())]))]), r"`a\.b` in the column: type binary"),
        (pa.list_(pa.float16()), r"`\[\]` in the column: type halffloat"),
        (pa.map_(pa.string(), pa.decimal256(60, 2)), r"`value` in the column: type decimal256"),
        (pa.struct([("a", pa.duration("s"))]), "type duration"),
        (pa.struct([("", pa.int8())]), "a field without a name"),
        (pa.int64(), "a column of type int64 holds no documents"),
    ],
)
def test_what_cannot_be_written_is_refused(kind: pa.DataType, said: str) -> None:
    with pytest.raises(DataError, match=said):
        rows(pa.nulls(1, kind))


def test_not_a_number_is_an_error_of_its_row() -> None:
    column = pa.array([{"a": 1.0}, {"a": float("nan")}], pa.struct([("a", pa.float64())]))
    good, bad = (document for _, document in column_documents(column))
    assert reference.drain(JsonSource(good, lines=False))[0][1] == ("attr", "a", "1.0")
    with pytest.raises(DataError, match="line 1, column 6: a value is expected, found `N`"):
        reference.drain(JsonSource(bad, lines=False))


def test_a_key_that_comes_twice_in_a_map() -> None:
    with pytest.raises(DataError, match="cannot be written as JSON"):
        rows(pa.array([[("a", 1), ("a", 2)]], pa.map_(pa.string(), pa.int64())))


# --- formats
