"""Which of a few names each value of a column is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.columns.name_matcher import NameMatcher

NAMES = ["T", "H", "Temperature", "sixteen bytes ok", "seventeen bytes!!", "Wärme", ""]
KINDS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


def matched(matcher: NameMatcher, column: pa.Array) -> list[int]:
    out = np.full(len(column), -1, np.int32)
    matcher.match(column, out)
    found: list[int] = out.tolist()
    return found


def expected(values: list[str | None], names: list[str]) -> list[int]:
    return [names.index(value) + 1 if value in names else 0 for value in values]


@pytest.mark.parametrize("kind", KINDS)
def test_names_of_every_length(kind: pa.DataType) -> None:
    values = [*NAMES, None, "t", "Temperaturf", "seventeen bytes!?", "Temperature ", *NAMES[::-1]]
    column = pa.array(values, pa.string()).cast(kind)
    matcher = NameMatcher(NAMES)
    assert matched(matcher, column) == expected(values, NAMES)
    assert matched(matcher, column[3:9]) == expected(values[3:9], NAMES)


def test_another_dictionary_is_looked_up_anew() -> None:
    matcher = NameMatcher(["a", "b"])
    for values in (["a", "b"], ["b", "a"], ["c", "b"]):
        assert matched(matcher, pa.array(values).dictionary_encode()) == expected(list(values), ["a", "b"])


def test_types_may_be_numbers() -> None:
    assert matched(NameMatcher(["7", "8"]), pa.array([8, None, 7, 9])) == [2, 0, 1, 0]


WORDS = st.text("ab\u00e4", max_size=18)


@settings(max_examples=200, deadline=None)
@given(st.lists(WORDS, unique=True, min_size=1, max_size=6), st.lists(st.none() | WORDS, max_size=30))
def test_any_names(names: list[str], values: list[str | None]) -> None:
    assert matched(NameMatcher(names), pa.array(values, pa.string())) == expected(values, names)
