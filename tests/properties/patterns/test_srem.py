"""SREM on random expressions and short streams: what a text, an expression and its automata say is the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.expressions import TRUE
from ostinato.errors import LimitError, QueryError
from ostinato.patterns.semantics.srem import accepts, detect
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.definite_registers import make_registers_definite
from ostinato.patterns.sra.epsilon import eliminate_epsilon
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.sra.trim import trim
from ostinato.patterns.syntax.srem.nodes import Concat, Expression, SremPattern, Star, Test, to_text
from ostinato.patterns.syntax.srem.parse import parse
from support.generators.srem import REGISTERS, alike_streams, expressions, patterns

Row = dict[str, Any]
Segments = set[tuple[int, int]]  # half-open


def segments(accept: Callable[[list[Row]], bool], rows: list[Row]) -> Segments:
    """Every segment of the stream that is accepted: many strings at the price of one."""
    ends = range(len(rows) + 1)
    return {(begin, end) for begin in ends for end in ends if begin <= end and accept(rows[begin:end])}


def language(expression: Expression, rows: list[Row]) -> Segments:
    return segments(lambda string: accepts(expression, string), rows)


windows = st.sampled_from([None, None, 1, 2, 3])


@st.composite
def automata(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Automaton:
    return build_sra(draw(expressions(max_depth=2)), draw(windows))


@settings(max_examples=60)
@given(expressions(), alike_streams(max_size=5))
def test_every_form_has_the_same_strings(expression: Expression, rows: list[Row]) -> None:
    meant = language(expression, rows)
    built = build_sra(expression)
    assert segments(built.accepts, rows) == meant
    without = eliminate_epsilon(built)
    assert not without.epsilons
    assert segments(without.accepts, rows) == meant
    single = built.single_register()
    assert all(len(rule.writes) <= 1 for rule in single.rules)
    assert segments(single.accepts, rows) == meant
    assert segments(make_registers_definite(built).accepts, rows) == meant
    try:
        back = built.to_srem()
    except LimitError:
        return
    assert language(parse(to_text(back)).expression, rows) == meant


@settings(max_examples=60)
@given(expressions())
def test_a_definite_automaton_reads_what_it_has_written(expression: Expression) -> None:
    automaton = make_registers_definite(build_sra(expression))
    held: dict[int, frozenset[str]] = {automaton.start: frozenset()}
    todo = [automaton.start]
    while todo:  # the registers that are written on every way to a state
        state = todo.pop()
        for rule in automaton.rules_from(state):
            now = held[state] | set(rule.writes)
            known = held.get(rule.target)
            if known is None or not known <= now:
                held[rule.target] = now if known is None else known & now
                todo.append(rule.target)
    assert all(rule.reads <= held[rule.source] for rule in automaton.rules)


@settings(max_examples=30)
@given(expressions(max_depth=2), alike_streams(max_size=5))
def test_a_streaming_expression_ends_where_the_expression_does(expression: Expression, rows: list[Row]) -> None:
    """Proposition 6.2."""
    streaming = Concat((Star(Test()), expression))
    ends = {end for _, end in language(expression, rows)}
    assert {end for end in range(len(rows) + 1) if accepts(streaming, rows[:end])} == ends


@settings(max_examples=45)
@given(expressions())
def test_trimming_is_done_after_once(expression: Expression) -> None:
    trimmed = eliminate_epsilon(build_sra(expression))
    assert trim(trimmed) == trimmed


@settings(max_examples=45)
@given(automata(), automata(), alike_streams(max_size=5))
def test_union_and_intersection(left: Automaton, right: Automaton, rows: list[Row]) -> None:
    one, other = segments(left.accepts, rows), segments(right.accepts, rows)
    assert segments((left | right).accepts, rows) == one | other
    assert segments((left & right).accepts, rows) == one & other


@settings(max_examples=45)
@given(automata(), automata(), alike_streams(max_size=5))
def test_concatenation_and_star(left: Automaton, right: Automaton, rows: list[Row]) -> None:
    one, other = segments(left.accepts, rows), segments(right.accepts, rows)
    assert segments((left + right).accepts, rows) == joined(one, other)
    rounds = {(position, position) for position in range(len(rows) + 1)}
    while (more := rounds | joined(rounds, one)) != rounds:
        rounds = more
    assert segments(left.star().accepts, rows) == rounds


def joined(left: Segments, right: Segments) -> Segments:
    return {(begin, end) for begin, cut in left for other, end in right if other == cut}


@settings(max_examples=45)
@given(automata(), alike_streams(max_size=5))
def test_windows_survive_every_form(automaton: Automaton, rows: list[Row]) -> None:
    meant = segments(automaton.accepts, rows)
    for form in (eliminate_epsilon(automaton), make_registers_definite(automaton), automaton.single_register()):
        assert segments(form.accepts, rows) == meant
    back = automaton.to_srem()
    assert language(parse(to_text(back)).expression, rows) == meant


@settings(max_examples=60)
@given(patterns(), alike_streams(max_size=6))
def test_detection_is_acceptance_of_segments(pattern: SremPattern, rows: list[Row]) -> None:
    automaton = build_sra(pattern.expression)
    partitions: dict[tuple[Any, ...], list[int]] = {}
    for position, row in enumerate(rows):
        partitions.setdefault(tuple(row[key] for key in pattern.partition_by), []).append(position)
    found = [
        (origin[begin], origin[end - 1])
        for origin in partitions.values()
        for begin, end in segments(automaton.accepts, [rows[position] for position in origin])
        if begin < end and in_window(pattern, [rows[position] for position in origin[begin:end]])
    ]
    assert detect(pattern, rows, time="ts") == sorted(found, key=lambda match: (match[1], match[0]))


def in_window(pattern: SremPattern, segment: list[Row]) -> bool:
    window = pattern.window
    if window is None:
        return True
    if window.kind == "events":
        return len(segment) <= window.amount
    if window.kind == "time":
        return bool((segment[-1]["ts"] - segment[0]["ts"]) * 1_000_000_000 <= window.amount)
    return bool(segment[-1][str(window.attribute)] - segment[0][str(window.attribute)] <= window.amount)


@settings(max_examples=90)
@given(expressions())
def test_text_reads_back(expression: Expression) -> None:
    everything_written = Concat((Test(TRUE, REGISTERS), expression))
    assert parse(to_text(everything_written)).expression == everything_written


@settings(max_examples=60)
@given(patterns())
def test_clauses_read_back(pattern: SremPattern) -> None:
    text = to_text(pattern.expression)
    if pattern.partition_by:
        text += f" PARTITION BY {', '.join(pattern.partition_by)}"
    if pattern.window is not None:
        text += f" WITHIN {pattern.window.text}"
    assert parse(text) == replace(pattern, text=text)


WORDS = (
    "[ ] ( ) . | * + ? -> , r s r.v v type true TRUE = > 3 'T' ' ` and or not in is null within 5 0 events partition by"
)
WORDS += ' PARTITION BY k ON -- sum( first(r) ; : AS x SELECT ~ == || & { } " 1e999 99999999999999999999 . .5 -'
texts = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)


@settings(max_examples=150)
@given(texts | st.text(max_size=20))
def test_bad_texts_raise_query_errors_alone(text: str) -> None:
    try:
        pattern = parse(text)
    except QueryError as error:
        assert error.reason and error.text == text and error.span is not None
        assert "^" in str(error)
    else:
        assert parse(to_text(pattern.expression)).expression == pattern.expression
