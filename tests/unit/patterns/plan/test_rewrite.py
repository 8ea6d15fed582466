"""The rewriting passes one by one (golden pairs), the normal form they reach together, and their limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from ostinato.core.expressions import TRUE, Attribute, Call, Expr, Literal
from ostinato.errors import LimitError
from ostinato.patterns.plan.passes import PASSES, Pass, normalise
from ostinato.patterns.plan.rewrite import MAX_NODES, count_nodes, split_predicate
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.earlier_rounds import name_earlier
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Absent, Never, Query, Sequence
from support import paths

GOLDEN = paths.TESTS / "golden" / "rewrite"


def pairs(step: Pass) -> Iterator[tuple[str, str]]:
    before = ""
    for line in (GOLDEN / f"{step.name}.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("=> "):
            yield before, line.removeprefix("=> ")
        elif line and not line.startswith("#"):
            before = line


@pytest.mark.parametrize(
    ("step", "before", "after"),
    [pytest.param(step, *pair, id=f"{step.name}: {pair[0]}") for step in PASSES for pair in pairs(step)],
)
def test_golden(step: Pass, before: str, after: str) -> None:
    query = parse(before)
    named = replace(query, formula=name_earlier(query.formula))
    assert to_text(step.run(named).formula) == after


def final(text: str) -> Query:
    return normalise(parse(text))[-1][1]


def test_stages_are_named_after_the_passes() -> None:
    assert [name for name, _ in normalise(parse("A"))] == [step.name for step in PASSES]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("A", "A"),
        (
            "(T AS x ; H AS y) FILTER x.v > 40 AND y.v <= 25 AND x.id = 0 AND y.id = 0",
            "(T AS x FILTER x.v > 40 AND x.id = 0) ; (H AS y FILTER y.v <= 25 AND y.id = 0)",
        ),
        (
            "[H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z] FILTER x.v < 30 AND z.v > 60",
            "(H AS x FILTER x.v < 30) ; (T AS y FILTER y.id = 1)+ ; (H AS z FILTER z.v > 60)",
        ),
        # Unsafe, and a filter whose variable is bound only in the branch that stays.
        ("A AS x ; ((B AS x OR C AS c) FILTER x.v > 1)", "(A AS x FILTER x.v > 1) ; C AS c"),
        # Push-down frees a sequence, which then joins the outer one.
        ("A AS a ; ((B AS b ; C AS c) FILTER b.v > 1)", "A AS a ; (B AS b FILTER b.v > 1) ; C AS c"),
        ("(A AS a ; NOT B AS b) FILTER a.v > 1 WITHIN 1 s", "(A AS a FILTER a.v > 1) ; NOT B AS b"),
        ("(T AS x ; T AS x ; NOT B AS b) WITHIN 1 s", "NEVER"),
        ("A AS x FILTER x.v > 1 OR NULL", "A AS x FILTER x.v > 1 OR NULL"),
    ],
)
def test_all_passes(before: str, after: str) -> None:
    assert to_text(final(before).formula) == after


def test_the_rest_of_the_query_is_kept() -> None:
    query = parse("SELECT MAX x.v WHERE T AS x FILTER x.v > 1 PARTITION BY k WITHIN 3 EVENTS CONSUME BY ANY")
    rewritten = final(query.text)
    assert (rewritten.strategy, rewritten.items, rewritten.window) == (query.strategy, query.items, query.window)
    assert (rewritten.partition_by, rewritten.consume, rewritten.text) == (("k",), "ANY", query.text)


def test_a_final_not_is_never_copied_into_branches() -> None:
    formula = final("(A AS a ; B AS b ; NOT C AS c) FILTER a.v > 1 OR b.v > 2 WITHIN 1 s").formula
    assert isinstance(formula, Sequence)
    assert [isinstance(part, Absent) for part in formula.parts] == [False, True]


def v(variable: str, value: int) -> Expr:
    return Call("=", (Attribute(variable, "v"), Literal(value)))


def test_split_predicate() -> None:
    x, y, z = v("x", 1), v("y", 2), v("z", 3)
    assert split_predicate(x) == [[x]]
    assert split_predicate(Call("and", (x, y))) == [[x, y]]
    assert split_predicate(Call("or", (x, Call("and", (y, z))))) == [[x], [y, z]]
    assert split_predicate(Call("not", (Call("and", (x, y)),))) == [[Call("not", (x,))], [Call("not", (y,))]]
    assert split_predicate(Call("or", (x, TRUE))) == [[Call("or", (x, TRUE))]]
    assert split_predicate(TRUE) == [[]]
    assert split_predicate(Call("or", (x, y, TRUE))) == [[]]
    assert split_predicate(Literal(None)) == []
    joined = Call("<", (Attribute("x", "v"), Attribute("y", "v")))
    assert split_predicate(Call("and", (joined, z))) == [[joined, z]]


@pytest.mark.slow
def test_long_formulas_are_no_problem() -> None:
    """Two thousand parts, each with a filter at the top: no recursion over them, and no copies."""
    parts = " ; ".join(f"A AS x{index}" for index in range(2_000))
    tests = " AND ".join(f"x{index}.v > {index}" for index in range(2_000))
    formula = final(f"({parts}) FILTER {tests}").formula
    assert isinstance(formula, Sequence)
    assert len(formula.parts) == 2_000
    assert count_nodes(formula) == 4_001
    either = final(" OR ".join(f"(A AS x{index} FILTER x{index}.v = 1)" for index in range(2_000))).formula
    assert count_nodes(either) == 4_001


def test_deep_formulas_are_no_problem() -> None:
    text = "A AS x0"
    for index in range(1, 33):
        text = f"(({text})+ ; (B AS x{index} OR (C AS x{index} FILTER x{index}.v > 1)) FILTER x{index}.w > 0)"
    assert not isinstance(final(text).formula, Never)


def sequence(*alternatives: str, count: int) -> str:
    return " ; ".join(f"({' OR '.join(alternatives)})".replace("#", str(index)) for index in range(count))


@pytest.mark.parametrize(
    "text",
    [
        # A conjunction of n disjunctions has 2^n alternatives.
        "(A AS a ; B AS b) FILTER " + " AND ".join(f"(a.v{i} = 1 OR b.v{i} = 2)" for i in range(40)),
        # Few alternatives, but each a copy of a large formula.
        f"({sequence('A AS x#', count=300)}) FILTER {' OR '.join(f'x{i}.v = 1' for i in range(300))}",
        # Every other part shares its variable with a later one, so that branches must be chosen.
        sequence("A AS x#", "B AS y#", count=20) + " ; " + sequence("A AS x#", "B AS z#", count=20),
        # n tests from a wider scope have 2^n truth values.
        "A AS x ; " + sequence("B AS b#", "(C AS c# FILTER x.v = #)", count=40),
    ],
    ids=["split", "copies", "safe", "lift"],
)
def test_the_limit(text: str) -> None:
    with pytest.raises(LimitError) as caught:
        normalise(parse(text))
    assert caught.value.limit == "formula_nodes"
    assert caught.value.bound == MAX_NODES
