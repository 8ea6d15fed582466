"""Random CEL queries for property tests: legal by construction, small, and biased so that matches exist."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

from hypothesis import assume
from hypothesis import strategies as st

from ostinato.core.expressions import (
    COMPARISONS,
    COUNT_DISTINCT,
    Attribute,
    Call,
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
from support.generators.cel_formulas import Shape, formulas, named
from support.generators.cel_predicates import correlated_test, draw_lasting, looking_back, predicate
from support.generators.cel_streams import SECOND
from support.generators.draws import Draw, pick, rarely


def _window(draw: Draw, kind: str) -> Window:
    if kind == "events":
        count = pick(draw, 6, 5, 4, 3, 2, 1)
        return Window("events", count, text=f"{count} EVENTS")
    if kind == "attribute":
        amount = pick(draw, 6, 4, 3, 2, 1, 0)
        return Window("attribute", amount, "n", text=f"{amount} ON n")
    seconds = pick(draw, 8, 5, 3, 2.5, 2, 1, 0)
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
    kind = pick(draw, None, None, None, "events", "time", "attribute")
    window = _window(draw, kind) if kind else None
    consume: nodes.Consume = pick(draw, "NONE", "NONE", "PARTITION", "ANY")
    by_chance = trailing is None and options.get("absent", True) and rarely(draw)
    if trailing or by_chance:
        lasting = draw_lasting(draw) if pick(draw, True, False) else None
        plain, formula, consume = formula, _ending(draw, formula, lasting), "NONE"
        if branches and pick(draw, True, False):
            formula = _branches(draw, plain, formula)
        window = window if lasting is not None else _window(draw, "time")
    if options.get("absent", True) and not nodes.nullable(formula) and rarely(draw):
        formula = _beginning(draw, formula)
    groups = _groups(draw, formula)
    partition_by: tuple[str, ...] = pick(draw, (), (), ("k",)) if partitions else ()
    if partition_by and window is not None and window.kind == "attribute":
        window = replace(window, attribute="m", text=window.text.replace("n", "m"))
    if options.get("wider_filters"):
        assume(not _looks_ahead(formula))
    return nodes.Query(
        formula,
        strategy=pick(draw, "ALL", "ALL", "MAX", "LAST", "NXT", "STRICT"),
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
    if not pick(draw, True, False):
        return ()
    events = Counter(part.variable for part in nodes.subformulas(formula) if isinstance(part, nodes.Event))
    part = pick(draw, *nodes.subformulas(formula))
    own = Counter(event.variable for event in nodes.subformulas(part) if isinstance(event, nodes.Event))
    return (("g", tuple(sorted(own))),) if own and all(events[name] == own[name] for name in own) else ()


def _beginning(draw: Draw, formula: Formula) -> Formula:
    """The formula with NOT … FOR as the first part of its outermost sequence, below the top filters."""
    if isinstance(formula, nodes.Filter):
        return replace(formula, body=_beginning(draw, formula.body))
    first = replace(Shape(draw, absent=True, reuse=False, absents=200).absence(), lasting=draw_lasting(draw))
    if isinstance(formula, nodes.Sequence) and formula.link == ";":
        return replace(formula, parts=(first, *formula.parts))
    return nodes.Sequence((first, formula))


def _ending(draw: Draw, formula: Formula, lasting: int | None) -> Formula:
    """The formula with NOT as the last part of its outermost sequence, below the top filters."""
    if isinstance(formula, nodes.Filter):
        return replace(formula, body=_ending(draw, formula.body, lasting))
    last = replace(Shape(draw, absent=True, reuse=False, absents=100).absence(), lasting=lasting)
    if lasting is None and rarely(draw):
        return nodes.Sequence((formula, last), ":")
    if isinstance(formula, nodes.Sequence) and formula.link == ";" and not nodes.nullable(formula.parts[-1]):
        return replace(formula, parts=(*formula.parts, last))
    return nodes.Sequence((formula, last))


def _branches(draw: Draw, plain: Formula, ended: Formula) -> Formula:
    """An OR of a formula with NOT at its end and another, perhaps behind an event or with a further NOT."""
    pair = nodes.Sequence((nodes.Event("B", "w1"), nodes.Event(None, "w2")))
    other = pick(draw, plain, nodes.Event(pick(draw, "A", None), "w1"), pair)
    if pick(draw, True, False):
        other = _ending(draw, other, draw_lasting(draw))
    either: Formula = nodes.Or(pick(draw, (ended, other), (other, ended)))
    if rarely(draw):
        either = nodes.Sequence((nodes.Event("A", "w0"), either), pick(draw, ";", ":"))
    if rarely(draw):
        either = nodes.Or((either, nodes.Event("C", "w3")))
    at_once = any(isinstance(part, nodes.Sequence) and part.link == ":" for part in nodes.subformulas(either))
    return _ending(draw, either, draw_lasting(draw)) if not at_once and rarely(draw) else either


def _items(draw: Draw, formula: Formula, groups: Groups) -> tuple[nodes.Item, ...] | None:
    names = [*named(nodes.vdef(formula)), *(name for name, _ in groups for _ in range(2))]
    if not names or pick(draw, True, False):
        return None
    items = []
    for index in range(pick(draw, 1, 2, 3)):
        x = pick(draw, *names)
        value, whole = Attribute(x, "v"), Variable(x)
        aggregate = Call(pick(draw, "sum", "avg", "min", "max", "first", "last", COUNT_DISTINCT), (value,))
        choices: list[Expr] = [whole, whole, value, Call("count", (whole,)), aggregate]
        expr = pick(draw, *choices)
        items.append(nodes.Item(expr, f"c{index}"))
    return tuple(items)


@st.composite
def correlated_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query that compares at least two of its events with each other. `options` are those of `queries`."""
    query = draw(queries(correlated=True, looks_back=True, wider_filters=True, **options))
    first, last = (nodes.Event(pick(draw, "A", "B", None), name) for name in ("y1", "y2"))
    whole = query.formula
    if isinstance(whole, nodes.Sequence) and isinstance(end := whole.parts[-1], nodes.Absent):
        if pick(draw, True, False):
            end = replace(end, predicate=correlated_test(draw, end.event.variable, "y1", end.event.variable))
        core = whole.parts[:-1]
        if isinstance(core[0], nodes.Absent):  # which is about the event after it
            core = (nodes.Sequence(core),)
        formula: Formula = nodes.Sequence((first, *core, end))
    else:
        parts = (first, whole, last)[: pick(draw, 2, 3)]
        absents = (part for part in nodes.subformulas(whole) if isinstance(part, nodes.Absent))
        looks_back = any(absent.lasting is not None for absent in absents)
        formula = nodes.Sequence(parts, pick(draw, ";", ";", ";", ":", ";" if looks_back else "->"))
    if rarely(draw):
        absent = replace(Shape(draw, absent=True, reuse=False, absents=300).absence(), lasting=draw_lasting(draw))
        test = correlated_test(draw, absent.event.variable, "y1", absent.event.variable)
        formula = nodes.Sequence((replace(absent, predicate=test), formula))
    if others := named(nodes.bound(formula) - {"y1"}):
        formula = nodes.Filter(formula, correlated_test(draw, "y1", pick(draw, *others), pick(draw, "y1", *others)))
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
    event, other = nodes.Event(pick(draw, None, "A", None, "B"), "z"), nodes.Event(pick(draw, None, "B"), "w")
    shape = pick(draw, "event", "event", "sequence", "sequence", "or")
    body: Formula = nodes.Or((event, nodes.Event("C", "z"))) if shape == "or" else event
    if shape == "sequence":
        first, last = pick(draw, (event, other), (other, event))
        end: Formula = last
        if pick(draw, True, False):
            end = nodes.Filter(last, looking_back(draw, pick(draw, "z", "w"), last.variable))
        body = nodes.Sequence((first, end), pick(draw, ";", "->", ":"))
    names = named(nodes.bound(body))
    body = nodes.Filter(body, looking_back(draw, pick(draw, *names), pick(draw, *names)))
    least, most = pick(draw, (1, None), (1, None), (1, None), (2, None), (1, 3), (2, 2))
    loop: Formula = nodes.Repeat(body, pick(draw, ";", ";", "->", ":"), least, most)
    if pick(draw, False, False, True):
        loop = nodes.Repeat(nodes.Sequence((loop, nodes.Event("A", "u"))))
    kind = pick(draw, "alone", "alone", "first", "last")
    if kind != "alone":
        both = (loop, query.formula) if kind == "first" else (query.formula, loop)
        loop = nodes.Sequence(both, pick(draw, ";", ";", "->", ":"))
    return replace(query, formula=loop, items=_items(draw, loop, ()), groups=())


