"""Random event rules: their text says what they are, and no text at all makes the parser stumble."""

from __future__ import annotations

import json
import random
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.expressions import COMPARISONS, Call, Expr, Literal, Variable
from ostinato.core.text.build import flat_call
from ostinato.errors import OstinatoError, QueryError
from ostinato.rules.plan.check import check_program
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.format import program_text, rule_text, table_text
from ostinato.rules.syntax.parse import parse
from support import paths

VECTOR = paths.VECTORS / "rules.json"
WHOLE = 2**63 - 1

texts = st.one_of(st.sampled_from(["", "a", "it's", 'a "b"', "a\nb"]), st.text(max_size=5))
names = st.sampled_from(
    [
        "x",
        "y",
        "T",
        "var",
        "event",
        "in",
        "Größe",
        "my name",
        "all",
        "each",
        "distinct",
        "without",
        "position",
        "where",
        "desc",
        "_1",
    ]
)
labels = st.one_of(
    st.sampled_from(
        ["a", "temp", "@id", "a-b", "a.b", "desc", "var", "true", "not", "end", "where", "timer", "cel", "1"]
    ),
    st.text(min_size=1, max_size=4),
)
numbers = st.one_of(st.integers(-WHOLE, WHOLE), st.integers(-3, 3), st.floats(allow_nan=False, allow_infinity=False))
durations = st.builds(n.Duration, st.one_of(st.integers(0, 10**18), st.sampled_from([0, 10**9, 6 * 10**10])))


# Expressions: an `and` in an `and` is one with all their parts, as it is in a text.

leaves: st.SearchStrategy[Expr] = st.one_of(
    st.builds(Variable, names),
    st.builds(Variable, names),
    st.builds(n.time_variable, st.sampled_from(["begin", "end"]), names).map(Variable),
    st.builds(Literal, st.one_of(numbers, texts, st.booleans(), st.none())),
)


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(lambda op, left, right: Call(op, (left, right)), st.sampled_from("+-*/%"), inner, inner),
        st.builds(lambda op, left, right: Call(op, (left, right)), st.sampled_from(COMPARISONS), inner, inner),
        st.builds(lambda op, arg: Call(op, (arg,)), st.sampled_from(["not", "is_null", "abs", "lower"]), inner),
        st.builds(
            lambda op, parts: flat_call(op, parts),
            st.sampled_from(["and", "or"]),
            st.lists(inner, min_size=2, max_size=3),
        ),
        st.builds(lambda parts: Call("in", tuple(parts)), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda left, right: Call("like", (left, right)), inner, inner),
        st.builds(lambda *parts: Call("case", parts), inner, inner, st.one_of(inner, st.just(Literal(None)))),
        st.builds(lambda *parts: flat_call("concat", parts), inner, inner),
        st.builds(lambda text: Call("substring", (text, Literal(2), Literal(0))), inner),
        st.builds(lambda name: Call("neg", (Variable(name),)), names),
    )


expressions: st.SearchStrategy[Expr] = st.recursive(leaves, _larger, max_leaves=6)


# Query terms.


regexes = st.sampled_from([n.ANY_LABEL, "a.*", "a/b", r"\\/", r"\d+|x", "[/]"])
places = st.one_of(st.integers(1, 9), st.integers(-9, -1), names)


def _required(term: n.QueryTerm) -> n.QueryTerm:
    while isinstance(term, n.Optional):
        term = term.term
    return term


