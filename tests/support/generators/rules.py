"""Random programs of event rules and streams for them: range restricted and stratifiable by construction.

Events a, b, c come in with the attributes k (text), v (integer) and w (a multiple of a half, so that sums are exact in
any order); d, e, f are derived, each from those before it, with the same attributes and sometimes a list l. Times are
whole seconds from 0 to 60. In `cases` each part of a rule is tried on the stream, and mostly kept only where the rule
still derives something: rules at random hardly ever do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

import pyarrow as pa
from hypothesis import strategies as st

from ostinato.core.expressions import COMPARISONS, Call, Expr, Literal, Variable
from ostinato.rules.semantics.program import derived, fixpoint
from ostinato.rules.syntax.nodes import (
    RELATIONS,
    RELATIVE_TIMERS,
    AbsoluteTimer,
    Aggregate,
    All,
    Bind,
    Combined,
    Condition,
    Conjunction,
    Const,
    ConstructTerm,
    Data,
    Duration,
    Element,
    EventQuery,
    Formula,
    Make,
    NormalRule,
    Optional,
    Order,
    Program,
    QueryTerm,
    RelativeTimer,
    Rule,
    Temporal,
    Value,
    While,
    outcome,
)
from ostinato.rules.terms.data import from_row
from ostinato.rules.terms.event import Event
from support.generators.terms import Draw, Row, nested_element, nested_streams, pick, record

SECOND = 1_000_000_000
INCOMING, DERIVED = ("a", "b", "c"), ("d", "e", "f")
SCHEMA = pa.schema(
    {"type": pa.string(), "begin": pa.int64(), "end": pa.int64(), "k": pa.string(), "v": pa.int64(), "w": pa.float64()}
)
NAMES = {"k": ("K", "K", "L"), "v": ("V", "U"), "w": ("W", "Z")}  # variables by attribute, so that types agree
VALUES: dict[str, tuple[str | int | float, ...]] = {"k": ("x", "y"), "v": (1, 0, 2), "w": (0.5, 1.0)}

Bound = dict[str, list[str]]  # the variables that a rule binds, by attribute


# Streams --------------------------------------------------------------------------------------------------------------

_attributes = record(
    k=st.sampled_from(["x", "y", "x", "y", "x", "z", None]),
    v=st.sampled_from([1, 0, 2, 1, 3, 1, None]),
    w=st.sampled_from([0.5, 1.0, 2.0, 0.5, 2.5, 0.5, None]),
)


@st.composite
def streams(draw: Draw, max_size: int = 10) -> list[Row]:
    """Rows of SCHEMA by end, often close together; an attribute that is None is missing."""
    rows: list[Row] = []
    for _ in range(max(draw(st.integers(0, max_size)), draw(st.integers(0, max_size)))):
        end = draw(st.integers(0, 20)) if pick(draw, True, True, False) else draw(st.integers(0, 60))
        begin = max(0, end - pick(draw, 0, 1, 3, 0, 5, 10, 20))
        rows.append({"type": pick(draw, *INCOMING), "begin": begin, "end": end, **draw(_attributes)})
    return sorted(rows, key=lambda row: row["end"])


def events_of(rows: Sequence[Row], ticks_per_second: int = 1) -> frozenset[Event]:
    """The rows as events: equal ones are one."""
    return frozenset(
        Event(row["begin"] * ticks_per_second, row["end"] * ticks_per_second, from_row(row["type"], row))
        for row in rows
    )


# Programs -------------------------------------------------------------------------------------------------------------

Strata = list[list[NormalRule]]
Timer = RelativeTimer | AbsoluteTimer


@st.composite
def programs(draw: Draw, *, alls: bool = True, recursion: bool = True, nested: bool = False) -> Strata:
    """The rules of d, then those of e, then those of f; a program for rows of `nested_streams` where `nested`.

    `alls` lets heads hold lists of elements, and `recursion` lets events be derived from their own kind.
    """
    return _program(draw, None, alls=alls, recursion=recursion, nested=nested)


@st.composite
def cases(draw: Draw, *, alls: bool = True, recursion: bool = True, nested: bool = False) -> tuple[Strata, list[Row]]:
    """A program and a stream from which it mostly derives events."""
    rows = draw(nested_streams() if nested else streams())
    return _program(draw, events_of(rows), alls=alls, recursion=recursion, nested=nested), rows


def _program(draw: Draw, known: frozenset[Event] | None, *, alls: bool, recursion: bool, nested: bool) -> Strata:
    schema: dict[str, tuple[str, ...]] = dict.fromkeys(INCOMING, ("k", "v", "w"))
    strata: Strata = []
    for label in DERIVED[: pick(draw, 1, 2, 3)]:
        rules = [_Writer(draw, dict(schema), nested, known).rule(label, alls) for _ in range(pick(draw, 1, 1, 2))]
        known = _more(rules, known)
        schema[label] = tuple(name for name in "kvw" if any(name in _columns(rule.head) for rule in rules))
        if recursion and schema[label] and pick(draw, False, False, True):
            rules.append(_Writer(draw, dict(schema), nested, known).recursive(label))
            known = _more(rules, known)
        strata.append(rules)
    numbers = count(1)
    return [[replace(rule, number=next(numbers)) for rule in rules] for rules in strata]


def _more(rules: Sequence[NormalRule], known: frozenset[Event] | None) -> frozenset[Event] | None:
    return None if known is None else fixpoint([rules], known, ticks_per_second=1)


def program(strata: Strata) -> Program:
    """The same rules as a program that was read from a text."""
    return Program(
        tuple(
            Rule(
                rule.head,
                Conjunction((*rule.events, *rule.timers, *rule.collects, *rule.negations), rule.where),
                rule.number,
            )
            for rules in strata
            for rule in rules
        )
    )


def _columns(head: Make) -> list[str]:
    return [child.label for child in head.children if isinstance(child, Make)]


def _idents(rule: NormalRule) -> list[str]:
    return [literal.ident for literal in (*rule.events, *rule.timers)]


def _duration(seconds: int) -> Duration:
    return Duration(seconds * SECOND, f"{seconds} sec")


@dataclass
class _Writer:
    """Writes one rule literal by literal, and knows what is bound so far."""

    draw: Draw
    schema: dict[str, tuple[str, ...]]  # attributes of each label that may be read
    nested: bool
    known: frozenset[Event] | None = None  # what the parts of the rule are tried on
    bound: Bound = field(default_factory=lambda: {"k": [], "v": [], "w": [], "t": []})
    literals: int = 0

    def rule(self, label: str, alls: bool) -> NormalRule:
        rule = self._grown(NormalRule(Make(label), ()), self._with_event("i"))
        for ident in ("j", "h")[: pick(self.draw, 1, 0, 1, 2)]:
            if ident == "h" and self._reads_derived(rule):  # the evaluator tries every combination of events
                break
            rule = self._grown(rule, self._with_event(ident))
        if len(rule.events) > 1 and (self._reads_derived(rule) or pick(self.draw, True, True, False)):
            rule = self._grown(rule, self._with_within)
        for ident in ("t", "u")[: pick(self.draw, 1, 0, 1, 2)]:
            rule = self._grown(rule, self._with_timer(ident))
        kinds = pick(self.draw, (), ("collect",), ("not",), ("collect", "not"), ("collect",), ("collect", "collect"))
        for index, kind in enumerate(kinds):
            rule = self._grown(rule, self._with_collect(index) if kind == "collect" else self._with_negation)
        if len(_idents(rule)) > 1 and pick(self.draw, True, False):
            rule = self._with_relation(rule)
        for _ in range(pick(self.draw, 0, 1, 1, 2)):
            rule = self._grown(rule, self._with_condition)
        return replace(rule, head=self._head(label, alls))

    def _grown(self, rule: NormalRule, grow: Callable[[NormalRule], NormalRule]) -> NormalRule:
        """The rule with one more part: one that lets it derive something, mostly."""
        for _ in range(3):
            before = {kind: list(names) for kind, names in self.bound.items()}
            grown = grow(rule)
            if self._fires(grown) or pick(self.draw, *[False] * 7, True):
                return grown
            self.bound = before
        return rule if rule.events else grow(rule)

    def _fires(self, rule: NormalRule) -> bool:
        return self.known is None or bool(derived([[rule]], self.known, ticks_per_second=1))

    def _reads_derived(self, rule: NormalRule) -> bool:
        return any(isinstance(event, EventQuery) and event.term.label in DERIVED for event in rule.events)

    def recursive(self, label: str) -> NormalRule:
        """An event of the same kind from an earlier one and another event, only of values that are there."""
        own = EventQuery("i", self._element(label))
        near = Temporal("within", ("i", "j"), _duration(pick(self.draw, 10, 5, 20)))

        def grow(rule: NormalRule) -> NormalRule:
            other = EventQuery("j", self._element(pick(self.draw, *INCOMING)))
            relation = Temporal(pick(self.draw, "before", "meets", "overlaps", "before"), ("i", "j"))
            return replace(rule, events=(own, other), where=(relation, near))

        rule = self._grown(NormalRule(Make(label), ()), grow)
        attributes = [name for name in self.schema[label] if self.bound[name]]
        children = tuple(Make(name, (Value(self._variable(name)),)) for name in attributes)
        return replace(rule, head=Make(label, children))

    # Terms

    def _label(self) -> str:
        labels = list(self.schema)
        return pick(self.draw, *INCOMING, labels[-1], labels[-1])

    def _element(self, label: str) -> Element:
        self.literals += 1
        if self.nested and label in INCOMING:
            element, bound = nested_element(self.draw, label, str(self.literals))
            for kind, variables in bound.items():
                self.bound[kind] += [name for name in variables if name not in self.bound[kind]]
            return element
        names = [name for name in self.schema[label] if pick(self.draw, True, True, False)]
        children = [self._attribute(name) for name in names]
        optional = [name for name in self.schema[label] if name not in names]
        if optional and pick(self.draw, False, False, False, True):
            own = f"O{self.literals}"  # may join nothing, for it may have no value
            children.append(Optional(Element(optional[0], (Bind(own),))))
            self.bound[optional[0]].append(own)
        form = pick(self.draw, "partial", "partial", "partial", "ordered", "total")
        if form == "ordered" and not any(isinstance(child, Optional) for child in children):
            return Element(label, tuple(children), ordered=True)
        return Element(label, tuple(children), total=form == "total" and len(children) == len(self.schema[label]))

    def _attribute(self, name: str) -> QueryTerm:
        if pick(self.draw, False, False, False, True):
            return Element(name, (Const(pick(self.draw, *VALUES[name])),))
        variable = pick(self.draw, *NAMES[name])
        if variable not in self.bound[name]:
            self.bound[name].append(variable)
        return Element(name, (Bind(variable),), total=pick(self.draw, False, True))

    # Literals

    def _with_event(self, ident: str) -> Callable[[NormalRule], NormalRule]:
        return lambda rule: replace(rule, events=(*rule.events, EventQuery(ident, self._element(self._label()))))

    def _with_timer(self, ident: str) -> Callable[[NormalRule], NormalRule]:
        def grow(rule: NormalRule) -> NormalRule:
            if pick(self.draw, *[False] * 9, True):
                begin = self.draw(st.integers(0, 40))
                timer: Timer = AbsoluteTimer(ident, begin, begin + pick(self.draw, 20, 5, 0))
            else:
                kind, anchor = pick(self.draw, *RELATIVE_TIMERS), pick(self.draw, *_idents(rule))
                timer = RelativeTimer(ident, kind, anchor, _duration(pick(self.draw, 5, 2, 10, 20)))
            return replace(rule, timers=(*rule.timers, timer))

        return grow

    def _with_collect(self, index: int) -> Callable[[NormalRule], NormalRule]:
        def grow(rule: NormalRule) -> NormalRule:
            ident = f"c{index}" if pick(self.draw, False, True) else None
            collect = While(self._window(rule), self._element(self._label()), negated=False, ident=ident)
            return replace(rule, collects=(*rule.collects, collect))

        return grow

    def _with_negation(self, rule: NormalRule) -> NormalRule:
        before = {kind: list(names) for kind, names in self.bound.items()}
        negation = While(self._window(rule), self._element(self._label()), negated=True)
        self.bound = before  # what a negation binds is nobody's
        return replace(rule, negations=(*rule.negations, negation))

    def _window(self, rule: NormalRule) -> str:
        return pick(self.draw, *([timer.ident for timer in rule.timers] or _idents(rule)))

    # Conditions

    def _with_within(self, rule: NormalRule) -> NormalRule:
        near = Temporal("within", tuple(_idents(rule)), _duration(pick(self.draw, 20, 10, 40)))
        return replace(rule, where=(*rule.where, near))

    def _with_condition(self, rule: NormalRule) -> NormalRule:
        return replace(rule, where=(*rule.where, self._condition(_idents(rule))))

    def _with_relation(self, rule: NormalRule) -> NormalRule:
        """Some relation that two of the events have: the rarer ones would not be met with by chance."""
        one, other = self._two(_idents(rule))
        start = pick(self.draw, *range(len(RELATIONS)))
        related = [
            replace(rule, where=(*rule.where, Temporal(relation, (one, other))))
            for relation in (*RELATIONS[start:], *RELATIONS[:start])
        ]
        return next((each for each in related if self._fires(each)), rule)

    def _two(self, idents: Sequence[str]) -> tuple[str, str]:
        one = pick(self.draw, *idents)
        return one, pick(self.draw, *(ident for ident in idents if ident != one))

    def _condition(self, idents: Sequence[str]) -> Condition:
        kind = pick(self.draw, "temporal", "data", "data", "temporal", "or", "not")
        if kind == "temporal" and len(idents) > 1:
            return self._temporal(idents)
        if kind in ("or", "not") and len(idents) > 1:
            if kind == "not":
                return Formula("not", (self._temporal(idents),))
            return Formula("or", (self._temporal(idents), Data(self._comparison())))
        test = self._comparison()
        if pick(self.draw, False, False, False, True):
            test = Call("or", (test, Call("is_null", (test.args[0],))))
        return Data(test)

    def _temporal(self, idents: Sequence[str]) -> Temporal:
        one, other = self._two(idents)
        relation = pick(self.draw, "before", *RELATIONS, "apart-by", "within")
        if relation in ("within", "apart-by"):
            events = (one,) if pick(self.draw, False, False, False, True) else (one, other)
            return Temporal(relation, events, _duration(pick(self.draw, 5, 10, 1)))
        return Temporal(relation, (one, other))

    def _comparison(self) -> Call:
        kinds = [kind for kind in "vwk" if self.bound[kind]]
        if not kinds:
            return Call("=", (Literal(1), Literal(1)))
        kind = pick(self.draw, *kinds)
        left = self._variable(kind)
        right = pick(self.draw, self._variable(kind), Literal(pick(self.draw, *VALUES[kind])))
        test = Call(pick(self.draw, *COMPARISONS), (left, right))
        if kind != "k" and pick(self.draw, False, True):
            test = Call("<=", (Call("+", (left, Literal(1))), Call("*", (right, Literal(2)))))
        return test

    def _variable(self, kind: str) -> Variable:
        return Variable(pick(self.draw, *self.bound[kind]))

    # Heads

    def _head(self, label: str, alls: bool) -> Make:
        children = [Make(name, (self._content(name),)) for name in "kvw" if pick(self.draw, True, True, False)]
        if self.bound["t"] and pick(self.draw, True, False):
            children.append(Make("s", (Value(self._variable("t")),)))
        if alls and pick(self.draw, False, False, True):
            children.append(Make("l", (self._all(),)))
        return Make(label, tuple(children) or (Make("k", (self._content("k"),)),))

    def _content(self, name: str) -> ConstructTerm:
        if name == "k":
            return self._of("k", ("min", "max", "first", "last")) if self.bound["k"] else Value(Literal("x"))
        if name == "v":
            return self._of("v", ("sum", "min", "max", "first", "last")) if self.bound["v"] else self._count()
        if self.bound["w"]:
            return self._of("w", ("avg", "sum", "min", "max", "first", "last"))
        return Aggregate("avg", self._variable("v")) if self.bound["v"] else Value(Literal(0.5))

    def _of(self, kind: str, aggregates: Sequence[str]) -> ConstructTerm:
        """A variable of the kind, something computed from it, or an aggregate."""
        variable: Expr = self._variable(kind)
        form = pick(self.draw, "plain", "plain", "aggregate", "computed", "aggregate", "counted")
        if form == "aggregate":
            name = pick(self.draw, *aggregates)
            order = (self._order(),) if name in ("first", "last") and pick(self.draw, False, True) else ()
            aggregate = Aggregate(name, variable, order)
            return self._combined(aggregate, kind) if kind != "k" and pick(self.draw, False, False, True) else aggregate
        if form == "counted" and kind == "v":
            return self._count()
        if form == "computed" and kind != "k":
            return Value(Call(pick(self.draw, "+", "*"), (variable, Literal(2 if kind == "v" else 0.5))))
        return Value(variable)

    def _combined(self, aggregate: Aggregate, kind: str) -> ConstructTerm:
        """The aggregate with another one, or with a variable outside of it."""
        other = self._variable(kind)
        op = pick(self.draw, "+", "-", "*")
        if pick(self.draw, False, True):
            return Combined(Call(op, (Variable(outcome(0)), other)), (aggregate,))
        two = aggregate, Aggregate(pick(self.draw, "count", "max"), other)
        return Combined(Call(op, (Variable(outcome(0)), Variable(outcome(1)))), two)

    def _count(self) -> ConstructTerm:
        kinds = [kind for kind in "kvw" if self.bound[kind]]
        return Aggregate("count", self._variable(pick(self.draw, *kinds))) if kinds else Value(Literal(1))

    def _order(self) -> Order:
        kinds = [kind for kind in "vwk" if self.bound[kind]]
        return Order(self._variable(pick(self.draw, *kinds)).name, pick(self.draw, False, True))

    def _all(self) -> ConstructTerm:
        kinds = [kind for kind in "kvw" if self.bound[kind]]
        if not kinds:
            return Value(Literal("none"))
        one, other = pick(self.draw, *kinds), pick(self.draw, *kinds)
        part = Make(one, (Value(self._variable(one)),))
        term = pick(
            self.draw,
            part,
            Make("item", (part, Make("n", (Aggregate("count", self._variable(other)),)))),
            Make("item", (part, Make("m", (All(Make(other, (Value(self._variable(other)),))),)))),
        )
        return All(term, order_by=(self._order(),) if pick(self.draw, False, True) else ())
