"""Random CEL queries and streams for property tests: legal by construction, small, and biased so that matches exist.

Events have the attributes v (small integer or null), s (a short text or null), k (a key or null), ts (seconds, never
going back, with ties), n (an integer that never goes back, for WITHIN … ON n), m (one that never goes back among the
events of one k), t (the time as a timestamp, or null) and o (v and s once more, in nested data that may be null).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from ostinato.core.expressions import (
    COMPARISONS,
    COUNT_DISTINCT,
    CURRENT,
    FIELD,
    Attribute,
    Call,
    Duration,
    Expr,
    Literal,
    Variable,
)
from ostinato.core.text.build import flat_call
from ostinato.core.window_clause import Window
from ostinato.errors import LimitError, QueryError
from ostinato.patterns.automata.from_formula import build_transducer
from ostinato.patterns.automata.optimise import trim
from ostinato.patterns.automata.registers import check_written
from ostinato.patterns.plan.absences import split_branches
from ostinato.patterns.plan.passes import normalise
from ostinato.patterns.syntax import nodes
from ostinato.patterns.syntax.cel.groups import Groups
from ostinato.patterns.syntax.nodes import Formula
from ostinato.patterns.syntax.part_numbers import part_numbers

Draw = Callable[[st.SearchStrategy[Any]], Any]
Row = dict[str, Any]

SECOND = 1_000_000_000
START = datetime(2026, 1, 1)
SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "v": pa.int64(),
        "s": pa.string(),
        "k": pa.int64(),
        "ts": pa.int64(),
        "n": pa.int64(),
        "m": pa.int64(),
        "t": pa.timestamp("us"),
        "o": pa.struct({"v": pa.int64(), "p": pa.struct({"s": pa.string()})}),
    }
)


@cache
def _below(count: int) -> st.SearchStrategy[int]:
    return st.integers(0, count - 1)


def _pick(draw: Draw, *options: Any) -> Any:
    """One of the options, shrinking to the first. (st.sampled_from, without building a strategy for each draw.)"""
    return options[draw(_below(len(options)))]


def _rarely(draw: Draw) -> bool:
    return _pick(draw, False, False, False, False, True)


# Streams --------------------------------------------------------------------------------------------------------------

_events = st.tuples(
    st.sampled_from(["A", "B", "C", "A", "B", "A", "B", "C", "D", None]),
    st.sampled_from([1, 0, 2, -1, -2, 1, 2, None, None]),
    st.sampled_from(["a", "b", "c", "a", "b", None]),
    st.sampled_from([1, 1, 1, 2, None]),
    st.sampled_from([0, 1, 1, 2, 3]),
    st.sampled_from([0, 1, 2]),
)


@st.composite
def streams(draw: Draw, max_size: int = 9) -> list[Row]:
    """Rows in stream order; the time is in `ts`."""
    rows: list[Row] = []
    ts = n = 0
    # Short streams have few matches: of two lengths take the greater.
    for _ in range(max(draw(_below(max_size + 1)), draw(_below(max_size + 1)))):
        relation, v, s, k, later, more = draw(_events)
        ts, n = ts + later, n + more
        row: Row = {"type": relation, "v": v, "s": s, "k": k, "ts": ts, "n": n, "m": n - 9 * (k or 0)}
        row["t"] = None if v is None else START + timedelta(seconds=ts)
        row["o"] = None if k is None else {"v": v, "p": None if v == 0 else {"s": s}}
        rows.append(row)
    return rows


def table(rows: Iterable[Row]) -> pa.Table:
    """The same rows as Arrow data, with types even where every value is null."""
    return pa.Table.from_pylist(list(rows), schema=SCHEMA)


# Predicates -----------------------------------------------------------------------------------------------------------


def predicate(draw: Draw, variable: str) -> Expr:
    """A condition on one variable, mostly easy to meet."""
    if not _rarely(draw):
        return _comparison(draw, variable)
    both = flat_call(_pick(draw, "and", "or"), [_comparison(draw, variable), _comparison(draw, variable)])
    return _pick(draw, both, Call("not", (both,)))


def _comparison(draw: Draw, variable: str) -> Expr:
    v, s = Attribute(variable, "v"), Attribute(variable, "s")
    kind = _pick(
        draw, "usual", "usual", "usual", "number", "number", "text", "text", "null", "in", "like", "rlike", "nested",
        "duration", "case", "cast",
    )  # fmt: skip
    if kind == "usual":  # equal conditions in different places are a case of their own
        return Call(">", (v, Literal(0)))
    if kind == "number":
        odd = (Call("+", (v, Literal(1))), Call("%", (v, Literal(2))), Call("/", (Literal(2), v)), Call("abs", (v,)))
        left = _pick(draw, *odd) if _rarely(draw) else v
        return Call(_pick(draw, ">=", "<=", "!=", ">", "<", "="), (left, Literal(_pick(draw, 0, 1, -1, 2, -2))))
    if kind == "text":
        return Call(_pick(draw, "!=", "=", "<="), (s, Literal(_pick(draw, "a", "b", "c"))))
    if kind == "null":
        return _pick(draw, Call("not", (Call("is_null", (v,)),)), Call("is_null", (s,)))
    if kind == "in":
        choices = _pick(draw, (0, 1), (0, 1, -1), (2, None))
        return Call("in", (v, *map(Literal, choices)))
    if kind == "rlike":
        return Call("rlike", (s, Literal(_pick(draw, "a|b", "^[bc]$", "", "^a*$"))))
    if kind == "nested" and variable != CURRENT:  # in an SREM `o.v` would be of a register o
        o = Attribute(variable, "o")
        deep = Call(FIELD, (Call(FIELD, (o, Literal("p"))), Literal("s")))
        return _pick(
            draw, Call(">", (Call(FIELD, (o, Literal("v"))), Literal(0))), Call("=", (deep, Literal("a"))),
            Call("is_null", (deep,)),
        )  # fmt: skip
    if kind == "case":
        case = Call("case", (Call(">", (v, Literal(0))), s, Call("is_null", (v,)), Literal("b"), Literal(None)))
        return Call("=", (case, Literal(_pick(draw, "b", "a"))))
    if kind == "cast":
        number = Call("try_cast", (Call("concat", (Call("try_cast", (v, Literal("text"))), s)), Literal("int")))
        return _pick(draw, Call("try_cast", (v, Literal("boolean"))), Call("is_null", (number,)))
    if kind == "duration":
        time = _pick(draw, Attribute(variable, "n"), Call("-", (Attribute(variable, "t"), Literal(START))))
        return Call(_pick(draw, "<", ">=", "!="), (time, Literal(_duration(draw))))
    return Call("like", (s, Literal(_pick(draw, "%", "a%", "_", "%b"))))


def _duration(draw: Draw) -> Duration:
    return Duration(int(_pick(draw, 2, 1, 0, 2.5, 5, -1) * SECOND))


def _condition(draw: Draw, names: list[str], correlated: bool) -> Expr:
    """A condition over one or two of the variables; only with `correlated` it compares them with each other."""
    first, second = _pick(draw, *names), _pick(draw, *names)
    if first != second and correlated and _pick(draw, True, True, False):
        return _correlated(draw, first, second, _pick(draw, *names))
    if first == second or _pick(draw, True, True, False):
        return predicate(draw, first)
    both = flat_call(_pick(draw, "and", "or"), [predicate(draw, first), predicate(draw, second)])
    return _pick(draw, both, both, Call("not", (both,)))


def _correlated(draw: Draw, first: str, second: str, third: str) -> Expr:
    """A condition that compares events with each other."""
    attribute = _pick(draw, "k", "v", "s")
    equal = Call("=", (Attribute(first, attribute), Attribute(second, attribute)))
    kind = _pick(
        draw, "equal", "equal", "compare", "compare", "calculate", "both", "or", "not", "in", "null", "time", "nested"
    )
    if kind == "equal":
        return equal
    if kind == "time":
        time = _pick(draw, "n", "t")
        one, other, span = Attribute(first, time), Attribute(second, time), Literal(_duration(draw))
        between = Call("-", (other, one))
        left, right = _pick(
            draw, (between, span), (Call("+", (one, span)), other), (Call("abs", (between,)), span),
            (Call("+", (between, span)), Literal(Duration(SECOND))),
        )  # fmt: skip
        return Call(_pick(draw, *COMPARISONS), (left, right))
    if kind == "nested":
        fields = tuple(Call(FIELD, (Attribute(name, "o"), Literal("v"))) for name in (first, second))
        return Call(_pick(draw, *COMPARISONS), fields)
    compared = Call(_pick(draw, *COMPARISONS), (Attribute(first, attribute), Attribute(second, attribute)))
    if kind == "compare":
        return compared
    if kind == "calculate":
        left = Call(_pick(draw, "+", "-", "*", "/", "%"), (Attribute(first, "v"), Attribute(second, "v")))
        right = _pick(draw, Attribute(third, "v"), Literal(1), Call("neg", (Attribute(second, "v"),)))
        return Call(_pick(draw, *COMPARISONS), (left, right))
    if kind == "both":
        return Call("and", (equal, Call(_pick(draw, *COMPARISONS), (Attribute(first, "v"), Attribute(second, "v")))))
    if kind == "or":
        return Call("or", (compared, predicate(draw, third)))
    if kind == "not":
        return Call("not", (Call("and", (compared, predicate(draw, third))),))
    if kind == "in":
        return Call("in", (Attribute(first, "v"), Attribute(second, "v"), Literal(2)))
    return Call("is_null", (Call("+", (Attribute(first, "v"), Attribute(second, "v"))),))


def _looking_back(draw: Draw, earlier: str, own: str) -> Expr:
    """A condition inside a loop on what `earlier` was in the rounds before; mostly one that the first round passes."""
    attribute = _pick(draw, "v", "v", "v", "s")
    value, other = Attribute(earlier, attribute), Attribute(own, attribute)
    ops = ("prev", "prev", "min", "max", "first", "last", *(("sum", "sum", "avg") if attribute == "v" else ()))
    asked = Call(_pick(draw, *ops), (value,))
    kind = _pick(draw, "compare", "compare", "compare", "count", "calculate")
    if kind == "count":
        counted = _pick(draw, Variable(earlier), Variable(earlier), value)
        number = _pick(draw, Literal(1), Attribute(own, "v"))
        return Call(_pick(draw, *COMPARISONS), (Call("count", (counted,)), number))
    compared = Call(_pick(draw, *COMPARISONS), (asked, other))
    if kind == "calculate" and attribute == "v":
        compared = Call(_pick(draw, *COMPARISONS), (Call(_pick(draw, "+", "-", "*"), (asked, other)), Literal(1)))
    first = _pick(draw, Call("is_null", (asked,)), Call("=", (Call("count", (Variable(earlier),)), Literal(0))))
    return _pick(draw, flat_call("or", [first, compared]), flat_call("or", [compared, first]), compared)


# Formulas -------------------------------------------------------------------------------------------------------------


@st.composite
def formulas(
    draw: Draw,
    *,
    max_depth: int = 3,
    absent: bool = True,
    wider_filters: bool = False,
    reuse: bool = False,
    correlated: bool = False,
    looks_back: bool = False,
) -> Formula:
    """A well-formed formula, NOT only between the parts of a sequence.

    wider_filters: filters may sit below the place that binds their variable. reuse: variables may be used again
    anywhere, so that parts can never match. correlated: filters may compare events with each other.
    looks_back: those in loops may ask for earlier rounds.
    """
    shape = _Shape(draw, absent=absent, reuse=reuse).formula(max_depth)
    return _filtered(draw, shape, frozenset(), wider_filters, correlated, frozenset() if looks_back else None)


@st.composite
def absent_formulas(draw: Draw) -> nodes.AbsentFormula:
    return _Shape(draw, absent=True, reuse=False).absent_formula()


@dataclass
class _Shape:
    """Draws formulas without filters. Variables are x1, x2, …; `used` counts those taken on the way to this place,
    `bare` and `absents` the events without a name and under NOT in the whole formula."""

    draw: Draw
    absent: bool
    reuse: bool
    used: int = 0
    bare: int = 0
    absents: int = 0

    def formula(self, depth: int) -> Formula:
        kinds = ("event", "event", "sequence", "sequence", "or", "repeat", "optional", "and")
        kind = _pick(self.draw, *kinds) if depth else "event"
        if kind == "sequence":
            return self._sequence(depth - 1)
        if kind == "or":
            return self._or(depth - 1)
        if kind == "repeat":
            return self._repeat(depth - 1)
        if kind == "optional":
            return nodes.Optional(self.formula(depth - 1))
        if kind == "and":
            return nodes.And((self.formula(depth - 1), self.formula(depth - 1)), _pick(self.draw, False, True))
        return self._event()

    def _repeat(self, depth: int) -> nodes.Repeat:
        body, link = self.formula(depth), self._link()
        least, most = _pick(self.draw, (1, None), (1, None), (2, None), (2, 2), (1, 2), (2, 3), (1, 1))
        until = (self.absence(),) if self.absent and _rarely(self.draw) else ()
        return nodes.Repeat(body, link, least, most, until)

    def _link(self) -> nodes.Link:
        return _pick(self.draw, ";", ";", ";", ";", ":", "->")

    def _event(self) -> nodes.Event:
        relation = _pick(self.draw, "A", "B", None, "A", "B", "C", None, "D")
        if self.reuse:
            return nodes.Event(relation, _pick(self.draw, "x1", "x2", "x3"))
        if _rarely(self.draw):  # no AS: numbered in the order of the text, as the parser does
            self.bare += 1
            return nodes.Event(relation, f"#{self.bare}")
        self.used += 1
        return nodes.Event(relation, f"x{self.used}")

    def _sequence(self, depth: int) -> nodes.Sequence:
        link = self._link()
        parts: list[Formula] = [self.formula(depth)]
        for _ in range(_pick(self.draw, 1, 1, 1, 2)):
            before, after = parts[-1], self.formula(depth)
            sure = not nodes.nullable(before) and not nodes.nullable(after)
            while self.absent and link == ";" and sure and _rarely(self.draw):
                kind = _pick(self.draw, "event", "event", "event", "formula", "for", "at once")
                if kind == "at once" and parts[-1] is before:
                    parts[-1] = nodes.Sequence((before, self.absence()), ":")
                elif kind == "for":
                    parts.append(replace(self.absence(), lasting=_lasting(self.draw)))
                else:
                    parts.append(self.absent_formula() if kind == "formula" else self.absence())
            parts.append(after)
        return nodes.Sequence(tuple(parts), link)

    def absent_formula(self) -> nodes.AbsentFormula:
        """NOT of a formula of two events or more, each with a condition of its own or none."""
        body = _Shape(self.draw, absent=True, reuse=False, used=10 * self.absents + 100).formula(2)
        assume(not nodes.nullable(body) and not isinstance(body, nodes.Event))
        events = body.parts if isinstance(body, nodes.Or) else (body,)
        assume(not all(isinstance(event, nodes.Event) for event in events))
        self.absents += 1
        return nodes.AbsentFormula(_tested(self.draw, body))

    def absence(self) -> nodes.Absent:
        self.absents += 1
        event = nodes.Event(_pick(self.draw, "A", "B", "C", "D", None), f"n{self.absents}")
        return nodes.Absent(event, predicate(self.draw, event.variable) if _pick(self.draw, False, True) else None)

    def _or(self, depth: int) -> nodes.Or:
        # All branches take their variables from the same place on, so that the whole binds most of them.
        start, most, parts = self.used, self.used, []
        for _ in range(_pick(self.draw, 2, 2, 3)):
            self.used = start
            parts.append(self.formula(depth))
            most = max(most, self.used)
        self.used = most
        return nodes.Or(tuple(parts))


def _tested(draw: Draw, formula: Formula) -> Formula:
    """The formula with conditions on some of its events, all of which have names."""
    if isinstance(formula, nodes.Event):
        event = replace(formula, variable=formula.variable.replace("#", "b"))
        return nodes.Filter(event, predicate(draw, event.variable)) if _pick(draw, False, True) else event
    return nodes.rebuild(formula, lambda part: _tested(draw, part))


def _filtered(
    draw: Draw,
    formula: Formula,
    scope: frozenset[str],
    wider: bool,
    correlated: bool,
    loops: frozenset[str] | None = None,
) -> Formula:
    """The formula with filters on some of its nodes, each on variables that are bound there. `loops` are variables of
    the loops around it, on which conditions may look back."""
    if isinstance(formula, nodes.AbsentFormula):
        return formula
    if isinstance(formula, nodes.Absent):
        if correlated and _named(scope) and not formula.event.variable.startswith("#") and _pick(draw, True, False):
            test = _correlated(draw, formula.event.variable, _pick(draw, *_named(scope)), formula.event.variable)
            return replace(formula, predicate=test)
        return formula
    outer = scope - nodes.bound(formula)
    scope = scope | nodes.bound(formula)
    # A + gives the variables of its body new values in every iteration: the outer ones of that name are out of sight.
    inner = scope - nodes.vdef_plus(formula.body) if isinstance(formula, nodes.Repeat) else scope
    rounds = loops
    if isinstance(formula, nodes.Repeat) and loops is not None:
        rounds = loops - nodes.vdef_plus(formula.body) | nodes.bound(formula.body)
    result = nodes.rebuild(
        formula, lambda child: _filtered(draw, child, inner if wider else frozenset(), wider, correlated, rounds)
    )
    if nodes.nullable(result):
        return result  # a condition would have nothing to test where it is left out
    if isinstance(result, nodes.Or) and _named(outer) and _pick(draw, True, False):
        # A condition on an earlier event decides between the branches, as in φ6.
        first, *others = result.parts
        result = replace(result, parts=(nodes.Filter(first, _condition(draw, _named(outer), correlated)), *others))
    names = _named(outer if _pick(draw, True, False) else scope) or _named(scope)
    wanted = _pick(draw, True, False) if correlated else _rarely(draw)
    if names and loops and _named(loops) and _pick(draw, True, False):
        test = _looking_back(draw, _pick(draw, *_named(loops)), _pick(draw, *names))
        result = nodes.Filter(result, test)
    return nodes.Filter(result, _condition(draw, names, correlated)) if names and wanted else result


def _named(variables: Iterable[str]) -> list[str]:
    return sorted(variable for variable in variables if not variable.startswith("#"))


# Queries --------------------------------------------------------------------------------------------------------------


def _window(draw: Draw, kind: str) -> Window:
    if kind == "events":
        count = _pick(draw, 6, 5, 4, 3, 2, 1)
        return Window("events", count, text=f"{count} EVENTS")
    if kind == "attribute":
        amount = _pick(draw, 6, 4, 3, 2, 1, 0)
        return Window("attribute", amount, "n", text=f"{amount} ON n")
    seconds = _pick(draw, 8, 5, 3, 2.5, 2, 1, 0)
    return Window("time", int(seconds * SECOND), text=f"{seconds} seconds")


@st.composite
def queries(
    draw: Draw,
    /,
    *,
    trailing: bool | None = None,
    branches: bool = False,
    items: bool = True,
    partitions: bool = True,
    **options: Any,
) -> nodes.Query:
    """A whole query. `options` are those of `formulas`; trailing: whether NOT is at the end, None for sometimes;
    branches: whether that may be the end of a branch of OR; items=False: SELECT *."""
    formula = draw(formulas(**options))
    kind = _pick(draw, None, None, None, "events", "time", "attribute")
    window = _window(draw, kind) if kind else None
    consume: nodes.Consume = _pick(draw, "NONE", "NONE", "PARTITION", "ANY")
    if trailing:
        assume(not nodes.nullable(formula))
    rarely = trailing is None and options.get("absent", True) and not nodes.nullable(formula) and _rarely(draw)
    if trailing or rarely:
        lasting = _lasting(draw) if _pick(draw, True, False) else None
        plain, formula, consume = formula, _ending(draw, formula, lasting), "NONE"
        if branches and _pick(draw, True, False):
            formula = _branches(draw, plain, formula)
        window = window if lasting is not None else _window(draw, "time")
    if options.get("absent", True) and not nodes.nullable(formula) and _rarely(draw):
        formula = _beginning(draw, formula)
    groups = _groups(draw, formula)
    partition_by: tuple[str, ...] = _pick(draw, (), (), ("k",)) if partitions else ()
    if partition_by and window is not None and window.kind == "attribute":
        window = replace(window, attribute="m", text=window.text.replace("n", "m"))
    if options.get("wider_filters"):
        assume(not _looks_ahead(formula))
    return nodes.Query(
        formula,
        strategy=_pick(draw, "ALL", "ALL", "MAX", "LAST", "NXT", "STRICT"),
        items=_items(draw, formula, groups) if items else None,
        partition_by=partition_by,
        window=window,
        consume=consume,
        groups=groups,
    )


def _looks_ahead(formula: Formula) -> bool:
    """Whether a `->` would have to know an event that may come later, which is refused as it is for NOT."""
    try:
        branches = split_branches(normalise(nodes.Query(formula))[-1][1].formula)
        check_written(trim(build_transducer([core for core, _ in branches])))
    except QueryError as error:
        return "an event that must not come" in error.reason
    except LimitError:
        return False
    return False


def _groups(draw: Draw, formula: Formula) -> Groups:
    """A name for some part of the formula whose variables are used nowhere else; often there is none."""
    if not _pick(draw, True, False):
        return ()
    events = Counter(part.variable for part in nodes.subformulas(formula) if isinstance(part, nodes.Event))
    part = _pick(draw, *nodes.subformulas(formula))
    own = Counter(event.variable for event in nodes.subformulas(part) if isinstance(event, nodes.Event))
    return (("g", tuple(sorted(own))),) if own and all(events[name] == own[name] for name in own) else ()


def _lasting(draw: Draw) -> int:
    """The time of FOR."""
    return int(_pick(draw, 2, 1, 3, 0, 2.5, 5) * SECOND)


def _beginning(draw: Draw, formula: Formula) -> Formula:
    """The formula with NOT … FOR as the first part of its outermost sequence, below the top filters."""
    if isinstance(formula, nodes.Filter):
        return replace(formula, body=_beginning(draw, formula.body))
    first = replace(_Shape(draw, absent=True, reuse=False, absents=200).absence(), lasting=_lasting(draw))
    if isinstance(formula, nodes.Sequence) and formula.link == ";":
        return replace(formula, parts=(first, *formula.parts))
    return nodes.Sequence((first, formula))


def _ending(draw: Draw, formula: Formula, lasting: int | None) -> Formula:
    """The formula with NOT as the last part of its outermost sequence, below the top filters."""
    if isinstance(formula, nodes.Filter):
        return replace(formula, body=_ending(draw, formula.body, lasting))
    last = replace(_Shape(draw, absent=True, reuse=False, absents=100).absence(), lasting=lasting)
    if lasting is None and _rarely(draw):
        return nodes.Sequence((formula, last), ":")
    if isinstance(formula, nodes.Sequence) and formula.link == ";" and not nodes.nullable(formula.parts[-1]):
        return replace(formula, parts=(*formula.parts, last))
    return nodes.Sequence((formula, last))


def _branches(draw: Draw, plain: Formula, ended: Formula) -> Formula:
    """An OR of a formula with NOT at its end and another, perhaps behind an event or with a further NOT."""
    pair = nodes.Sequence((nodes.Event("B", "w1"), nodes.Event(None, "w2")))
    other = _pick(draw, plain, nodes.Event(_pick(draw, "A", None), "w1"), pair)
    if _pick(draw, True, False):
        other = _ending(draw, other, _lasting(draw))
    either: Formula = nodes.Or(_pick(draw, (ended, other), (other, ended)))
    if _rarely(draw):
        either = nodes.Sequence((nodes.Event("A", "w0"), either), _pick(draw, ";", ":"))
    if _rarely(draw):
        either = nodes.Or((either, nodes.Event("C", "w3")))
    at_once = any(isinstance(part, nodes.Sequence) and part.link == ":" for part in nodes.subformulas(either))
    return _ending(draw, either, _lasting(draw)) if not at_once and _rarely(draw) else either


def _items(draw: Draw, formula: Formula, groups: Groups) -> tuple[nodes.Item, ...] | None:
    names = [*_named(nodes.vdef(formula)), *(name for name, _ in groups for _ in range(2))]
    if not names or _pick(draw, True, False):
        return None
    items = []
    for index in range(_pick(draw, 1, 2, 3)):
        x = _pick(draw, *names)
        value, whole = Attribute(x, "v"), Variable(x)
        aggregate = Call(_pick(draw, "sum", "avg", "min", "max", "first", "last", COUNT_DISTINCT), (value,))
        choices: list[Expr] = [whole, whole, value, Call("count", (whole,)), aggregate]
        expr = _pick(draw, *choices)
        items.append(nodes.Item(expr, f"c{index}"))
    return tuple(items)


@st.composite
def correlated_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query that compares at least two of its events with each other. `options` are those of `queries`."""
    query = draw(queries(correlated=True, looks_back=True, wider_filters=True, **options))
    first, last = (nodes.Event(_pick(draw, "A", "B", None), name) for name in ("y1", "y2"))
    whole = query.formula
    if isinstance(whole, nodes.Sequence) and isinstance(end := whole.parts[-1], nodes.Absent):
        if _pick(draw, True, False):
            end = replace(end, predicate=_correlated(draw, end.event.variable, "y1", end.event.variable))
        core = whole.parts[:-1]
        if isinstance(core[0], nodes.Absent):  # which is about the event after it
            core = (nodes.Sequence(core),)
        formula: Formula = nodes.Sequence((first, *core, end))
    else:
        parts = (first, whole, last)[: _pick(draw, 2, 3)]
        absents = (part for part in nodes.subformulas(whole) if isinstance(part, nodes.Absent))
        looks_back = any(absent.lasting is not None for absent in absents)
        formula = nodes.Sequence(parts, _pick(draw, ";", ";", ";", ":", ";" if looks_back else "->"))
    if _rarely(draw):
        absent = replace(_Shape(draw, absent=True, reuse=False, absents=300).absence(), lasting=_lasting(draw))
        test = _correlated(draw, absent.event.variable, "y1", absent.event.variable)
        formula = nodes.Sequence((replace(absent, predicate=test), formula))
    if others := _named(nodes.bound(formula) - {"y1"}):
        formula = nodes.Filter(formula, _correlated(draw, "y1", _pick(draw, *others), _pick(draw, "y1", *others)))
    return replace(query, formula=formula)


