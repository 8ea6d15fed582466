"""Random XSeq queries: their text says what they are, and no text at all makes the parser stumble."""

from __future__ import annotations

import random
from functools import cache

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import operand_text, query_text
from ostinato.xseq.syntax.normal_form import normalise
from ostinato.xseq.syntax.parse import parse
from ostinato.xseq.syntax.variables import repeating_variables, variables
from support.xseq_paper import ALL

NAMES = ("a", "b", "Größe", "beta-strand", "x.y", "ns:a", "date-2", "a-last", "node", "doc", "by")
WORDS = ("from", "text", "Return", "and", "div", "not", "last", "COUNT", "union", "child:a")  # names after an axis only
VARIABLES = ("X", "Y", "from", "text")
PATH_VARIABLES = ("P", "Q")

names = st.sampled_from((*NAMES, *WORDS))
axes = st.sampled_from(n.Axis)
plain_tests = st.builds(n.NodeTest, st.just(n.Kind.NAME), st.sampled_from(NAMES))
tests = st.one_of(
    st.builds(n.NodeTest, st.just(n.Kind.NAME), names),
    st.sampled_from([n.NodeTest(n.Kind.ANY), n.NodeTest(n.Kind.NODE), n.NodeTest(n.Kind.TEXT)]),
)
numbers = st.one_of(
    st.integers(0, 2**63 - 2), st.floats(0, allow_infinity=False, allow_nan=False), st.sampled_from([0.5, 1e300, 1e-9])
)
constants = st.builds(n.Constant, st.one_of(numbers, st.text(max_size=4), st.sampled_from(["it's", '"', "(: x :)"])))
variable_names = st.sampled_from(VARIABLES)


@st.composite
def references(draw: st.DrawFn) -> n.Reference:
    alias = draw(st.sampled_from(n.Alias))
    leaf = draw(st.sampled_from(n.Leaf))
    step_axes = st.sampled_from([axis for axis in n.Axis if axis not in (n.Axis.ATTRIBUTE, n.Axis.SELF)])
    return n.Reference(
        draw(variable_names),
        alias,
        draw(st.none() if alias == n.Alias.PLAIN else st.sampled_from((None, "P"))),
        tuple(draw(st.lists(st.tuples(step_axes, names), max_size=2))),
        leaf,
        draw(names) if leaf == n.Leaf.ATTRIBUTE else "",
    )


@cache
def operands(depth: int, inside: bool) -> st.SearchStrategy[n.Operand]:
    leaves: list[st.SearchStrategy[n.Operand]] = [constants, references()]
    if inside:
        leaves.append(
            st.builds(n.Relative, paths(min(depth, 1), bind=False), st.sampled_from([n.Leaf.NODE, n.Leaf.TAG]))
        )
    if depth == 0:
        return st.one_of(leaves)
    inner = operands(depth - 1, inside)
    return st.one_of(
        *leaves,
        st.builds(n.Arithmetic, st.sampled_from("+-*/%"), inner, inner),
        st.builds(n.Negative, inner),
        st.builds(n.Aggregate, st.sampled_from(["max", "min", "count", "sum", "avg"]), inner),
    )


@cache
def conditions(depth: int, inside: bool) -> st.SearchStrategy[n.Condition]:
    operand = operands(depth, inside)
    leaf = st.builds(n.Comparison, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), operand, operand)
    if depth == 0:
        return leaf
    inner = conditions(depth - 1, inside)
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    return st.one_of(leaf, st.builds(n.And, several), st.builds(n.Or, several), st.builds(n.Not, inner))


@cache
def predicates(depth: int) -> st.SearchStrategy[tuple[n.Predicate, ...]]:
    if depth == 0:
        return st.just(())
    one = st.one_of(st.builds(n.Exists, paths(depth - 1)), st.builds(n.Holds, conditions(depth - 1, True)))
    return st.lists(one, max_size=2).map(tuple)


@cache
def steps(depth: int, bind: bool = True) -> st.SearchStrategy[n.Step]:
    named = st.builds(n.Step, axes, tests, st.none(), predicates(depth))
    bound = st.builds(n.Step, axes, st.just(n.NodeTest(n.Kind.ANY)), variable_names, predicates(depth))
    return st.one_of(named, bound) if bind else named


