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

from ostinato.core.expressions import COMPARISONS, Call, Expr, Literal, UserCall, Variable
from ostinato.core.user_functions import UserFunction
from ostinato.errors import QueryError
from ostinato.rules.algebra.query_plan import plan_program
from ostinato.rules.kernels.layout import FIRST_NULL
from ostinato.rules.plan.normal_form import with_key
from ostinato.rules.plan.outputs import copied_attributes
from ostinato.rules.semantics.fixpoint import Patterns, derived_events, fixpoint
from ostinato.rules.syntax import nodes as n
from ostinato.rules.terms.data import from_row
from ostinato.rules.terms.event import IntervalEvent
from support.cel_patterns import cel_patterns
from support.generators.terms import Draw, Row, nested_element, nested_streams, pick, record

SECOND = 1_000_000_000
INCOMING, DERIVED = ("a", "b", "c"), ("d", "e", "f")
SCHEMA = pa.schema(
    {"type": pa.string(), "begin": pa.int64(), "end": pa.int64(), "k": pa.string(), "v": pa.int64(), "w": pa.float64()}
)
NAMES = {"k": ("K", "K", "L"), "v": ("V", "U"), "w": ("W", "Z")}  # variables by attribute, so that types agree
VALUES: dict[str, tuple[str | int | float, ...]] = {"k": ("x", "y"), "v": (1, 0, 2, FIRST_NULL), "w": (0.5, 1.0)}

FUNCTIONS = {
    "turned": UserFunction(lambda text: text[::-1] + "y" if text != "z" else None, (str,), str),
    "left": UserFunction(lambda number, by=3: number % by - 1, (int, int), int, least=1),
    "halved": UserFunction(lambda number: number / 2 if number < 2 else None, (float,), float),
}

Bound = dict[str, list[str]]  # the variables that a rule binds, by attribute


# Streams --------------------------------------------------------------------------------------------------------------

_attributes = record(
    k=st.sampled_from(["x", "y", "x", "y", "x", "z", None]),
    v=st.sampled_from([1, 0, 2, 1, 3, 1, FIRST_NULL, None]),
    w=st.sampled_from([0.5, 1.0, 2.0, 0.5, 2.5, 0.5, None]),
)


@st.composite
def streams(draw: Draw, max_size: int = 10) -> list[Row]:
    """Rows of SCHEMA by end, often close together, some of them twice; an attribute that is None is missing."""
    rows: list[Row] = []
    for _ in range(max(draw(st.integers(0, max_size)), draw(st.integers(0, max_size)))):
        end = draw(st.integers(0, 20)) if pick(draw, True, True, False) else draw(st.integers(0, 60))
        begin = max(0, end - pick(draw, 0, 1, 3, 0, 5, 10, 20))
        rows.append({"type": pick(draw, *INCOMING), "begin": begin, "end": end, **draw(_attributes)})
        if pick(draw, False, False, False, True):
            rows.append(rows[-1])  # equal ones are one event
    return sorted(rows, key=lambda row: row["end"])


def events_of(rows: Sequence[Row], ticks_per_second: int = 1) -> frozenset[IntervalEvent]:
    """The rows as events: equal ones are one."""
    return frozenset(
        IntervalEvent(row["begin"] * ticks_per_second, row["end"] * ticks_per_second, from_row(row["type"], row))
        for row in rows
    )


# Programs -------------------------------------------------------------------------------------------------------------

Strata = list[list[n.NormalRule]]

