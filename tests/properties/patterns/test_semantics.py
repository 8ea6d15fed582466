"""The declarative evaluator against the paper's definitions, written a second time and even more slowly."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.core.expression_interpreter import passes
from ostinato.core.expressions import variables
from ostinato.patterns.semantics.cel import evaluate
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.first_events import first_events
from ostinato.patterns.syntax.nodes import Formula
from support.generators.cel import queries
from support.generators.cel_formulas import formulas
from support.generators.cel_streams import streams

Row = dict[str, Any]
Marks = tuple[tuple[int, str], ...]  # a complex event with the variable of each position
Valuation = Mapping[str, int]


# Section 3, word by word: C ∈ [[φ]](S, ν) ----------------------------------------------------------------------------


def in_evaluation(c: Marks, formula: Formula, s: list[Row], nu: Valuation) -> bool:
    if isinstance(formula, n.Event):
        x = formula.variable
        label = "" if x.startswith("#") else x
        return c == ((nu[x], label),) and formula.relation in (None, s[nu[x]]["type"])
    if isinstance(formula, n.Filter):
        return in_evaluation(c, formula.body, s, nu) and passes(formula.predicate, {x: s[i] for x, i in nu.items()})
    if isinstance(formula, n.Or):
        return any(in_evaluation(c, part, s, nu) for part in formula.parts)
    if isinstance(formula, n.Optional):
        return c == () or in_evaluation(c, formula.body, s, nu)
    if isinstance(formula, n.Sequence | n.And) and len(formula.parts) == 1:
        return in_evaluation(c, formula.parts[0], s, nu)
    if isinstance(formula, n.Sequence):
        before, last = replace(formula, parts=formula.parts[:-1]), formula.parts[-1]
        return any(
            in_evaluation(c1, before, s, nu)
            and in_evaluation(c2, last, s, nu)
            and follows(c1, c2, formula, last, s, nu)
            for c1, c2 in splits(c)
        )
    if isinstance(formula, n.And):
        others, last = replace(formula, parts=formula.parts[:-1]), formula.parts[-1]
        return any(
            in_evaluation(c1, others, s, nu) and in_evaluation(c2, last, s, nu)
            for c1, c2 in divisions(c)
            if not formula.apart or not c1 or not c2 or c1[-1] < c2[0] or c2[-1] < c1[0]
        )
    assert isinstance(formula, n.Repeat)
    if c == ():
        return any(in_evaluation(c, formula.body, s, {**nu, **own}) for own in valuations(n.vdef_plus(formula.body), s))
    least = 1 if in_evaluation((), formula, s, nu) else formula.least
    return any(least <= count <= (formula.most or count) for count in rounds(c, formula, s, nu))


def rounds(c: Marks, formula: n.Repeat, s: list[Row], nu: Valuation) -> set[int]:
    """In how many rounds, none of them empty, the loop can give C."""
    found = set()
    for own in valuations(n.vdef_plus(formula.body), s):
        if in_evaluation(c, formula.body, s, {**nu, **own}):
            found.add(1)
        for c1, c2 in splits(c):
            first = c1 and c2 and follows(c1, c2, formula, formula.body, s, nu)
            if first and in_evaluation(c1, formula.body, s, {**nu, **own}):
                found |= {count + 1 for count in rounds(c2, formula, s, nu)}
    return found


def follows(c1: Marks, c2: Marks, by: n.Sequence | n.Repeat, part: Formula, s: list[Row], nu: Valuation) -> bool:
    """Whether C₂ may come so long after C₁."""
    if not c1 or not c2 or by.link == ";":
        return True
    gap = range(c1[-1][0] + 1, c2[0][0])
    if by.link == ":":
        return not gap
    return not any(
        stop.event.relation in (None, s[i]["type"])
        and (
            stop.predicate is None
            or passes(stop.predicate, {x: s[j] for x, j in {**nu, stop.event.variable: i}.items()})
        )
        for i in gap
        for stop in first_events(part)
    )


def splits(c: Marks) -> Iterator[tuple[Marks, Marks]]:
    """Every C₁ · C₂ = C."""
    for i in range(len(c) + 1):
        yield c[:i], c[i:]


def divisions(c: Marks) -> Iterator[tuple[Marks, Marks]]:
    """Every C₁ ∪ C₂ = C without a position in both."""
    for sides in product((True, False), repeat=len(c)):
        yield (
            tuple(mark for mark, left in zip(c, sides, strict=True) if left),
            tuple(mark for mark, left in zip(c, sides, strict=True) if not left),
        )


def valuations(names: frozenset[str], s: list[Row]) -> Iterator[Valuation]:
    for positions in product(range(len(s)), repeat=len(names)):
        yield dict(zip(sorted(names), positions, strict=True))


def mentioned(formula: Formula) -> frozenset[str]:
    own = variables(formula.predicate) if isinstance(formula, n.Filter) else frozenset()
    return own.union(n.vdef(formula), *(mentioned(child) for child in n.children(formula)))


def complex_events(s: list[Row], names: frozenset[str]) -> Iterator[Marks]:
    labels = {"" if name.startswith("#") else name for name in names}
    for choice in product([None, *sorted(labels)], repeat=len(s)):
        yield tuple((i, label) for i, label in enumerate(choice) if label is not None)


@settings(max_examples=45)
@given(formulas(max_depth=2, absent=False, wider_filters=True, reuse=True, correlated=True), streams(max_size=3))
def test_evaluation_is_the_papers(formula: Formula, s: list[Row]) -> None:
    expected = {
        c
        for c in complex_events(s, n.vdef(formula))
        if c and any(in_evaluation(c, formula, s, nu) for nu in valuations(mentioned(formula), s))
    }
    found = set()
    for match in evaluate(n.Query(formula), s).matches:
        label = {i: name for name, positions in match.labels.items() for i in positions}
        found.add(tuple((i, label.get(i, "")) for i in match.positions))
    assert found == expected


# Section 4: strategies as orders on bit strings -----------------------------------------------------------------------


def bits(positions: tuple[int, ...], size: int) -> tuple[bool, ...]:
    return tuple(i in positions for i in range(size))


@given(queries(wider_filters=True, correlated=True), streams())
def test_strategies_choose_among_all(query: n.Query, s: list[Row]) -> None:
    query = replace(query, consume="NONE")
    every = evaluate(replace(query, strategy="ALL"), s, time="ts").positions()
    groups = defaultdict(list)
    for positions in every:
        groups[positions[-1]].append(positions)

    def chosen(strategy: Any) -> set[tuple[int, ...]]:
        return set(evaluate(replace(query, strategy=strategy), s, time="ts").positions())

    assert chosen("NXT") == {max(group, key=lambda c: bits(c, len(s))) for group in groups.values()}
    assert chosen("LAST") == {max(group, key=lambda c: bits(c, len(s))[::-1]) for group in groups.values()}
    assert chosen("MAX") == {c for c in every if not any(set(c) < set(other) for other in groups[c[-1]])}
    key = [row["k"] if query.partition_by else 0 for row in s]
    assert chosen("STRICT") == {c for c in every if all(i in c for i in range(c[0], c[-1]) if key[i] == key[c[0]])}


@given(queries(), streams())
def test_labellings_follow_the_selected_sets(query: n.Query, s: list[Row]) -> None:
    query = replace(query, consume="NONE")
    selected = evaluate(query, s, time="ts")
    every = evaluate(replace(query, strategy="ALL"), s, time="ts")
    kept = set(selected.positions())
    assert list(selected.matches) == [match for match in every.matches if match.positions in kept]


# Extensions -----------------------------------------------------------------------------------------------------------


@given(queries(trailing=False), streams())
def test_consume_starts_afresh_after_each_completing_event(query: n.Query, s: list[Row]) -> None:
    parts = list(n.subformulas(query.formula))
    assume(not any(isinstance(part, n.Absent) and part.lasting for part in parts))  # may look at what was consumed
    consumed, expected, start = replace(query, consume="ANY"), [], 0
    while later := evaluate(replace(query, consume="NONE"), s[start:], time="ts").positions():
        end = later[0][-1]
        expected += [tuple(start + i for i in c) for c in later if c[-1] == end]
        start += end + 1
    assert evaluate(consumed, s, time="ts").positions() == expected


@given(queries(), streams())
def test_partitions_are_separate_streams(query: n.Query, s: list[Row]) -> None:
    query = replace(query, partition_by=("k",), consume="NONE" if query.consume == "NONE" else "PARTITION")
    expected = set()
    for key in {row["k"] for row in s}:
        own = [i for i, row in enumerate(s) if row["k"] == key]
        alone = evaluate(replace(query, partition_by=()), [s[i] for i in own], time="ts")
        expected |= {tuple(own[i] for i in c) for c in alone.positions()}
    assert set(evaluate(query, s, time="ts").positions()) == expected


@given(queries(trailing=False, wider_filters=True), streams(), st.integers(0, 9))
def test_later_events_change_nothing(query: n.Query, s: list[Row], cut: int) -> None:
    early = evaluate(query, s[:cut], time="ts").matches
    assert list(early) == [match for match in evaluate(query, s, time="ts").matches if match.end < cut]