@st.composite
def loop_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query with a loop whose condition looks back on its rounds. `options` are those of `queries`."""
    query = draw(
        queries(
            absent=False,
            correlated=True,
            looks_back=True,
            wider_filters=True,
            max_depth=1,
            trailing=False,
            items=False,
            **options,
        )
    )
    event, other = nodes.Event(_pick(draw, None, "A", None, "B"), "z"), nodes.Event(_pick(draw, None, "B"), "w")
    shape = _pick(draw, "event", "event", "sequence", "sequence", "or")
    body: Formula = nodes.Or((event, nodes.Event("C", "z"))) if shape == "or" else event
    if shape == "sequence":
        first, last = _pick(draw, (event, other), (other, event))
        end: Formula = last
        if _pick(draw, True, False):
            end = nodes.Filter(last, _looking_back(draw, _pick(draw, "z", "w"), last.variable))
        body = nodes.Sequence((first, end), _pick(draw, ";", "->", ":"))
    names = _named(nodes.bound(body))
    body = nodes.Filter(body, _looking_back(draw, _pick(draw, *names), _pick(draw, *names)))
    least, most = _pick(draw, (1, None), (1, None), (1, None), (2, None), (1, 3), (2, 2))
    loop: Formula = nodes.Repeat(body, _pick(draw, ";", ";", "->", ":"), least, most)
    if _pick(draw, False, False, True):
        loop = nodes.Repeat(nodes.Sequence((loop, nodes.Event("A", "u"))))
    kind = _pick(draw, "alone", "alone", "first", "last")
    if kind != "alone":
        both = (loop, query.formula) if kind == "first" else (query.formula, loop)
        loop = nodes.Sequence(both, _pick(draw, ";", ";", "->", ":"))
    return replace(query, formula=loop, items=_items(draw, loop, ()), groups=())


@st.composite
def absence_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query with NOTs between two of its parts, one of them with FOR or after `:`; `options` as for `queries`."""
    query = draw(queries(max_depth=2, trailing=False, items=False, wider_filters=True, **options))
    assume(not nodes.nullable(query.formula))
    shape = _Shape(draw, absent=True, reuse=False, absents=400)
    event: Formula = nodes.Event(_pick(draw, "A", "B", None), "y1")
    loop = nodes.Repeat(event, _pick(draw, ";", ":"))
    first, last = _pick(draw, (event, query.formula), (query.formula, event), (loop, query.formula))
    absents = [replace(shape.absence(), lasting=_lasting(draw))]
    if _pick(draw, True, False):
        absents.append(shape.absence())
    if first is event and _pick(draw, True, False):
        name = absents[0].event.variable
        absents[0] = replace(absents[0], predicate=_correlated(draw, name, "y1", name))
    if _pick(draw, True, False):
        last_before = replace(absents[-1], lasting=None)
        first, absents = nodes.Sequence((first, last_before), ":"), absents[:-1]
    whole: Formula = nodes.Sequence((first, *absents, last))
    if _rarely(draw):
        whole = nodes.Repeat(whole, _pick(draw, ";", ":"), *_pick(draw, (1, None), (1, 2)))
    elif _rarely(draw):
        whole = nodes.And((whole, nodes.Event("C", "y2")))
    return replace(query, formula=whole, groups=(), items=_items(draw, whole, ()))