# Patterns over one or two labels; the attributes of matches are those of the last event, or of the partition.
PATTERNS: tuple[tuple[str, n.PatternLanguage], ...] = (
    ("SELECT {items} WHERE {0} AS x ; {1} AS y WITHIN 25 seconds", "cel"),
    ("SELECT {items} WHERE {0} AS x : {1} AS y FILTER y[v >= 1]", "cel"),
    ("SELECT MAX {items} WHERE ({0} AS x)+ ; {1} AS y WITHIN 20 seconds", "cel"),
    ("SELECT NXT {items} WHERE ANY AS x ; {0} AS z ; {1} AS y WITHIN 15 seconds", "cel"),
    ("SELECT * WHERE {0} AS x ; {1} AS y WITHIN 20 seconds PARTITION BY k", "cel"),
    ("[type = '{0}'] -> r . [type = '{1}' AND v >= r.v] WITHIN 30 seconds PARTITION BY k", "srem"),
    ("[type = '{0}'] . [type != '{0}']* . [type = '{1}'] WITHIN 30 seconds PARTITION BY k", "srem"),
    (
        "SELECT * FROM {0} MATCH_RECOGNIZE (PARTITION BY k MEASURES LAST(v) AS v PATTERN (A B) DEFINE B AS v > A.v)",
        "sql",
    ),
    (
        "SELECT k, v FROM {0} MATCH_RECOGNIZE (MEASURES FIRST(k) AS k, LAST(v) AS v AFTER MATCH SKIP TO NEXT ROW "
        "PATTERN (A B*? C) DEFINE A AS v >= 1, B AS k = 'x', C AS v < 2) WHERE k IS NOT NULL",
        "sql",
    ),
    (
        "SELECT * FROM {0} MATCH_RECOGNIZE (PARTITION BY k MEASURES count(*) AS v "
        "PATTERN (A B* C) DEFINE A AS v >= 1, B AS v = 1, C AS v <> 1)",
        "sql",
    ),
)


@st.composite
def programs(
    draw: Draw, *, alls: bool = True, recursion: bool = True, nested: bool = False, patterns: bool = False
) -> Strata:
    """The rules of d, then those of e, then those of f; a program for rows of `nested_streams` where `nested`.

    `alls` lets heads hold lists of elements, and `recursion` lets events be derived from their own kind.
    """
    return _program(draw, None, alls=alls, recursion=recursion, nested=nested, patterns=patterns)


@st.composite
def cases(
    draw: Draw,
    *,
    alls: bool = True,
    recursion: bool = True,
    nested: bool = False,
    functions: bool = False,
    patterns: bool = False,
) -> tuple[Strata, list[Row]]:
    """A program and a stream from which it mostly derives events. `functions`: it may call FUNCTIONS; `patterns`: it
    may have PATTERNS, over events each of which comes once."""
    rows = draw(nested_streams() if nested else streams())
    if patterns:
        rows = [row for place, row in enumerate(rows) if row not in rows[:place]]
    options = {"alls": alls, "recursion": recursion, "nested": nested, "functions": functions, "patterns": patterns}
    return _program(draw, events_of(rows), **options), rows


def matches_of(rows: Sequence[Row], ticks_per_second: int = 1) -> Patterns:
    """What patterns of a program match over the events of these rows."""
    return cel_patterns(events_of(rows, ticks_per_second), ticks_per_second, DERIVED)


def _program(
    draw: Draw,
    known: frozenset[IntervalEvent] | None,
    *,
    alls: bool,
    recursion: bool,
    nested: bool,
    functions: bool = False,
    patterns: bool = False,
) -> Strata:
    schema: dict[str, tuple[str, ...]] = dict.fromkeys(INCOMING, ("k", "v", "w"))
    strata: Strata = []
    keys: dict[str, tuple[str, ...]] = {}
    for label in DERIVED[: pick(draw, 1, 2, 3)]:
        writers = [
            _Writer(draw, dict(schema), nested, known, functions, patterns, keys=keys)
            for _ in range(pick(draw, 1, 1, 2))
        ]
        rules = [writer.rule(label, alls) for writer in writers]
        known = _more(rules, known)
        schema[label] = tuple(name for name in "kvw" if any(name in _columns(rule.head) for rule in rules))
        if recursion and schema[label] and pick(draw, False, False, True):
            rules.append(_Writer(draw, dict(schema), nested, known).recursive(label))
            known = _more(rules, known)
        strata.append(rules)
    strata = [_with_output(draw, rules, last=rules is strata[-1]) for rules in strata]
    numbers = count(1)
    return [[replace(rule, number=next(numbers)) for rule in rules] for rules in strata]


