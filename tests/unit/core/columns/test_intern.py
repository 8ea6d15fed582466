"""Dense ids for distinct values."""

from __future__ import annotations

from itertools import cycle

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.arrow import byte_runs, validity
from ostinato.core.columns.intern import IntegerInterner
from ostinato.core.columns.intern_bytes import ByteStringInterner


def first_seen(values: list[object]) -> list[int]:
    known: dict[object, int] = {}
    return [known.setdefault(value, len(known)) for value in values]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), max_size=20), max_size=4))
def test_integers_are_numbered_in_order_of_first_appearance(batches: list[list[int]]) -> None:
    interner = IntegerInterner()
    found = [interner.encode(np.array(batch, np.int64)).tolist() for batch in batches]
    flat = [value for batch in batches for value in batch]
    assert [number for batch in found for number in batch] == first_seen(list(flat))
    assert interner.size == len(set(flat))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.lists(st.none() | st.text(max_size=20) | st.sampled_from("ab"), max_size=20), max_size=4))
def test_texts_are_numbered_likewise_and_null_is_one_of_them(batches: list[list[str | None]]) -> None:
    interner = ByteStringInterner()
    found: list[int] = []
    for batch, kind in zip(batches, cycle([pa.string(), pa.large_string()]), strict=False):
        column = pa.array(batch, kind)
        found += interner.encode(*byte_runs(column), validity(column)).tolist()
    flat = [value for batch in batches for value in batch]
    assert found == first_seen(list(flat))
    ids = np.array(found, np.int32)
    valid = interner.valid(ids)
    assert valid is None or valid.tolist() == [value is not None for value in flat]
    assert (valid is None) == (None not in flat)


def test_tables_grow() -> None:
    many = np.arange(20_000, dtype=np.int64) * 2**40
    interner = IntegerInterner()
    assert interner.encode(many).tolist() == list(range(20_000))
    assert interner.encode(many[::-1].copy()).tolist() == list(range(20_000))[::-1]
    texts = pa.array([f"{number}" * 5 for number in range(5_000)])
    strings = ByteStringInterner()
    for _ in range(2):
        assert strings.encode(*byte_runs(texts), validity(texts)).tolist() == list(range(5_000))