@st.composite
def absence_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query with NOTs between two of its parts, one of them with FOR or after `:`; `options` as for `queries`."""
    query = draw(queries(max_depth=2, trailing=False, items=False, wider_filters=True, **options))
    assume(not nodes.nullable(query.formula))
    shape = Shape(draw, absent=True, reuse=False, absents=400)
    event: Formula = nodes.Event(pick(draw, "A", "B", None), "y1")
    loop = nodes.Repeat(event, pick(draw, ";", ":"))
    first, last = pick(draw, (event, query.formula), (query.formula, event), (loop, query.formula))
    absents = [replace(shape.absence(), lasting=draw_lasting(draw))]
    if pick(draw, True, False):
        absents.append(shape.absence())
    if first is event and pick(draw, True, False):
        name = absents[0].event.variable
        absents[0] = replace(absents[0], predicate=correlated_test(draw, name, "y1", name))
    if pick(draw, True, False):
        last_before = replace(absents[-1], lasting=None)
        first, absents = nodes.Sequence((first, last_before), ":"), absents[:-1]
    whole: Formula = nodes.Sequence((first, *absents, last))
    if rarely(draw):
        whole = nodes.Repeat(whole, pick(draw, ";", ":"), *pick(draw, (1, None), (1, 2)))
    elif rarely(draw):
        whole = nodes.And((whole, nodes.Event("C", "y2")))
    return replace(query, formula=whole, groups=(), items=_items(draw, whole, ()))


@st.composite
def timeout_queries(draw: Draw, /, **options: Any) -> nodes.Query:
    """A query WITH TIMEOUT ROWS. `options` are those of `queries`; loops: of `loop_queries`, whose loops look back."""
    loops = options.pop("loops", False)
    query = draw(loop_queries(**options) if loops else queries(wider_filters=True, trailing=False, **options))
    formula = _without_waits(query.formula)
    first = nodes.Event(pick(draw, "A", "B", None), "y1")
    if pick(draw, True, False):
        formula = nodes.Sequence((first, formula), pick(draw, ";", "->", ":"))
    if not nodes.nullable(formula) and rarely(draw):
        formula = _ending(draw, formula, pick(draw, None, 2 * SECOND))
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
    event, other = nodes.Event(pick(draw, None, "A", None, "B"), "z"), nodes.Event(pick(draw, None, "B"), "w")
    body: Formula = pick(draw, event, event, nodes.Sequence((event, other)), nodes.Sequence((other, event), ":"))
    if rarely(draw):
        body = nodes.Filter(body, looking_back(draw, "z", "z"))
    least, most = pick(draw, (1, None), (1, None), (2, None), (1, 3), (2, 2))
    loop = nodes.Repeat(body, pick(draw, ";", ";", "->", ":"), least, most)
    last = nodes.Event(pick(draw, None, "A", "B"), "u")
    test = _of_loop(draw, pick(draw, "u", None))
    if rarely(draw):
        test = flat_call("or", [test, predicate(draw, "u")])
    link = pick(draw, ";", ";", "->", ":")
    kind = pick(draw, "after", "on it", "between", "in a loop")
    if kind == "between" and not nodes.nullable(query.formula):
        whole: Formula = nodes.Filter(nodes.Sequence((loop, query.formula, last), link), test)
    elif kind == "on it":
        whole = nodes.Sequence((loop, nodes.Filter(last, test)), link)
    else:
        whole = nodes.Filter(nodes.Sequence((loop, last), link), test)
    if kind == "in a loop":
        whole = nodes.Repeat(whole, pick(draw, ";", ":"), *pick(draw, (1, None), (1, 2)))
    if kind != "between" and pick(draw, True, False):
        whole = nodes.Sequence((query.formula, whole), pick(draw, ";", ":"))
    return replace(query, formula=whole, items=_items(draw, whole, ()), groups=())


def _of_loop(draw: Draw, own: str | None) -> Expr:
    """A condition on all events z of a loop, perhaps compared with an event."""
    if rarely(draw):
        return Call(pick(draw, *COMPARISONS), (Call("count", (Variable("z"),)), Literal(2)))
    asked = Call(pick(draw, "min", "max", "first", "last", "sum", "avg", "count"), (Attribute("z", "v"),))
    other = Literal(1) if own is None else Attribute(own, "v")
    return Call(pick(draw, *COMPARISONS), (asked, other))