@st.composite
def timeout_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query WITH TIMEOUT ROWS. `options` are those of `queries`."""
    query = draw(queries(wider_filters=True, trailing=False, **options))
    formula = _without_waits(query.formula)
    first = nodes.Event(_pick(draw, "A", "B", None), "y1")
    if _pick(draw, True, False):
        formula = nodes.Sequence((first, formula), _pick(draw, ";", "->", ":"))
    if not nodes.nullable(formula) and _rarely(draw):
        formula = _ending(draw, formula, _pick(draw, None, 2 * SECOND))
    try:
        part_numbers(formula)
    except QueryError:
        assume(False)  # a name in two places
    assume(not _looks_ahead(formula))
    window = _window(draw, "time")
    query = replace(query, formula=formula, window=window, consume="NONE", groups=(), timeout=nodes.Timeout())
    return replace(query, items=_items(draw, formula, ()))


def _without_waits(formula: Formula) -> Formula:
    """The formula with other parts in place of those that WITH TIMEOUT ROWS refuses."""
    formula = nodes.rebuild(formula, _without_waits)
    if isinstance(formula, nodes.And):
        return nodes.Sequence(formula.parts)
    if not isinstance(formula, nodes.Sequence):
        return formula
    if formula.link == ":" and isinstance(formula.parts[-1], nodes.Absent):
        return formula.parts[0]
    parts = (part for part in formula.parts if not isinstance(part, nodes.AbsentFormula))
    plain = tuple(replace(part, lasting=None) if isinstance(part, nodes.Absent) else part for part in parts)
    while isinstance(plain[0], nodes.Absent):
        plain = plain[1:]
    return replace(formula, parts=plain) if len(plain) > 1 else plain[0]


@st.composite
def ended_loop_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query with a condition on all events of a loop, after that loop. `options` are those of `queries`."""
    query = draw(queries(absent=False, wider_filters=True, max_depth=1, trailing=False, items=False, **options))
    event, other = nodes.Event(_pick(draw, None, "A", None, "B"), "z"), nodes.Event(_pick(draw, None, "B"), "w")
    body: Formula = _pick(draw, event, event, nodes.Sequence((event, other)), nodes.Sequence((other, event), ":"))
    if _rarely(draw):
        body = nodes.Filter(body, _looking_back(draw, "z", "z"))
    least, most = _pick(draw, (1, None), (1, None), (2, None), (1, 3), (2, 2))
    loop = nodes.Repeat(body, _pick(draw, ";", ";", "->", ":"), least, most)
    last = nodes.Event(_pick(draw, None, "A", "B"), "u")
    test = _of_loop(draw, _pick(draw, "u", None))
    if _rarely(draw):
        test = flat_call("or", [test, predicate(draw, "u")])
    link = _pick(draw, ";", ";", "->", ":")
    kind = _pick(draw, "after", "on it", "between", "in a loop")
    if kind == "between" and not nodes.nullable(query.formula):
        whole: Formula = nodes.Filter(nodes.Sequence((loop, query.formula, last), link), test)
    elif kind == "on it":
        whole = nodes.Sequence((loop, nodes.Filter(last, test)), link)
    else:
        whole = nodes.Filter(nodes.Sequence((loop, last), link), test)
    if kind == "in a loop":
        whole = nodes.Repeat(whole, _pick(draw, ";", ":"), *_pick(draw, (1, None), (1, 2)))
    if kind != "between" and _pick(draw, True, False):
        whole = nodes.Sequence((query.formula, whole), _pick(draw, ";", ":"))
    return replace(query, formula=whole, items=_items(draw, whole, ()), groups=())


def _of_loop(draw: Draw, own: str | None) -> Expr:
    """A condition on all events z of a loop, perhaps compared with an event."""
    if _rarely(draw):
        return Call(_pick(draw, *COMPARISONS), (Call("count", (Variable("z"),)), Literal(2)))
    asked = Call(_pick(draw, "min", "max", "first", "last", "sum", "avg", "count"), (Attribute("z", "v"),))
    other = Literal(1) if own is None else Attribute(own, "v")
    return Call(_pick(draw, *COMPARISONS), (asked, other))
