"""Which variables a query has, and which of them may be bound more than once."""

from __future__ import annotations

import pytest

from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.parse import parse
from ostinato.xseq.syntax.variables import (
    definitions,
    endless_variables,
    every_operand,
    repeating_variables,
    variables,
    yields,
)


def test_variables_in_the_order_of_the_path() -> None:
    assert variables(parse("return $Y@a from //$X[/$Z] /$Y")) == ("X", "Z", "Y")


@pytest.mark.parametrize(
    ("query", "repeating"),
    [
        ("return $X@a from //$X/$Y", set()),
        ("return $X@a from //$X (/$Y)*", {"Y"}),
        ("return $X@a from //$X/$X", {"X"}),
        ("return $X@a from // ($Z: $X $Y $Z)", {"X", "Y"}),
        ("return $X@a from // ($Z: $X $Y)", set()),
        ("return $X@a from // ($Z: $X $Y) $Z", {"X", "Y"}),
    ],
)
def test_what_repeats(query: str, repeating: set[str]) -> None:
    assert repeating_variables(parse(query)) == repeating


def test_definitions_that_call_each_other() -> None:
    defined = definitions(parse("return $X@a from ($Z: /$X ($W: /b $W))"))
    assert yields(defined) == {"Z": {"W"}, "W": {"W"}}
    assert endless_variables({name: define.body for name, define in defined.items()}) == {"Z", "W"}


def test_operands_of_every_clause() -> None:
    query = parse("return $X@a + 1 from //$X[@b = 2] where $X@c > 3")
    constants = {operand.value for operand in every_operand(query) if isinstance(operand, n.Constant)}
    assert constants == {1, 2, 3}
