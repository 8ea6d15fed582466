"""Partition keys: equal ids exactly for equal keys, values back from ids, the same numbering after a snapshot."""

from __future__ import annotations

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.columns.keys import KeyTable
from ostinato.errors import DataError

KINDS: list[tuple[list[Any], pa.DataType]] = [
    ([1, None, -1, 1], pa.int8()),
    ([2**64 - 1, 0, None, 2**63, 0], pa.uint64()),
    ([5, 5, 7], pa.int32()),
    ([1.5, math.nan, -0.0, 0.0, None, -math.nan, 1.5], pa.float64()),
    ([1.5, math.nan, -0.0, 0.0, None], pa.float32()),
    (["a", None, "", "bb", "a", "é" * 20, "é" * 20], pa.string()),
    (["a", None, "", "bb", "a"], pa.large_string()),
    (["a", None, "", "a string beyond twelve bytes", "a"], pa.string_view()),
    ([b"a", None, b"", b"a"], pa.binary()),
    ([b"ab", None, b"cd", b"ab"], pa.binary(2)),
    ([Decimal("1.50"), None, Decimal("-2.00"), Decimal("1.50")], pa.decimal128(5, 2)),
    ([Decimal("1.50"), None, Decimal("-2.00")], pa.decimal256(50, 2)),
    ([True, None, False, True], pa.bool_()),
    ([None, None], pa.null()),
    ([datetime(2026, 1, 1), None, datetime(2026, 1, 1)], pa.timestamp("us", "Europe/Berlin")),
    ([date(2026, 1, 1), None, date(2026, 1, 2)], pa.date32()),
    (["x", None, "y", "x"], pa.dictionary(pa.int8(), pa.string())),
    ([3, None, 4, 3], pa.dictionary(pa.int8(), pa.int64())),
]


def alike(left: Any, right: Any) -> bool:
    return left == right or (left != left and right != right and left is not None)


def check(ids: Any, values: list[Any]) -> None:
    """Two ids are equal exactly when the values are."""
    for left, a in zip(ids, values, strict=True):
        for right, b in zip(ids, values, strict=True):
            assert (left == right) == alike(a, b)


@pytest.mark.parametrize(
    ("values", "kind"), KINDS, ids=lambda value: str(value) if isinstance(value, pa.DataType) else ""
)
def test_every_type(values: list[Any], kind: pa.DataType) -> None:
    column = pa.array(values, kind)
    given = column.to_pylist()
    keys = KeyTable()
    ids = keys.encode([pa.chunked_array([column])])
    check(ids, given)
    assert sorted(set(ids.tolist())) == list(range(keys.size))
    (back,) = keys.values(ids)
    assert all(alike(a, b) for a, b in zip(back.to_pylist(), given, strict=True))
    assert back.type == (kind.value_type if pa.types.is_dictionary(kind) else kind)
    # Sliced, and in several chunks, the ids are the same.
    pieces = pa.chunked_array([column.slice(1), column.slice(0, 1), column.slice(0, 0), column.slice(1, 1)])
    assert keys.encode([pieces]).tolist() == [*ids[1:], ids[0], ids[1]]
    restored = KeyTable.from_table(keys.to_table())
    assert restored.size == keys.size
    assert restored.encode([pa.chunked_array([column])]).tolist() == ids.tolist()


def test_int8_dictionary_with_more_than_128_values() -> None:
    indices = pa.array([*range(128), None], pa.int8())
    column = pa.DictionaryArray.from_arrays(indices, pa.array([str(n) for n in range(128)]))
    keys = KeyTable()
    assert len(set(keys.encode([pa.chunked_array([column])]).tolist())) == 129


def test_only_values_that_occur_are_keys() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([2, 2]), pa.array(["a", "b", "c"]))
    keys = KeyTable()
    keys.encode([pa.chunked_array([column])])
    assert keys.to_table().to_pydict() == {"key 0": ["c"]}


