"""Values of one class cannot be told apart by the conditions that the classes were made for."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.core.columns.expressions import ColumnProgram
from ostinato.core.columns.value_classes import classifier, compared_constants
from ostinato.core.expressions import COMPARISONS, CURRENT, Attribute, Call, Expr, Literal

A = Attribute(CURRENT, "a")
WHOLE = st.sampled_from([0, 1, 2, 3, 2**53 - 1, 2**53, 2**53 + 1, 2**62, -1, -(2**63)])
FLOATS = st.sampled_from([0.0, -0.0, 0.5, 1.0, 1.5, 2.0, 1e300, math.inf, -math.inf, math.nan, 2.0**53])
TEXTS = st.sampled_from(["", "a", "b", "ä", "A"])


def conditions(constants: st.SearchStrategy[Any]) -> st.SearchStrategy[Expr]:
    literals = constants.map(Literal)
    compared = st.builds(lambda op, c: Call(op, (A, c)), st.sampled_from(COMPARISONS), literals)
    mirrored = st.builds(lambda op, c: Call(op, (c, A)), st.sampled_from(COMPARISONS), literals)
    among = st.lists(literals, min_size=1, max_size=3).map(lambda found: Call("in", (A, *found)))
    simple = compared | mirrored | among | st.just(Call("is_null", (A,)))
    return simple | st.builds(lambda p, q: Call("or", (p, Call("not", (q,)))), simple, simple)


def truths(exprs: list[Expr], values: list[Any], kind: pa.DataType) -> list[tuple[Any, ...]]:
    column = pa.array(values, kind)
    found = ColumnProgram(exprs).run(lambda attribute: column)
    return list(zip(*(each.to_pylist() for each in found), strict=True))


@pytest.mark.parametrize(
    ("kind", "values", "constants"),
    [
        (pa.int64(), WHOLE, WHOLE),
        (pa.int64(), WHOLE, FLOATS.filter(math.isfinite)),
        (pa.float64(), FLOATS, WHOLE.filter(lambda found: abs(found) <= 2**53)),
        (pa.float64(), FLOATS, FLOATS.filter(math.isfinite)),
        (pa.string(), TEXTS, TEXTS),
    ],
)
@given(data=st.data())
def test_one_class_one_truth(kind: pa.DataType, values: Any, constants: Any, data: st.DataObject) -> None:
    exprs = data.draw(st.lists(conditions(constants), min_size=1, max_size=4))
    given_values = data.draw(st.lists(values | st.none(), min_size=2, max_size=12))
    classify = classifier(kind, compared_constants(exprs)["a"])
    found: dict[Any, tuple[Any, ...]] = {}
    for value, truth in zip(given_values, truths(exprs, given_values, kind), strict=True):
        assert found.setdefault(classify(value), truth) == truth


def test_values_between_two_constants_are_one_class() -> None:
    classify = classifier(pa.float64(), {10, 20})
    assert classify(10.5) == classify(19.9) != classify(20.0)
    assert len({classify(value) for value in (0.0, 10.0, 15.0, 20.0, 99.0, math.nan, None)}) == 7


def test_what_is_more_than_compared_keeps_its_values_apart() -> None:
    used = compared_constants([Call("<", (Call("+", (A, Literal(1))), Literal(5))), Call("=", (A, Literal(3)))])
    assert used == {"a": None}
    classify = classifier(pa.int64(), None)
    assert classify(1) != classify(2)
    assert classify(1) != classify(True)


def test_other_texts_are_one_class() -> None:
    classify = classifier(pa.dictionary(pa.int32(), pa.string()), {"T", "H"})
    assert classify("x") == classify("y") != classify("T") != classify("H")
