"""Whether an XSeq query makes sense: its variables, its aggregates, its partition, and steps that lead nowhere."""

from __future__ import annotations

from itertools import pairwise

from ostinato.errors import QueryError, did_you_mean
from ostinato.xseq.plan.recursion import check_definitions
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.normal_form import normalise
from ostinato.xseq.syntax.parse import parse
from ostinato.xseq.syntax.variables import (
    definitions,
    every_operand,
    references,
    repeating_variables,
    variables,
    yields,
)
from ostinato.xseq.syntax.warnings import prefer_sql_hint

_UP = (n.Axis.SELF, n.Axis.PARENT, n.Axis.ANCESTOR)  # what leads on from an attribute or a text
_DOWN = (n.Axis.SELF, n.Axis.CHILD, n.Axis.DESCENDANT, n.Axis.FIRST_CHILD)  # what leads on from the document node


def parse_and_check(text: str) -> n.Query:
    """The query that `text` states, checked. Raises QueryError with the place, the reason and a likely fix."""
    try:
        query = parse(text)
        check(query)
    except QueryError as error:
        raise prefer_sql_hint(error.within(text), text) from None
    return query


def check(query: n.Query) -> None:
    """Raise QueryError at the first thing that is wrong."""
    check_definitions(query)
    _check_kinds(query)
    _check_steps(query.path)
    _check_start(query.path)
    for reference in references(query):
        _check_reference(reference, query)
    _check_aggregates(query)
    _check_columns(query)
    normalise(query)
    if query.partition is not None:
        _check_partition(query.partition, query.path)


# Variables.


def _check_kinds(query: n.Query) -> None:
    defined = definitions(query)
    for node in n.subpaths(query.path):
        if isinstance(node, n.Step) and node.variable in defined:
            raise QueryError(
                f"${node.variable} stands for a path, and cannot be bound to a node as well",
                span=node.span,
                fix="choose another name for one of the two; a path variable has no predicates",
            )


def _check_reference(reference: n.Reference, query: n.Query) -> None:
    bound, defined = variables(query), definitions(query)
    name, within, span = reference.variable, reference.within, reference.span
    if within is not None and within not in defined:
        if within in bound:
            fix = f"write {reference.alias}(${within}) without ${name}, or define a path: (${within}: …)"
            raise QueryError(f"${within} is bound to nodes, not to a path with ${name} in it", span=span, fix=fix)
        raise QueryError(f"${within} is not defined in the path", span=span, fix=_similar(within, defined))
    if name in defined:
        first = next(iter(_bound_in(name, defined)), "X")
        alias = "first" if reference.alias == n.Alias.PLAIN else reference.alias
        fix = f"name a variable in it: {alias}(${name}) ${first}@a"
        raise QueryError(f"${name} stands for a path, not for a node", span=span, fix=fix)
    if name not in bound:
        named = any(isinstance(node, n.Step) and node.test.name == name for node in n.subpaths(query.path))
        meant = f"`{name}` in the path is an element: write ${name} there" if named else _similar(name, bound)
        raise QueryError(f"${name} is never bound in the path", span=span, fix=meant)
    if within is not None and name not in _bound_in(within, defined):
        raise QueryError(
            f"${name} is not bound in ${within}", span=span, fix=_similar(name, _bound_in(within, defined))
        )


def _similar(name: str, known: tuple[str, ...] | dict[str, n.Define]) -> str | None:
    if not known:
        return f"bind it: //${name}"
    return did_you_mean(f"${name}", [f"${other}" for other in known])


def _bound_in(name: str, defined: dict[str, n.Define]) -> tuple[str, ...]:
    """The step variables of a definition and of those that it calls."""
    names = (name, *sorted(yields(defined)[name]))
    bodies = [defined[other].body for other in names]
    return tuple(
        node.variable for body in bodies for node in n.subpaths(body) if isinstance(node, n.Step) and node.variable
    )


# Values.


def _check_aggregates(query: n.Query) -> None:
    several = repeating_variables(query)
    for operand in every_operand(query):
        if isinstance(operand, n.Aggregate):
            _check_aggregate(operand, several)
    for condition in (*n.conjuncts(query.where), *n.conjuncts(normalise(query).where)):
        _check_in_match(condition, several)


def _check_aggregate(aggregate: n.Aggregate, several: frozenset[str]) -> None:
    name = aggregate.function
    found = list(n.nested_operands(aggregate.operand))
    for operand in found:
        if isinstance(operand, n.Aggregate):
            fix = f"{name}() of a match or of all matches, not of both: keep one of the two"
            raise QueryError(f"{operand.function}() stands inside {name}()", span=operand.span, fix=fix)
        if isinstance(operand, n.Relative):
            fix = f"bind the node, and aggregate its variable in where: //a (/$X)* where {name}($X@b) > 3"
            raise QueryError(f"{name}() is computed over variables, not over paths", span=operand.span, fix=fix)
    if not any(isinstance(operand, n.Reference) for operand in found):
        raise QueryError(f"{name}() is of a variable", span=aggregate.span, fix=f"write {name}($X@a)")
    plain = _ranging_variables(aggregate.operand, several)
    if len(plain) > 1:
        shown = " and ".join(f"${variable}" for variable in plain)
        fix = f"aggregate them one by one, or take last() of all but one: last(${plain[-1]})@a"
        raise QueryError(f"{name}() ranges over one variable, and {shown} repeat", span=aggregate.span, fix=fix)


