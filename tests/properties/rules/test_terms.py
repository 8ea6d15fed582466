"""Terms at random: the compiled matcher finds what the definition says, and canonical text loses nothing."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.rules.semantics.simulation import substitutions
from ostinato.rules.syntax.nodes import Bind, Element
from ostinato.rules.terms.data import Child, DataTerm, from_canonical, from_json, from_row, sort_key, to_json, value_key
from ostinato.rules.terms.document import parse_document
from ostinato.rules.terms.match import compile_term
from support.generators.terms import NESTED_SCHEMA, Row, asked, nested_element, nested_streams, pick, terms


def texts(found: list[dict[str, Child]]) -> list[list[tuple[str, str]]]:
    return sorted(sorted((name, to_json(value)) for name, value in each.items()) for each in found)


@settings(max_examples=180)
@given(asked(), st.sampled_from([None, None, "X", "W"]))
def test_the_matcher_finds_what_the_definition_says(case: tuple[Element, DataTerm], bound: str | None) -> None:
    query, data = case
    expected = substitutions(query if bound is None else Bind(bound, query), data)
    assert texts(compile_term(query, bound)(data)) == texts(expected)


@settings(max_examples=60)
@given(nested_streams(), st.data())
def test_the_matcher_on_nested_rows(rows: list[Row], data: st.DataObject) -> None:
    query, _ = nested_element(data.draw, pick(data.draw, "a", "b", "c"), "1")
    match = compile_term(query)
    for row in rows:
        term = from_row(row["type"], row)
        assert texts(match(term)) == texts(substitutions(query, term))


@settings(max_examples=30)
@given(nested_streams())
def test_rows_json_and_arrow_give_the_same_terms(rows: list[Row]) -> None:
    for row, back in zip(rows, pa.Table.from_pylist(rows, NESTED_SCHEMA).to_pylist(), strict=True):
        term = from_row(row["type"], row)
        assert from_row(back["type"], back) == term
        inner = {name: value for name, value in row.items() if name not in ("type", "begin", "end")}
        assert from_json(row["type"], inner) == term
        assert parse_document(json.dumps(inner), row["type"]) == term


_moments = st.sampled_from(
    [
        datetime(2026, 1, 1),
        date(2026, 1, 1),
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))),
        datetime(2026, 1, 1, 0, 0, 0, 1),
    ]
)
scalars: st.SearchStrategy[Any] = st.one_of(
    st.sampled_from([True, False, 0, 1, 1.0, -0.0, 0.1, Decimal("0.1"), Decimal("0.10"), Decimal("1E+2"), 100, "1"]),
    st.integers(),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False, allow_infinity=False),
    st.text(),
    st.binary(max_size=4),
    st.timedeltas(),
    st.times(),
    _moments,
)


@settings(max_examples=150)
@given(scalars, scalars)
def test_values_are_equal_just_where_their_texts_are(left: Child, right: Child) -> None:
    assert (value_key(left) == value_key(right)) == (to_json(left) == to_json(right))
    assert value_key(left) == value_key(from_canonical(to_json(left)))
    assert to_json(from_canonical(to_json(left))) == to_json(left)
    sorted([left, right, DataTerm("a", (left,)), None], key=sort_key)


@given(terms())
def test_canonical_text_keeps_terms(term: DataTerm) -> None:
    back = from_canonical(to_json(term))
    assert back == term
    assert hash(back) == hash(term)