def _with_output(draw: Draw, rules: list[n.NormalRule], *, last: bool) -> list[n.NormalRule]:
    """The rules of a label, sometimes private where others follow that may read it, or with a limit."""
    if not last and pick(draw, False, False, False, True):
        return [replace(rule, private=True) for rule in rules]
    if pick(draw, True, True, False):
        return rules
    shown = [{label: name for name, label in copied_attributes(rule.head)} for rule in rules]
    by = [label for label in "kv" if all(label in each for each in shown) and pick(draw, True, True, False)]
    most, per = pick(draw, 1, 1, 2), _duration(pick(draw, 5, 2, 10, 30))
    return [
        replace(rule, limit=n.OutputLimit(most, per, tuple(dict.fromkeys(each[label] for label in by))))
        for rule, each in zip(rules, shown, strict=True)
    ]


def _more(rules: Sequence[n.NormalRule], known: frozenset[IntervalEvent] | None) -> frozenset[IntervalEvent] | None:
    return None if known is None else fixpoint([rules], known, ticks_per_second=1, patterns=_matches_among(known))


def _matches_among(known: frozenset[IntervalEvent]) -> Patterns:
    return cel_patterns([event for event in known if event.term.label in INCOMING], derived=DERIVED)


def program(strata: Strata) -> n.Ruleset:
    """The same rules as a program that was read from a text."""
    found = [
        each
        for rules in strata
        for rule in rules
        for each in (*rule.collects, *rule.negations)
        if isinstance(each, n.At)
    ]
    keys = {each.term.label: each.key for each in found if each.key is not None}
    return n.Ruleset(
        tuple(
            n.Rule(
                rule.head,
                n.Conjunction((*rule.events, *rule.timers, *rule.collects, *rule.negations), rule.where),
                rule.number,
                rule.private,
                rule.limit,
                rule.interval,
            )
            for rules in strata
            for rule in rules
        ),
        tuple(n.Table(label, tuple(map(n.KeyLabel, _labels(key)))) for label, key in keys.items()),
    )


def tables_of(strata: Strata) -> list[str]:
    """The tables that a program looks into."""
    return sorted(table.label for table in program(strata).tables)


def _labels(term: n.Element) -> list[str]:
    return [child.label for child in term.children if isinstance(child, n.Element)]


def _columns(head: n.Make) -> list[str]:
    return [child.label for child in head.children if isinstance(child, n.Make)]


def _idents(rule: n.NormalRule) -> list[str]:
    return [literal.ident for literal in (*rule.events, *rule.timers)]


def _duration(seconds: int) -> n.Duration:
    return n.Duration(seconds * SECOND, f"{seconds} sec")