def _ranging_variables(operand: n.Operand, several: frozenset[str]) -> list[str]:
    """The repeating variables that stand plain, or with prev, in an operand."""
    return sorted(
        {
            part.variable
            for part in n.nested_operands(operand)
            if isinstance(part, n.Reference)
            and part.alias in (n.Alias.PLAIN, n.Alias.PREV)
            and part.variable in several
        }
    )


def _check_in_match(condition: n.Condition, several: frozenset[str]) -> None:
    for operand in n.operands(condition):
        if isinstance(operand, n.Aggregate) and not _ranging_variables(operand.operand, several):
            raise QueryError(
                f"this {operand.function}() is over all matches, and a condition sees one match",
                span=operand.span,
                fix=f"leave {operand.function}() out, or aggregate a variable under a star: (/$X)*",
            )


def _check_columns(query: n.Query) -> None:
    seen: set[str] = set()
    for item in query.items or ():
        if item.name in seen:
            fix = f"name it: … as {item.name.strip('$')}2" if item.name.isidentifier() else "name it: … as other"
            raise QueryError(f"two columns are called `{item.name}`", span=item.span, fix=fix)
        seen.add(item.name)


# Steps.


def _check_steps(path: n.Path) -> None:
    for node in n.subpaths(path):
        if isinstance(node, n.Step):
            _check_text(node)
            if node.predicates and _is_leaf(node):
                _check_from_leaf(node)
        elif isinstance(node, n.Concat):
            for before, after in pairwise(node.parts):
                if (
                    isinstance(before, n.Step)
                    and isinstance(after, n.Step)
                    and _is_leaf(before)
                    and after.axis not in _UP
                ):
                    raise _dead_end(before, after)


def _is_leaf(step: n.Step) -> bool:
    return step.axis == n.Axis.ATTRIBUTE or step.test.kind == n.Kind.TEXT


def _check_from_leaf(step: n.Step) -> None:
    for predicate in step.predicates:
        if isinstance(predicate, n.Exists):
            first = predicate.path.parts[0] if isinstance(predicate.path, n.Concat) else predicate.path
            if isinstance(first, n.Step) and first.axis not in _UP:
                raise _dead_end(step, first)


def _dead_end(before: n.Step, after: n.Step) -> QueryError:
    what = "an attribute" if before.axis == n.Axis.ATTRIBUTE else "a text"
    fix = "end the path here, or go back with parent::*; a second value is asked for with its own predicate or variable"
    return QueryError(f"no {after.axis} leads on from {what}", span=after.span, fix=fix)


def _check_text(step: n.Step) -> None:
    if step.test.kind != n.Kind.TEXT or step.axis in (n.Axis.SELF, n.Axis.CHILD, n.Axis.DESCENDANT):
        return
    raise QueryError(f"no {step.axis} is a text", span=step.span, fix="write /text() or //text()")


def _check_start(path: n.Path) -> None:
    first = path.parts[0] if isinstance(path, n.Concat) else path
    if isinstance(first, n.Step) and first.axis not in _DOWN:
        fix = "say of which nodes: //*@id" if first.axis == n.Axis.ATTRIBUTE else "start with / or //"
        raise QueryError(f"the document itself has no {first.axis}", span=first.span, fix=fix)


# Partition.


def _check_partition(partition: n.Partition, path: n.Path) -> None:
    key = partition.path.parts if isinstance(partition.path, n.Concat) else (partition.path,)
    steps: list[n.Step] = []
    for part in key:
        if not isinstance(part, n.Step) or part.predicates:
            reason = "the path of partition by has plain steps only"
            raise QueryError(reason, span=part.span, fix="write names and axes: partition by /a/b@id")
        steps.append(part)
    if len(steps) not in _steps_taken(path, frozenset({0}), steps):
        raise QueryError(
            "the path of partition by does not start as the path of the query does",
            span=partition.span,
            fix="repeat the first steps of the query's path, with names for variables, then the attribute",
        )


def _steps_taken(path: n.Path, before: frozenset[int], key: list[n.Step]) -> frozenset[int]:
    """How many steps of the key the walks may have taken after this path; len(key) is kept once reached."""
    done = before & {len(key)}
    match path:
        case n.Step():
            return done | {taken + 1 for taken in before if taken < len(key) and _fits(path, key[taken])}
        case n.Concat():
            for part in path.parts:
                before = _steps_taken(part, before, key)
            return before
        case n.Union() | n.Intersect():
            return frozenset().union(*(_steps_taken(part, before, key) for part in path.parts))
        case n.Star():
            after = before | _steps_taken(n.first_round(path), before, key)
            while (more := after | _steps_taken(path.body, after, key)) != after:
                after = more
            return after
        case n.Define():
            return _steps_taken(n.first_round(path), before, key)
        case n.Call():
            return frozenset({len(key)}) if before else before


def _fits(step: n.Step, key: n.Step) -> bool:
    named = step.test.kind == key.test.kind == n.Kind.NAME
    return step.axis == key.axis and not (named and step.test.name != key.test.name)
