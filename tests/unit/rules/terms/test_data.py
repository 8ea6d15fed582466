"""Rows and JSON as terms, equality of values, and canonical text."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from ostinato.errors import DataError
from ostinato.rules.terms.data import Child, DataTerm, from_canonical, from_json, from_row, sort_key, to_json, value_key


def test_a_row_is_a_term_of_depth_one_in_the_order_of_its_columns() -> None:
    row = {"type": "temp", "begin": 1, "sensor": "s", "value": 40.5, "area": None, "noise": float("nan"), "end": 2}
    assert to_json(from_row("temp", row)) == '{"temp":[{"sensor":["s"]},{"value":[40.5]}]}'
    assert (
        to_json(from_row("temp", row, without=("type", "sensor")))
        == '{"temp":[{"begin":[1]},{"value":[40.5]},{"end":[2]}]}'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": {"c": "x"}}, '{"d":[{"a":[1]},{"b":[{"c":["x"]}]}]}'),
        ({"a": [1, None, {"b": True}], "c": []}, '{"d":[{"a":[1]},{"a":[{"b":[true]}]}]}'),
        ({"a": [[1, 2], [[3]]]}, '{"d":[{"a":[{"item":[1]},{"item":[2]}]},{"a":[{"item":[{"item":[3]}]}]}]}'),
        ({"a": None, "b": {}, "c": {"e": None}}, '{"d":[{"b":[]},{"c":[]}]}'),
        ([1, "x"], '{"d":[{"item":[1]},{"item":["x"]}]}'),
        (40.0, '{"d":[40]}'),
        (None, '{"d":[]}'),
    ],
)
def test_json(value: object, text: str) -> None:
    term = from_json("d", value)
    assert to_json(term) == text
    assert from_canonical(text) == term


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (40, 40.0, True),
        (1, True, False),
        (0, False, False),
        (1, "1", False),
        (0.1, Decimal("0.10"), True),
        (2**53, 2.0**53, True),
        (2**53 + 1, 2.0**53, False),
        (Decimal("1E+3"), 1000, True),
        (date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), True),
        (datetime(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC), True),
        (DataTerm("a", (1,)), DataTerm("a", (1.0,)), True),
        (DataTerm("a", (1,)), DataTerm("a", (True,)), False),
        (DataTerm("a"), DataTerm("a", ("",)), False),
        (DataTerm("a"), "a", False),
    ],
)
def test_equal_values(left: Child, right: Child, equal: bool) -> None:
    assert (value_key(left) == value_key(right)) == equal
    assert (to_json(left) == to_json(right)) == equal
    assert (DataTerm("t", (left,)) == DataTerm("t", (right,))) == equal
    assert len({DataTerm("t", (left,)), DataTerm("t", (right,))}) == 2 - equal


def test_values_sort_by_kind_and_null_is_last() -> None:
    values: list[Child | None] = [None, DataTerm("a"), "b", "a", 10, 9.5, Decimal("9.7"), True, datetime(2026, 1, 1)]
    assert sorted(values, key=sort_key) == [
        True,
        9.5,
        Decimal("9.7"),
        10,
        "a",
        "b",
        datetime(2026, 1, 1),
        DataTerm("a"),
        None,
    ]


@pytest.mark.parametrize(
    "text", ["", "[1]", "null", '{"a":1}', '{"a":[],"b":[]}', '{"a":[null]}', '{"time":"x"}', "NaN"]
)
def test_what_is_not_canonical_text_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="not the canonical text"):
        from_canonical(text)


def test_depth_and_kind_are_bounded() -> None:
    deep: object = 1
    for _ in range(300):
        deep = {"a": deep}
    with pytest.raises(DataError, match="more than 200 deep"):
        from_json("a", deep)
    with pytest.raises(DataError, match="is not a value"):
        from_json("a", {"b": object()})