@cache
def entered(depth: int) -> st.SearchStrategy[n.Path]:
    """Paths that start with a step without an axis."""
    first = st.one_of(
        st.builds(n.Step, st.just(n.Axis.FOLLOWING_SIBLING), st.one_of(plain_tests, st.just(n.NodeTest(n.Kind.ANY)))),
        st.builds(n.Step, st.just(n.Axis.FOLLOWING_SIBLING), st.just(n.NodeTest(n.Kind.ANY)), variable_names),
    )
    return st.builds(lambda step, rest: joined([step, rest]), first, paths(depth))


@cache
def paths(depth: int, bind: bool = True) -> st.SearchStrategy[n.Path]:
    if depth == 0:
        return steps(0, bind)
    inner = paths(depth - 1, bind)
    several = st.lists(inner, min_size=2, max_size=3)
    found = [
        steps(depth, bind),
        several.map(joined),
        st.builds(n.Star, inner),
        st.builds(n.Union, several.map(tuple)),
        st.builds(n.Intersect, several.map(tuple)),
    ]
    if bind:
        path_variable = st.sampled_from(PATH_VARIABLES)
        found += [
            st.builds(n.Define, path_variable, inner),
            st.builds(n.Define, path_variable, entered(depth - 1), axes),
            st.builds(n.Call, path_variable),
        ]
    return st.one_of(found)


def joined(parts: list[n.Path]) -> n.Path:
    """One after the other: what is in a bracket without a star is no path of its own."""
    return n.Concat(tuple(inner for part in parts for inner in (part.parts if isinstance(part, n.Concat) else (part,))))


def _unnamed_item(operand: n.Operand) -> n.Item:
    return n.Item(operand, operand_text(operand))


@cache
def items() -> st.SearchStrategy[n.Item]:
    named = st.builds(n.Item, operands(2, False), st.sampled_from(NAMES))
    return st.one_of(named, operands(2, False).map(_unnamed_item))


@st.composite
def queries(draw: st.DrawFn) -> n.Query:
    path = draw(paths(2))
    partition = draw(st.none() | st.builds(n.Partition, paths(1), names))
    # A variable is a path variable when it is defined somewhere; two definitions are refused by the check only.
    path = joined([path, *(n.Define(name, n.Step(n.Axis.CHILD, n.NodeTest(n.Kind.ANY))) for name in PATH_VARIABLES)])
    return n.Query(
        path,
        draw(st.none() | st.lists(items(), min_size=1, max_size=3).map(tuple)),
        draw(st.none() | conditions(2, False)),
        partition,
    )


@settings(max_examples=36)
@given(queries())
def test_text_says_what_the_query_is(query: n.Query) -> None:
    assert parse(query_text(query)) == query


@settings(max_examples=30)
@given(queries())
def test_a_query_is_refused_or_can_be_used(query: n.Query) -> None:
    try:
        checked = parse_and_check(query_text(query))
    except QueryError as error:
        assert error.span is not None and error.text is not None and error.fix
        return
    assert repeating_variables(checked) <= set(variables(checked))
    moved = normalise(checked)
    assert normalise(moved) == moved
    assert parse(query_text(moved)) == moved


@settings(max_examples=45)
@given(st.sampled_from(sorted(ALL)), st.integers(0, 2**32), st.integers(1, 4))
def test_mutated_texts_are_queries_or_errors(name: str, seed: int, edits: int) -> None:
    chance, text = random.Random(seed), ALL[name]
    signs = [
        *"()[]{}/\\*@$.,:='\"<>+-!&|~≠× \n",
        "//",
        "::",
        "(:",
        ":)",
        "$X",
        "$",
        " and ",
        " from ",
        "not",
        "max(",
        "1",
    ]
    for _ in range(edits):
        at = chance.randrange(len(text) + 1)
        text = chance.choice(
            (
                text[:at] + chance.choice(signs) + text[at:],
                text[:at] + text[at + chance.randrange(1, 6) :],
                text[:at] + text[chance.randrange(len(text) + 1) :][:10] + text[at:],
            )
        )
    _read_or_refused(text)


@given(st.text(alphabet=st.sampled_from("ab$X()[]/\\*@.:,='\"-+ <123&\u00e9\x00"), max_size=20))
def test_any_text_is_a_query_or_an_error(text: str) -> None:
    _read_or_refused(text)


def _read_or_refused(text: str) -> None:
    try:
        query = parse_and_check(text)
    except QueryError as error:
        assert str(error)
        return
    assert parse_and_check(query_text(query)) == query
