"""Codes of events: which conditions hold, whatever the columns are made of."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.columns import event_codes
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.conditions import Condition
from ostinato.core.expressions import Attribute, Call, Expr, Literal

V = Attribute("~", "v")
W = Attribute("~", "w")


def when(op: str, attribute: Attribute, value: Any) -> Call:
    return Call(op, (attribute, Literal(value)))


def truths(
    conditions: tuple[Condition, ...], table: pa.Table, type_column: str | None = "type", **kwargs: Any
) -> list[tuple[bool, ...]]:
    encoder = PredicateEncoder(conditions, **kwargs)
    codes = encoder.encode(table, type_column)
    assert codes.dtype == np.int32
    assert len(codes) == table.num_rows
    assert set(codes.tolist()) <= set(range(encoder.size))
    return [encoder.truth(code) for code in codes]


NAMES = [
    "",
    "A",
    "B",
    "AB",
    "BA",
    "Temperature",
    "Temperaturf",
    "exactly8",
    "exactly9!",
    "sixteen-bytes-xx",
    "seventeen-bytes-x",
    "seventeen-bytes-y",
    "Zähler",
    "a rather long name of an event type, middle A",
    "a rather long name of an event type, middle B",
]


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int64(), pa.large_string()),
    ],
)
@pytest.mark.parametrize("known", [NAMES, NAMES[::2], ["A"], NAMES[-2:], []])
def test_types(kind: pa.DataType, known: list[str]) -> None:
    seen = [*NAMES, None, "unknown", "A ", "a rather long name of an event type, Middle A"] * 3
    table = pa.table({"type": pa.array(seen).cast(kind) if pa.types.is_dictionary(kind) else pa.array(seen, kind)})
    expected = [tuple(name == value for name in known) for value in seen]
    conditions = tuple(Condition(name) for name in known)
    assert truths(conditions, table) == expected
    assert truths(conditions, table.slice(5, 30)) == expected[5:35]
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1, 0), table.slice(1, 20), table.slice(21)])
    assert truths(conditions, chunked) == expected


def test_chunks_with_dictionaries_of_their_own() -> None:
    chunks = [pa.array(values).dictionary_encode() for values in (["A", "B"], ["B", None, "A"], ["C"])]
    table = pa.table({"type": pa.chunked_array(chunks)})
    assert truths((Condition("A"), Condition("B")), table) == [
        (v == "A", v == "B") for v in ["A", "B", "B", None, "A", "C"]
    ]


def test_type_that_is_not_text() -> None:
    table = pa.table({"type": [1, 2, None]})
    assert truths((Condition("1"),), table) == [(True,), (False,), (False,)]
    assert truths((Condition("A"),), pa.table({"type": pa.nulls(2)})) == [(False,), (False,)]


def test_without_type_column_all_events_are_of_one_relation() -> None:
    table = pa.table({"v": [1, 5]})
    conditions = (Condition("S", when(">", V, 2)), Condition("T"), Condition("S"), Condition(None))
    assert truths(conditions, table, None, relation="S") == [(False, False, True, True), (True, False, True, True)]
    assert truths(conditions, table, None) == [(False, False, False, True)] * 2
    assert truths((Condition("S"),), table, None, relation="S") == [(True,), (True,)]


def test_predicates_pass_only_on_true() -> None:
    table = pa.table({"type": ["A", "A", "A", "B"], "v": [1.0, None, math.nan, 5.0]})
    above, below = when(">", V, 0), when("<=", V, 0)
    conditions = (
        Condition("A", above),
        Condition(None, below),
        Condition(None, Call("not", (above,))),
        Condition(None, Call("not", (Call("is_true", (above,)),))),
        Condition("A", Call("and", (above, when("<", V, 9)))),
    )
    assert truths(conditions, table) == [
        (True, False, False, False, True),
        (False, False, False, True, False),
        (False, False, True, True, False),
        (False, False, False, False, False),
    ]


def test_constant_predicates() -> None:
    table = pa.table({"v": [1, 2]})
    conditions = (
        Condition(None, Literal(True)),
        Condition(None, Literal(False)),
        Condition(None, Literal(None)),
        Condition(None, when("=", V, None)),
    )
    assert truths(conditions, table, None) == [(True, False, False, False)] * 2


def test_dictionary_columns_are_tested_by_value() -> None:
    values = ["on", None, "off", "on", "odd"]
    chunks = [pa.array(values[:3]).dictionary_encode(), pa.array(values[3:]).dictionary_encode()]
    table = pa.table({"v": pa.chunked_array(chunks), "w": [1, 2, 3, 4, 5]})
    both = Call("or", (when("=", V, "off"), when("=", W, 1)))
    conditions = (
        Condition(None, when("like", V, "o%")),
        Condition(None, Call("is_null", (V,))),
        Condition(None, both),
        Condition(None, when("=", V, "on")),
    )
    expected = [
        (True, False, True, True),
        (False, True, False, False),
        (True, False, True, False),
        (True, False, False, True),
        (True, False, False, False),
    ]
    assert truths(conditions, table, None) == expected


def test_sliced_boolean_column() -> None:
    flags = [True, False, None, True, True, False, True, None, True, True, False]
    table = pa.table({"v": flags}).slice(3)
    assert truths((Condition(None, V),), table, None) == [(flag is True,) for flag in flags[3:]]


def test_no_conditions_and_no_rows() -> None:
    assert truths((), pa.table({"v": [1, 2]}), None) == [(), ()]
    assert (
        truths(
            (Condition("A", when(">", V, 1)),),
            pa.table({"type": pa.array([], pa.string()), "v": pa.array([], pa.int64())}),
        )
        == []
    )


def test_codes_are_given_once_for_each_combination() -> None:
    encoder = PredicateEncoder((Condition("A"), Condition("B"), Condition(None)))
    codes = encoder.encode(pa.table({"type": ["A", "C", "A", "D", "B"]}), "type")
    assert encoder.size == 3
    assert codes[0] == codes[2] != codes[1] == codes[3]
    again = encoder.encode(pa.table({"type": ["B", "A"]}), "type")
    assert (again[0], again[1]) == (codes[4], codes[0])


@pytest.mark.parametrize("count", [3, 40, 75])
def test_numbering_can_be_restored(count: int) -> None:
    conditions = tuple(Condition(None, when("<", V, bound)) for bound in range(count))
    first = PredicateEncoder(conditions)
    codes = first.encode(pa.table({"v": [count // 2, 0, count]}), None)
    restored = PredicateEncoder(conditions, minterms=first.minterms)
    assert restored.minterms == first.minterms
    assert (
        restored.encode(pa.table({"v": [count, 1, count // 2, 0]}), None)[[0, 2, 3]].tolist()
        == codes[[2, 0, 1]].tolist()
    )
    assert [restored.truth(code) for code in range(first.size)] == [first.truth(code) for code in range(first.size)]


@pytest.mark.parametrize("count", [1, 12, 17, 30, 31, 61, 100])
def test_any_number_of_conditions(count: int) -> None:
    rng = np.random.default_rng(count)
    values, types = rng.integers(0, count + 1, 200), rng.choice(["A", "B", "C"], 200)
    conditions = tuple(Condition("A" if bound % 2 else None, when("<", V, bound)) for bound in range(count))
    expected = [
        tuple((kind == "A" or not bound % 2) and value < bound for bound in range(count))
        for value, kind in zip(values, types, strict=True)
    ]
    assert truths(conditions, pa.table({"type": types, "v": values})) == expected


def test_tables_longer_than_a_slice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_codes, "SLICE", 64)
    rng = np.random.default_rng(1)
    values, types = rng.integers(0, 9, 1000), rng.choice(["A", "B"], 1000)
    table = pa.table({"type": types, "v": values})
    expected = [(kind == "A", bool(value > 4)) for value, kind in zip(values, types, strict=True)]
    conditions = (Condition("A"), Condition(None, when(">", V, 4)))
    assert truths(conditions, table) == expected
    assert truths(conditions, pa.concat_tables([table.slice(start, 3) for start in range(0, 1000, 3)])) == expected


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["A", "B", "C", None]), st.sampled_from([None, 1, 2, 3])), max_size=12),
    st.lists(
        st.tuples(st.sampled_from(["A", "B", None]), st.sampled_from(["=", "<", "!="]), st.sampled_from([1, 2])),
        max_size=5,
    ),
    st.integers(0, 12),
)
def test_any_split_into_batches_gives_the_same_truths(events: list[Any], tests: list[Any], cut: int) -> None:
    conditions = tuple(dict.fromkeys(Condition(relation, when(op, V, value)) for relation, op, value in tests))
    table = pa.table(
        {"type": pa.array([kind for kind, _ in events], pa.string()), "v": pa.array([v for _, v in events], pa.int64())}
    )
    encoder = PredicateEncoder(conditions)
    codes = [*encoder.encode(table.slice(0, cut), "type"), *encoder.encode(table.slice(cut), "type")]
    assert [encoder.truth(code) for code in codes] == [
        tuple(holds(c, kind, v) for c in conditions) for kind, v in events
    ]


def holds(condition: Condition, kind: str | None, v: int | None) -> bool:
    where: Expr | None = condition.where
    assert isinstance(where, Call)
    bound = where.args[1]
    assert isinstance(bound, Literal) and isinstance(bound.value, int)
    if v is None or condition.relation not in (None, kind):
        return False
    return {"=": v == bound.value, "<": v < bound.value, "!=": v != bound.value}[where.op]