def test_dictionary_and_plain_chunks_agree() -> None:
    keys = KeyTable()
    plain, coded = pa.array(["a", "b", None]), pa.array(["b", None, "c"]).dictionary_encode()
    first = keys.encode([pa.chunked_array([plain])])
    assert keys.encode([pa.chunked_array([coded])]).tolist()[:2] == first.tolist()[1:]


@settings(max_examples=30, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, 0, 1, 2**40]),
            st.sampled_from([None, "", "a", "b"]),
            st.sampled_from([None, 0.0, -0.0, math.nan]),
        ),
        max_size=30,
    ),
    st.integers(0, 30),
)
def test_several_attributes(rows: list[tuple[Any, ...]], cut: int) -> None:
    kinds = [pa.int64(), pa.string(), pa.float64()]
    columns = [pa.chunked_array([pa.array([row[place] for row in rows], kind)]) for place, kind in enumerate(kinds)]
    keys = KeyTable()
    names = ["i", "s", "f"]
    ids = [
        *keys.encode([c.slice(0, cut) for c in columns], names),
        *keys.encode([c.slice(cut) for c in columns], names),
    ]
    known = {tuple("nan" if value != value else value for value in row) for row in rows}
    assert len(set(ids)) == keys.size == len(known)
    back = list(zip(*(array.to_pylist() for array in keys.values(np.array(ids, np.int64))), strict=True))
    assert all(all(map(alike, a, b)) for a, b in zip(back, rows, strict=True))
    table = keys.to_table()
    assert table.column_names == names
    assert KeyTable.from_table(table).encode(columns).tolist() == ids


def test_many_keys_grow_the_table() -> None:
    numbers = np.random.default_rng(0).permutation(np.repeat(np.arange(50_000) * 7919 - 10**8, 2))
    keys = KeyTable()
    ids = keys.encode([pa.chunked_array([pa.array(numbers)])])
    assert keys.size == 50_000
    assert (keys.values(ids)[0].to_numpy() == numbers).all()
    texts = pa.array(numbers).cast(pa.string())
    words = KeyTable()
    ids = words.encode([pa.chunked_array([texts.slice(0, 30_000), texts.slice(30_000)])])
    assert words.size == 50_000
    assert words.values(ids)[0].equals(texts)
    restored = KeyTable.from_table(words.to_table())
    assert (restored.encode([pa.chunked_array([texts])]) == ids).all()


def test_long_strings_that_differ_in_one_byte() -> None:
    texts = ["x" * place + "y" + "x" * (40 - place) for place in range(41)]
    keys = KeyTable()
    assert keys.encode([pa.chunked_array([pa.array(texts * 2)])]).tolist() == [*range(41)] * 2


def test_clashing_hashes_are_told_apart() -> None:
    """Strings whose hashes are equal must not become one key; forced here by giving a stored key another's hash."""
    keys = KeyTable()
    keys.encode([pa.chunked_array([pa.array(["a", "b"])])])
    interner = keys._columns[0].bytes
    hash_of_b = int(interner.hashed[1])
    slots = interner.slots.reshape(-1, 2)
    at = int(np.flatnonzero(slots[:, 1] == 1)[0])
    # "a" now sits where "b" should be found first, with the hash of "b"; "b" itself comes right after it.
    slots[(at + 1) % len(slots)] = [hash_of_b, 1]
    slots[at] = [hash_of_b, 0]
    assert keys.encode([pa.chunked_array([pa.array(["b"])])]).tolist() == [1]


def test_empty() -> None:
    keys = KeyTable()
    assert keys.size == 0
    assert keys.encode([pa.chunked_array([], pa.string())]).tolist() == []
    assert keys.encode([pa.chunked_array([pa.array(["a"])])]).tolist() == [0]
    fresh = KeyTable.from_table(KeyTable().to_table())
    assert fresh.size == 0


def test_nested_keys_are_refused() -> None:
    with pytest.raises(DataError, match="cannot partition by `tags`"):
        KeyTable().encode([pa.chunked_array([pa.array([[1]])])], ["tags"])