@dataclass
class _Writer:
    """Writes one rule literal by literal, and knows what is bound so far."""

    draw: Draw
    schema: dict[str, tuple[str, ...]]  # attributes of each label that may be read
    nested: bool
    known: frozenset[IntervalEvent] | None = None  # what the parts of the rule are tried on
    functions: bool = False
    patterns: bool = False
    bound: Bound = field(default_factory=lambda: {"k": [], "v": [], "w": [], "t": []})
    literals: int = 0
    keys: dict[str, tuple[str, ...]] = field(default_factory=dict)  # of the tables of the program

    def rule(self, label: str, alls: bool) -> n.NormalRule:
        rule = self._grown(n.NormalRule(n.Make(label), ()), self._with_event("i"))
        for ident in ("j", "h")[: pick(self.draw, 1, 0, 1, 2)]:
            if ident == "h" and self._reads_derived(rule):  # the evaluator tries every combination of events
                break
            rule = self._grown(rule, self._with_event(ident))
        if len(rule.events) > 1 and (self._reads_derived(rule) or pick(self.draw, True, True, False)):
            rule = self._grown(rule, self._with_within)
        for ident in ("t", "u")[: pick(self.draw, 1, 0, 1, 2)]:
            rule = self._grown(rule, self._with_timer(ident))
        kinds = pick(self.draw, (), ("collect",), ("not",), ("collect", "not"), ("collect",), ("collect", "collect"))
        kinds = pick(self.draw, kinds, kinds, ("at",), ("at", "not"), ("at not",), ("at", "collect"), ("at", "at not"))
        for index, kind in enumerate(kinds):
            ways = {"collect": self._with_collect(index), "not": self._with_negation}
            rule = self._grown(rule, ways[kind] if kind in ways else self._with_row(negated=kind != "at"))
        if len(_idents(rule)) > 1 and pick(self.draw, True, False):
            rule = self._with_relation(rule)
        for _ in range(pick(self.draw, 0, 1, 1, 2)):
            rule = self._grown(rule, self._with_condition)
        if pick(self.draw, False, False, True):
            rule = self._grown(rule, self._with_condition_on_group)
        rule = replace(rule, head=self._with_times(self._head(label, alls), rule))
        return self._with_interval(rule) if pick(self.draw, False, False, True) else rule

    def _with_interval(self, rule: n.NormalRule) -> n.NormalRule:
        """The rule with a begin of its own, and an end where it is known to be the last."""
        idents = _idents(rule)
        begin = n.Moment(pick(self.draw, "begin", "end"), pick(self.draw, *idents))
        rule = replace(rule, interval=n.Interval(begin))
        ends = [n.Moment("end", ident) for ident in idents]
        for end in ends if pick(self.draw, True, False) else ():
            said = replace(rule, interval=n.Interval(begin, end))
            try:
                plan_program(program([[said]]))
            except QueryError:
                continue
            return said
        return rule

    def _with_times(self, head: n.Make, rule: n.NormalRule) -> n.Make:
        """The head, sometimes with times of the rule's events as values."""
        times: list[n.ConstructTerm] = []
        if pick(self.draw, False, False, True):
            times.append(n.Value(self._time(_idents(rule))))
        named = [collect.ident for collect in rule.collects if collect.ident is not None]
        if named and pick(self.draw, False, True):
            times = [n.Aggregate(pick(self.draw, "max", "min", "count"), self._time(named))]
        return replace(head, children=(*head.children, *(n.Make("at", (each,)) for each in times)))

    def _time(self, idents: Sequence[str]) -> Variable:
        return Variable(n.time_variable(pick(self.draw, "begin", "end"), pick(self.draw, *idents)))

    def _grown(self, rule: n.NormalRule, grow: Callable[[n.NormalRule], n.NormalRule]) -> n.NormalRule:
        """The rule with one more part: one that lets it derive something, mostly."""
        for _ in range(3):
            before = {kind: list(names) for kind, names in self.bound.items()}
            grown = grow(rule)
            if self._fires(grown) or pick(self.draw, *[False] * 7, True):
                return grown
            self.bound = before
        return rule if rule.events else grow(rule)

    def _fires(self, rule: n.NormalRule) -> bool:
        if self.known is None:
            return True
        matches = _matches_among(self.known)
        return bool(derived_events([[rule]], self.known, ticks_per_second=1, patterns=matches))

    def _reads_derived(self, rule: n.NormalRule) -> bool:
        return any(isinstance(event, n.CelPattern) or event.term.label in DERIVED for event in rule.events)

    def recursive(self, label: str) -> n.NormalRule:
        """An event of the same kind from an earlier one and another event, only of values that are there."""
        own = n.EventQuery("i", self._element(label))
        near = n.Temporal("within", ("i", "j"), _duration(pick(self.draw, 10, 5, 20)))

        def grow(rule: n.NormalRule) -> n.NormalRule:
            other = n.EventQuery("j", self._element(pick(self.draw, *INCOMING)))
            relation = n.Temporal(pick(self.draw, "before", "meets", "overlaps", "before"), ("i", "j"))
            return replace(rule, events=(own, other), where=(relation, near))

        rule = self._grown(n.NormalRule(n.Make(label), ()), grow)
        attributes = [name for name in self.schema[label] if self.bound[name]]
        children = tuple(n.Make(name, (n.Value(self._variable(name)),)) for name in attributes)
        return replace(rule, head=n.Make(label, children))

    # Terms

    def _label(self) -> str:
        labels = list(self.schema)
        return pick(self.draw, *INCOMING, labels[-1], labels[-1])

    def _element(self, label: str) -> n.Element:
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
            children.append(n.Optional(n.Element(optional[0], (n.Bind(own),))))
            self.bound[optional[0]].append(own)
        form = pick(self.draw, "partial", "partial", "partial", "ordered", "total")
        if form == "ordered" and not any(isinstance(child, n.Optional) for child in children):
            return n.Element(label, tuple(children), ordered=True)
        return n.Element(label, tuple(children), total=form == "total" and len(children) == len(self.schema[label]))

    def _attribute(self, name: str) -> n.QueryTerm:
        if pick(self.draw, False, False, False, True):
            return n.Element(name, (n.Const(pick(self.draw, *VALUES[name])),))
        variable = pick(self.draw, *NAMES[name])
        if variable not in self.bound[name]:
            self.bound[name].append(variable)
        return n.Element(name, (n.Bind(variable),), total=pick(self.draw, False, True))

    # Literals

    def _with_event(self, ident: str) -> Callable[[n.NormalRule], n.NormalRule]:
        if self.patterns and pick(self.draw, False, False, True):
            return lambda rule: replace(rule, events=(*rule.events, self._pattern(ident)))
        return lambda rule: replace(rule, events=(*rule.events, n.EventQuery(ident, self._element(self._label()))))

    def _pattern(self, ident: str) -> n.CelPattern:
        text, language = pick(self.draw, *PATTERNS)
        happen = sorted({event.term.label for event in self.known or ()} & self.schema.keys())
        labels = pick(self.draw, *(happen[-2:] or INCOMING)), pick(self.draw, *(happen or INCOMING))
        labels = labels if pick(self.draw, True, False) else labels[::-1]
        names = [name for name in ("k", "v") if name in self.schema[labels[1]]] or ["v"]
        query = text.format(*labels, items=", ".join(f"y.{name} AS {name}" for name in names))
        if "items" not in text:
            names = ["k", "v"] if language == "sql" else ["k"]
        term = n.Element("match", tuple(self._attribute(name) for name in names if pick(self.draw, True, True, False)))
        return n.CelPattern(ident, query, term, language)

    def _with_timer(self, ident: str) -> Callable[[n.NormalRule], n.NormalRule]:
        def grow(rule: n.NormalRule) -> n.NormalRule:
            if pick(self.draw, *[False] * 9, True):
                begin = self.draw(st.integers(0, 40))
                timer: n.Timer = n.AbsoluteTimer(ident, begin, begin + pick(self.draw, 20, 5, 0))
            elif pick(self.draw, *[False] * 7, True):
                timer = n.PeriodicTimer(ident, pick(self.draw, *n.PERIODIC_TIMERS), _duration(pick(self.draw, 10, 25)))
            else:
                kind, anchor = pick(self.draw, *n.RELATIVE_TIMERS), pick(self.draw, *_idents(rule))
                timer = n.RelativeTimer(ident, kind, anchor, _duration(pick(self.draw, 5, 2, 10, 20)))
            return replace(rule, timers=(*rule.timers, timer))

        return grow

    def _with_collect(self, index: int) -> Callable[[n.NormalRule], n.NormalRule]:
        def grow(rule: n.NormalRule) -> n.NormalRule:
            ident = f"c{index}" if pick(self.draw, False, True) else None
            collect = n.While(self._window(rule), self._element(self._label()), negated=False, ident=ident)
            return replace(rule, collects=(*rule.collects, collect))

        return grow

    def _with_negation(self, rule: n.NormalRule) -> n.NormalRule:
        before = {kind: list(names) for kind, names in self.bound.items()}
        negation = n.While(self._window(rule), self._element(self._label()), negated=True)
        self.bound = before  # what a negation binds is nobody's
        return replace(rule, negations=(*rule.negations, negation))

    def _with_row(self, *, negated: bool) -> Callable[[n.NormalRule], n.NormalRule]:
        def grow(rule: n.NormalRule) -> n.NormalRule:
            before = {kind: list(names) for kind, names in self.bound.items()}
            label = self._label()
            if label not in self.keys:
                shapes = (("k",), ("k",), ("q",), ("q", "k")) if self.nested and label in INCOMING else None
                known = self.schema[label]
                fits = [key for key in shapes or (("k",), ("k",), ("v",), ("k", "v")) if shapes or {*key} <= {*known}]
                if not fits:
                    return rule
                self.keys[label] = pick(self.draw, *fits)
            table = n.Table(label, tuple(map(n.KeyLabel, self.keys[label])))
            term = self._row(label) if pick(self.draw, True, False) and not self.nested else self._element(label)
            query = n.At(pick(self.draw, *_idents(rule)), term, negated)
            query = with_key(query, {label: table}, self.literals)
            if negated:
                self.bound = before
                return replace(rule, negations=(*rule.negations, query))
            return replace(rule, collects=(*rule.collects, query))

        return grow

    def _row(self, label: str) -> n.Element:
        """A term that has all of the key, and mostly something else: as tables are mostly read."""
        self.literals += 1
        names = [name for name in self.schema[label] if name in self.keys[label] or pick(self.draw, True, False)]
        return n.Element(label, tuple(map(self._attribute, names)))

    def _window(self, rule: n.NormalRule) -> str:
        return pick(self.draw, *([timer.ident for timer in rule.timers] or _idents(rule)))

    # Conditions

    def _with_within(self, rule: n.NormalRule) -> n.NormalRule:
        near = n.Temporal("within", tuple(_idents(rule)), _duration(pick(self.draw, 20, 10, 40)))
        return replace(rule, where=(*rule.where, near))

    def _with_condition(self, rule: n.NormalRule) -> n.NormalRule:
        return replace(rule, where=(*rule.where, self._condition(_idents(rule))))

    def _with_condition_on_group(self, rule: n.NormalRule) -> n.NormalRule:
        kinds = [kind for kind in "vwk" if self.bound[kind]]
        if not kinds:
            return rule
        kind = pick(self.draw, *kinds)
        name = pick(
            self.draw, *(("count", "max", "first") if kind == "k" else ("count", "avg", "sum", "median", "last"))
        )
        order = (self._order(),) if name in ("first", "last") and pick(self.draw, False, True) else ()
        aggregate = n.Aggregate(name, self._variable(kind), order, self._over())
        constant = Literal(pick(self.draw, 1, 2, 0) if name == "count" else pick(self.draw, *VALUES[kind]))
        test: Expr = Call(pick(self.draw, *COMPARISONS), (Variable(n.aggregate_variable(0)), constant))
        form = pick(self.draw, "plain", "or", "temporal")
        if form == "or":
            test = Call("or", (test, self._comparison()))
        condition: n.Condition = n.Combined(test, (aggregate,))
        if form == "temporal" and len(_idents(rule)) > 1:
            condition = n.Formula("or", (condition, self._temporal(_idents(rule))))
        return replace(rule, where=(*rule.where, condition))

    def _with_relation(self, rule: n.NormalRule) -> n.NormalRule:
        """Some relation that two of the events have: the rarer ones would not be met with by chance."""
        one, other = self._two(_idents(rule))
        start = pick(self.draw, *range(len(n.RELATIONS)))
        related = [
            replace(rule, where=(*rule.where, n.Temporal(relation, (one, other))))
            for relation in (*n.RELATIONS[start:], *n.RELATIONS[:start])
        ]
        return next((each for each in related if self._fires(each)), rule)

    def _two(self, idents: Sequence[str]) -> tuple[str, str]:
        one = pick(self.draw, *idents)
        return one, pick(self.draw, *(ident for ident in idents if ident != one))

    def _condition(self, idents: Sequence[str]) -> n.Condition:
        kind = pick(self.draw, "temporal", "data", "data", "temporal", "or", "not", "time")
        if kind == "time":
            other = pick(self.draw, Literal(self.draw(st.integers(0, 40))), self._time(idents))
            return n.Data(Call(pick(self.draw, *COMPARISONS), (self._time(idents), other)))
        if kind == "temporal" and len(idents) > 1:
            return self._temporal(idents)
        if kind in ("or", "not") and len(idents) > 1:
            if kind == "not":
                return n.Formula("not", (self._temporal(idents),))
            return n.Formula("or", (self._temporal(idents), n.Data(self._comparison())))
        test = self._comparison()
        if pick(self.draw, False, False, False, True):
            test = Call("or", (test, Call("is_null", (test.args[0],))))
        return n.Data(test)

    def _temporal(self, idents: Sequence[str]) -> n.Temporal:
        one, other = self._two(idents)
        relation = pick(self.draw, "before", *n.RELATIONS, "apart-by", "within")
        if relation in ("within", "apart-by"):
            events = (one,) if pick(self.draw, False, False, False, True) else (one, other)
            return n.Temporal(relation, events, _duration(pick(self.draw, 5, 10, 1)))
        return n.Temporal(relation, (one, other))

    def _comparison(self) -> Call:
        kinds = [kind for kind in "vwk" if self.bound[kind]]
        if not kinds:
            return Call("=", (Literal(1), Literal(1)))
        kind = pick(self.draw, *kinds)
        left = self._called(kind, self._variable(kind))
        right = pick(self.draw, self._variable(kind), Literal(pick(self.draw, *VALUES[kind])))
        test = Call(pick(self.draw, *COMPARISONS), (left, right))
        if kind != "k" and pick(self.draw, False, True):
            test = Call("<=", (Call("+", (left, Literal(1))), Call("*", (right, Literal(2)))))
        return test

    def _called(self, kind: str, expr: Expr) -> Expr:
        """The value, sometimes as a function of the user makes another one of the same type of it."""
        if not self.functions or not pick(self.draw, True, False):
            return expr
        name = {"k": "turned", "v": "left", "w": "halved"}[kind]
        args = (expr, Literal(pick(self.draw, 2, 3))) if kind == "v" and pick(self.draw, True, False) else (expr,)
        return UserCall(name, args, function=FUNCTIONS[name])

    def _variable(self, kind: str) -> Variable:
        return Variable(pick(self.draw, *self.bound[kind]))

    # Heads

    def _head(self, label: str, alls: bool) -> n.Make:
        children = [n.Make(name, (self._content(name),)) for name in "kvw" if pick(self.draw, True, True, False)]
        if self.bound["t"] and pick(self.draw, True, False):
            children.append(n.Make("s", (n.Value(self._variable("t")),)))
        if alls and pick(self.draw, False, False, True):
            children.append(n.Make("l", (self._all(),)))
        return n.Make(label, tuple(children) or (n.Make("k", (self._content("k"),)),))

    def _content(self, name: str) -> n.ConstructTerm:
        if name == "k":
            return self._of("k", ("min", "max", "first", "last")) if self.bound["k"] else n.Value(Literal("x"))
        if name == "v":
            return self._of("v", ("sum", "min", "max", "first", "last")) if self.bound["v"] else self._count()
        if self.bound["w"]:
            return self._of("w", ("avg", "sum", "min", "max", "first", "last", "median", "stddev"))
        name = pick(self.draw, "avg", "median")
        return n.Aggregate(name, self._variable("v"), over=self._over()) if self.bound["v"] else n.Value(Literal(0.5))

    def _over(self) -> n.Over:
        over: n.Over = pick(self.draw, "all", "each", "distinct", "all")
        return over

    def _of(self, kind: str, aggregates: Sequence[str]) -> n.ConstructTerm:
        """A variable of the kind, something computed from it, or an aggregate."""
        variable: Expr = self._variable(kind)
        form = pick(self.draw, "plain", "plain", "aggregate", "computed", "aggregate", "counted")
        if form == "aggregate":
            name = pick(self.draw, *aggregates)
            order = (self._order(),) if name in ("first", "last") and pick(self.draw, False, True) else ()
            aggregate = n.Aggregate(name, variable, order, self._over())
            if name == "stddev":  # its last digits depend on the order of the values
                return n.Combined(Call("round", (Variable(n.aggregate_variable(0)), Literal(6))), (aggregate,))
            return self._combined(aggregate, kind) if kind != "k" and pick(self.draw, False, False, True) else aggregate
        if form == "counted" and kind == "v":
            return self._count()
        if form == "computed" and self.functions:
            return n.Value(self._called(kind, variable))
        if form == "computed" and kind == "k":
            other = self._variable(kind)
            cases = Call("case", (Call("=", (variable, Literal("x"))), other, Literal(pick(self.draw, "q", None))))
            joined = Call("concat", (Call("upper", (variable,)), Call("substring", (other, Literal(1), Literal(1)))))
            return n.Value(pick(self.draw, cases, joined))
        if form == "computed" and pick(self.draw, False, False, True):
            test = Call(pick(self.draw, *COMPARISONS), (variable, self._variable(kind)))
            return n.Value(Call("case", (test, variable, pick(self.draw, Literal(1), Literal(None)))))
        if form == "computed":
            return n.Value(Call(pick(self.draw, "+", "*"), (variable, Literal(2 if kind == "v" else 0.5))))
        return n.Value(variable)

    def _combined(self, aggregate: n.Aggregate, kind: str) -> n.ConstructTerm:
        """The aggregate with another one, or with a variable outside of it."""
        other = self._variable(kind)
        op = pick(self.draw, "+", "-", "*")
        if pick(self.draw, False, True):
            return n.Combined(Call(op, (Variable(n.aggregate_variable(0)), other)), (aggregate,))
        two = aggregate, n.Aggregate(pick(self.draw, "count", "max"), other, over=self._over())
        return n.Combined(Call(op, (Variable(n.aggregate_variable(0)), Variable(n.aggregate_variable(1)))), two)

    def _count(self) -> n.ConstructTerm:
        kinds = [kind for kind in "kvw" if self.bound[kind]]
        if not kinds:
            return n.Value(Literal(1))
        return n.Aggregate("count", self._variable(pick(self.draw, *kinds)), over=self._over())

    def _order(self) -> n.Order:
        kinds = [kind for kind in "vwk" if self.bound[kind]]
        return n.Order(self._variable(pick(self.draw, *kinds)).name, pick(self.draw, False, True))

    def _all(self) -> n.ConstructTerm:
        kinds = [kind for kind in "kvw" if self.bound[kind]]
        if not kinds:
            return n.Value(Literal("none"))
        one, other = pick(self.draw, *kinds), pick(self.draw, *kinds)
        part = n.Make(one, (n.Value(self._variable(one)),))
        term = pick(
            self.draw,
            part,
            n.Make("item", (part, n.Make("n", (n.Aggregate("count", self._variable(other)),)))),
            n.Make("item", (part, n.Make("m", (n.All(n.Make(other, (n.Value(self._variable(other)),))),)))),
        )
        return n.All(term, order_by=(self._order(),) if pick(self.draw, False, True) else ())