def _children(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    plain = inner.map(_required)
    return st.one_of(inner, inner, st.builds(n.Without, plain), st.builds(n.Position, places, plain))


def _around(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(n.Element, labels, st.lists(_children(inner), max_size=3).map(tuple), st.booleans(), st.booleans()),
        st.builds(
            n.Element, regexes, st.lists(inner, max_size=2).map(tuple), st.booleans(), st.booleans(), st.just(True)
        ),
        st.builds(n.Bind, names, inner),
        st.builds(n.Desc, inner),
        st.builds(n.Optional, inner),
    )


terms: st.SearchStrategy[n.QueryTerm] = st.recursive(
    st.one_of(
        st.builds(n.Const, st.one_of(numbers, texts, st.booleans())),
        st.builds(n.Bind, names),
        st.builds(n.Fitting, regexes),
    ),
    _around,
    max_leaves=5,
)
elements = st.builds(n.Element, labels, st.lists(terms, max_size=3).map(tuple), st.booleans(), st.booleans())
matches = st.builds(n.Element, st.just("match"), st.lists(terms, max_size=2).map(tuple), st.booleans(), st.booleans())


# Construct terms.

orders = st.lists(st.builds(n.Order, names, st.booleans()), max_size=2, unique_by=lambda order: order.name).map(tuple)
groups = st.lists(names, max_size=2, unique=True).map(tuple)
values = st.builds(n.Value, expressions)
overs: st.SearchStrategy[n.Over] = st.sampled_from(["all", "each", "distinct"])
aggregates = st.builds(n.Aggregate, st.sampled_from(n.AGGREGATES), expressions, orders, overs)


def _made(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[n.Make]:
    return st.builds(n.Make, labels, st.lists(inner, max_size=3).map(tuple), st.booleans())


def _made_or_all(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(_made(inner), st.builds(n.All, st.one_of(values, _made(inner)), groups, orders))


constructs: st.SearchStrategy[n.ConstructTerm] = st.recursive(st.one_of(values, aggregates), _made_or_all, max_leaves=4)


# Conditions: a connective over data alone is one Data, and none holds another of its own kind.

temporals = st.one_of(
    st.builds(n.Temporal, st.sampled_from(n.RELATIONS), st.tuples(names, names)),
    st.builds(
        n.Temporal,
        st.sampled_from(["within", "apart-by"]),
        st.lists(names, min_size=2, max_size=3, unique=True).map(tuple),
        durations,
    ),
)
datas = st.builds(n.Data, expressions)


def _formula(op: Any, first: n.Condition, rest: list[n.Condition]) -> n.Condition:
    parts = [first] if op == "not" else [first, *rest]
    flat: list[n.Condition] = []
    for part in parts:
        if isinstance(part, n.Formula) and part.op == op != "not":
            flat += part.parts
        elif isinstance(part, n.Data) and isinstance(part.expr, Call) and part.expr.op == op != "not":
            flat += map(n.Data, part.expr.args)
        else:
            flat.append(part)
    return n.Formula(op, tuple(flat))


on_groups = st.builds(
    lambda op, aggregate, other: n.Combined(Call(op, (Variable(n.aggregate_variable(0)), other)), (aggregate,)),
    st.sampled_from(COMPARISONS),
    aggregates,
    leaves,
)
conditions: st.SearchStrategy[n.Condition] = st.one_of(
    datas,
    on_groups,
    st.recursive(
        temporals,
        lambda inner: st.builds(
            _formula,
            st.sampled_from(["and", "or", "not"]),
            inner,
            st.lists(st.one_of(inner, datas), min_size=1, max_size=2),
        ),
        max_leaves=3,
    ),
)


# Bodies, rules, programs.

times = st.one_of(st.integers(-100, 10**10), st.floats(0, 1e9))
isos = st.datetimes().map(lambda time: time.isoformat())
bindings = st.none() | names


def _found(ident: str, term: n.Element, bound: str | None) -> n.At:
    return n.At(ident, term, False, bound=bound)


atoms: st.SearchStrategy[n.Body] = st.one_of(
    st.builds(n.EventQuery, names, elements, bindings),
    st.builds(n.CelPattern, names, texts, matches, st.sampled_from(["cel", "srem"])),
    st.builds(n.RelativeTimer, names, st.sampled_from(n.RELATIVE_TIMERS), names, durations),
    st.builds(n.AbsoluteTimer, names, times, times) | st.builds(n.AbsoluteTimer, names, isos, isos),
    st.builds(
        n.PeriodicTimer,
        names,
        st.sampled_from(n.PERIODIC_TIMERS),
        st.builds(n.Duration, st.integers(1, 10**18)),
    ),
    st.builds(n.While, names, elements, st.just(True)),
    st.builds(n.While, names, elements, st.just(False), bindings, bindings),
    st.builds(_found, names, elements, bindings),
    st.builds(n.At, names, elements, st.just(True)),
)
wheres = st.lists(conditions, max_size=2).map(tuple)


def _combined(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.builds(
        lambda kind, parts, where: kind(tuple(parts), where),
        st.sampled_from([n.Conjunction, n.Disjunction]),
        st.lists(inner, min_size=1, max_size=3),
        wheres,
    )


limits = st.builds(
    n.OutputLimit,
    st.integers(1, 10**9),
    st.builds(n.Duration, st.integers(1, 10**18)),
    st.lists(names, max_size=2, unique=True).map(tuple),
)


moments = st.builds(n.Moment, st.sampled_from(["begin", "end"]), names)
intervals = st.builds(n.Interval, moments, st.none() | moments)

_Said = tuple[n.Make, n.Body, bool, n.OutputLimit | None, n.Interval | None]


def _looked_into(body: n.Body) -> list[str]:
    if isinstance(body, n.Conjunction | n.Disjunction):
        return [label for part in body.parts for label in _looked_into(part)]
    return [body.term.label] if isinstance(body, n.At) else []


def _ruleset(rules: list[_Said], key: list[n.KeyLabel]) -> n.Ruleset:
    labels = dict.fromkeys(label for _, body, *_ in rules for label in _looked_into(body))
    return n.Ruleset(
        tuple(
            n.Rule(head, body, number, private, limit, interval)
            for number, (head, body, private, limit, interval) in enumerate(rules, 1)
        ),
        tuple(n.Table(label, tuple(key)) for label in labels),
    )


bodies: st.SearchStrategy[n.Body] = st.recursive(atoms, _combined, max_leaves=4)
programs = st.builds(
    _ruleset,
    st.lists(
        st.tuples(_made(constructs), bodies, st.booleans(), st.none() | limits, st.none() | intervals),
        min_size=1,
        max_size=2,
    ),
    st.lists(labels.map(n.KeyLabel), min_size=1, max_size=2, unique=True),
)


@pytest.mark.slow
@settings(max_examples=45, deadline=None)
@given(programs)
def test_text_of_a_program_parses_to_it(program: n.Ruleset) -> None:
    assert parse(program_text(program)) == program


@settings(max_examples=30, deadline=None)
@given(programs)
def test_branches_are_rules_of_their_own(program: n.Ruleset) -> None:
    """A normal rule has a text too, and its normal form is itself."""
    try:
        rules = normalise(program)
    except QueryError as error:
        assert "anchored on" in error.reason
        return
    for rule in rules:
        (again,) = normalise(parse("\n".join([*map(table_text, program.tables), rule_text(rule)])))
        assert (again.events, again.timers, again.collects) == (rule.events, rule.timers, rule.collects)
        assert (again.negations, again.where) == (rule.negations, rule.where)


@settings(max_examples=30, deadline=None)
@given(programs)
def test_a_program_is_checked_or_refused_with_a_reason(program: n.Ruleset) -> None:
    try:
        check_program(program)
        stratify(normalise(program))
    except OstinatoError as error:
        assert str(error)


_PIECES = re.compile(r"\s+|\w+|\W")


@settings(max_examples=90, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_no_text_makes_the_parser_stumble(chance: random.Random, edits: int) -> None:
    """The paper's program with words dropped, doubled, exchanged or put in: it parses, or the error has a place."""
    pieces = _PIECES.findall(json.loads(VECTOR.read_text(encoding="utf-8"))["program"])
    extra = [
        "'",
        '"',
        "`",
        "{",
        "}",
        "[",
        "]",
        "all",
        "not",
        "var",
        "--",
        "->",
        "40",
        ",",
        ";",
        "&&",
        "timer",
        "END",
        "ü",
    ]
    for _ in range(edits):
        at, other = chance.randrange(len(pieces)), chance.randrange(len(pieces))
        kind = chance.choice(["drop", "double", "exchange", "insert", "cut"])
        if kind == "drop":
            del pieces[at]
        elif kind == "double":
            pieces.insert(at, pieces[at])
        elif kind == "exchange":
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif kind == "insert":
            pieces.insert(at, f" {chance.choice(extra)} ")
        else:
            del pieces[max(at, 5) :]
    text = "".join(pieces)
    try:
        program = parse(text)
        check_program(program)
    except QueryError as error:
        assert error.span is not None
        assert 0 <= error.span.start <= len(text)
        assert "^" in str(error.within(text))
