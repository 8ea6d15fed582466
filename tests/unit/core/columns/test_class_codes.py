"""Codes that are looked up by classes of values are those that the predicates give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.core.columns.class_codes import ClassCodes
from ostinato.core.columns.event_codes import PredicateEncoder
from ostinato.core.conditions import Condition
from ostinato.core.expressions import COMPARISONS, CURRENT, Attribute, Call, Expr, Literal

VALUES: dict[pa.DataType, list[Any]] = {
    pa.int64(): [0, 1, 2, 2**53 - 1, 2**53, 2**53 + 1, 2**62, -(2**63)],
    pa.int8(): [0, 1, 2, -128],
    pa.uint64(): [0, 1, 2, 2**53 + 1, 2**64 - 1],
    pa.float64(): [0.0, -0.0, 0.5, 1.0, 1.5, math.inf, -math.inf, math.nan, 2.0**53],
    pa.float32(): [0.0, 0.5, 1.0, math.nan],
    pa.string(): ["", "a", "b", "ä", "a longer text than sixteen bytes"],
    pa.dictionary(pa.int32(), pa.string()): ["", "a", "b"],
}
KINDS = st.sampled_from(list(VALUES))


@st.composite
def streams(draw: st.DrawFn) -> tuple[pa.Table, tuple[Condition, ...]]:
    """Rows of three columns, one of which may be the type, and conditions on them."""
    count = draw(st.integers(0, 12))
    columns: dict[str, pa.Array] = {}
    exprs: list[st.SearchStrategy[Expr]] = []
    for name in ("type", "a", "b"):
        kind = draw(KINDS) if name != "type" else draw(st.sampled_from(list(VALUES)[-2:]))
        values = st.sampled_from(VALUES[kind])
        rows = draw(st.lists(values | st.none(), min_size=count, max_size=count))
        columns[name] = pa.array(rows, kind)
        literals = values.filter(lambda value: isinstance(value, str) or math.isfinite(value)).map(Literal)
        owner = Attribute(CURRENT, name)
        texts = isinstance(VALUES[kind][0], str)
        tests = ("=", "!=") if texts else COMPARISONS
        compared = st.builds(lambda op, c, own=owner: Call(op, (own, c)), st.sampled_from(tests), literals)
        exprs.append(compared | st.just(Call("is_null", (owner,))))
    predicates = st.one_of(exprs)
    where = st.none() | predicates | st.builds(lambda p, q: Call("and", (p, Call("not", (q,)))), predicates, predicates)
    relations = st.none() | st.sampled_from(["a", "b"])
    conditions = draw(st.lists(st.builds(Condition, relations, where), min_size=1, max_size=4, unique=True))
    return pa.table(columns), tuple(conditions)


@given(streams(), st.integers(0, 5))
def test_codes_are_those_of_the_predicates(stream: tuple[pa.Table, tuple[Condition, ...]], start: int) -> None:
    rows, conditions = stream
    looked_up, evaluated = PredicateEncoder(conditions), PredicateEncoder(conditions)
    expected = evaluated._evaluate(rows, "type", None)
    assert looked_up.encode(rows, "type").tolist() == expected.tolist()
    assert looked_up.minterms == evaluated.minterms
    rest = rows.slice(start)
    assert looked_up.encode(rest, "type").tolist() == expected[start:].tolist()
    assert looked_up.relations_seen == evaluated.relations_seen


def test_comparisons_with_constants_have_classes() -> None:
    schema = pa.schema([("type", pa.string()), ("a", pa.float64())])
    compared = Call("<", (Attribute(CURRENT, "a"), Literal(5)))
    classes = ClassCodes.of(schema, [compared], "type", {"T"})
    assert classes is not None
    rows = pa.table({"type": ["T", "T", None, "T"], "a": [1.0, 2.0, math.nan, None]}, schema=schema)
    numbers = classes.numbers(rows)
    assert numbers is not None
    assert numbers[0] == numbers[1]
    assert len(set(numbers.tolist())) == 3
    assert classes.look_up(numbers) is None
    classes.learn(numbers, np.array([3, 3, 0, 1], np.int32))
    found = classes.look_up(numbers)
    assert found is not None
    assert found.tolist() == [3, 3, 0, 1]


@pytest.mark.parametrize(
    ("kind", "expr"),
    [
        (pa.float64(), Call("<", (Call("+", (Attribute(CURRENT, "a"), Literal(1))), Literal(5)))),
        (pa.string(), Call("<", (Attribute(CURRENT, "a"), Literal("b")))),
        (pa.timestamp("us"), Call("is_null", (Attribute(CURRENT, "a"),))),
        (pa.int64(), Call("=", (Attribute(CURRENT, "a"), Literal(2**53)))),
    ],
)
def test_other_predicates_are_evaluated(kind: pa.DataType, expr: Expr) -> None:
    assert ClassCodes.of(pa.schema([("a", kind)]), [expr], None, set()) is None
