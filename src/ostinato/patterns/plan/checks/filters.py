"""Which variables a FILTER may name, in a loop, a NOT or a group, and which aggregates."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.core import expressions as ex
from ostinato.errors import QueryError, did_you_mean
from ostinato.patterns.plan.checks.aggregates import check_look_back
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula


def check_groups(query: n.Query) -> None:
    """The name of a group stands in SELECT only: a condition is on single events."""
    names = {name for name, _ in query.groups}
    for part in n.subformulas(query.formula) if names else ():
        if not isinstance(part, n.Filter | n.Absent) or part.predicate is None:
            continue
        for node in ex.walk(part.predicate):
            if isinstance(node, ex.Attribute | ex.Variable) and (used := ex.variables(node) & names):
                reason = f"`{min(used)}` is a group of events, and FILTER tests single ones"
                raise QueryError(
                    reason, span=node.span, fix="name the event in the group, and test that: (T AS x ; H) AS g"
                )


def check_predicates(formula: Formula) -> None:
    names = sorted(name for name in n.vdef(formula) if not name.startswith("#"))
    for part, loops in _with_loops(formula, ()):
        if not isinstance(part, n.Filter | n.Absent) or part.predicate is None:
            continue
        counted = []
        for node in ex.walk(part.predicate):
            if isinstance(node, ex.Call) and node.op in ex.AGGREGATES:
                check_look_back(node, loops, part, formula)
                if isinstance(part, n.Absent) and part.lasting is not None:
                    reason = "what NOT … FOR forbids cannot be compared with earlier rounds of the loop"
                    fix = "put the condition on an event of the round, or leave FOR out"
                    raise QueryError(reason, span=node.span, fix=fix)
                counted += [arg for arg in node.args if node.op == "count"]
            if isinstance(node, ex.Variable) and not any(node is arg for arg in counted):
                whole = node.name in n.vdef(formula)
                reason = f"`{node.name}` is a whole event, not a value" if whole else f"`{node.name}` has no variable"
                fix = f"{node.name}.attr" if whole else f"{names[0] if len(names) == 1 else 'x'}.{node.name}"
                raise QueryError(reason, span=node.span, fix=f"name an attribute of an event: {fix}")


def _with_loops(formula: Formula, loops: tuple[n.Repeat, ...]) -> Iterator[tuple[Formula, tuple[n.Repeat, ...]]]:
    """All parts of the formula, each with the loops that it is a round of, innermost first."""
    yield formula, loops
    for child in n.children(formula):
        inside = isinstance(formula, n.Repeat) and child is formula.body
        yield from _with_loops(child, (formula, *loops) if inside and isinstance(formula, n.Repeat) else loops)


def check_filters(formula: Formula, whole: Formula, scope: frozenset[str]) -> None:
    """Well-formed (section 5.1): each variable of a filter is bound by its body or by a formula around it.

    A + gives the variables of its body new values, so an outer variable of the same name cannot be seen there.
    """
    scope = scope | n.bound(formula) | n.bound_loops(formula)
    if isinstance(formula, n.Filter):
        for node in ex.walk(formula.predicate):
            if isinstance(node, ex.Attribute) and node.variable not in scope:
                raise _unbound(node, formula, whole)
        if n.nullable(formula.body):
            reason = "this condition stands on a part that may be left out, and tests none of its events"
            raise QueryError(reason, span=formula.predicate.span, fix="put it after the brackets of that part")
    if isinstance(formula, n.Absent) and formula.predicate is not None:
        for node in ex.walk(formula.predicate):
            if isinstance(node, ex.Attribute) and node.variable not in scope | {formula.event.variable}:
                raise _unbound(node, formula, whole)
    inner = scope - n.vdef_plus(formula.body) if isinstance(formula, n.Repeat) else scope
    for child in n.children(formula):
        check_filters(child, whole, inner)


def _unbound(node: ex.Attribute, formula: Formula, whole: Formula) -> QueryError:
    name = node.variable
    fix: str | None
    if isinstance(node, ex.Earlier):
        own = name.removeprefix(n.whole_name(""))
        reason = f"{node.name} is of a loop that may be missing here, or that ends in a round of another one"
        fix = f"put the condition where the loop of {own} has surely ended: in its branch, or in the same round"
        return QueryError(reason, span=node.span, fix=fix)
    events = [part for part in n.subformulas(whole) if isinstance(part, n.Event)]
    absent = [part.event for part in n.subformulas(whole) if isinstance(part, n.Absent)]
    until = [stop.event for part in n.subformulas(whole) if isinstance(part, n.Repeat) for stop in part.until]
    if stop := next((event for event in until if event.variable == name), None):
        reason = f"`{name}` is the event that ends a loop and is no part of a match, so nothing else can test it"
        fix = f"put the condition inside brackets: UNTIL ({stop.relation or 'ANY'} AS {name} FILTER …)"
    elif any(event.variable == name for event in absent):
        event = next(event for event in absent if event.variable == name)
        reason = f"`{name}` is the event that must not come, so nothing outside its NOT can test it"
        fix = f"put the condition inside brackets: (NOT {event.relation or 'ANY'} AS {name} FILTER …)"
    elif all(event.variable != name for event in events):
        reason = f"variable `{name}` is not bound anywhere"
        relation = next((event for event in events if event.relation == name), None)
        known = {event.variable for event in events if not event.variable.startswith("#")}
        fix = f"name the event: {name} AS x, and test x.{node.name}" if relation else did_you_mean(name, known)
        fix = fix or f"name the event that it is about with AS: T AS {name}"
    elif name not in n.vdef_plus(formula) and name in n.vdef(formula):
        reason = f"`{name}` is bound only inside a loop, where it stands for many events"
        fix = f"put the condition inside the brackets of the loop: (T AS {name} FILTER {name}.{node.name} …)"
    elif any(name in n.vdef_plus(part) for part in n.subformulas(formula) if isinstance(part, n.Optional)):
        reason = f"`{name}` may be left out, so that this condition may have nothing to test"
        fix = f"put the condition inside the optional part: (T AS {name} FILTER {name}.{node.name} …)?"
    elif name in n.vdef_plus(formula):
        reason = f"`{name}` is bound in only one branch of the OR"
        fix = f"put the condition inside that branch, or name an event {name} in every branch"
    else:
        reason = (
            f"`{name}` is not bound where this condition stands: it is inside another loop or another branch of an OR"
        )
        fix = f"move the condition to where {name} is defined"
    return QueryError(reason, span=node.span, fix=fix)
