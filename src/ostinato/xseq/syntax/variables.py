"""What the variables of an XSeq query are, where they stand, and which of them may be bound more than once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ostinato.xseq.syntax import nodes as n


def variables(query: n.Query) -> tuple[str, ...]:
    """The step variables, which are bound to nodes, in the order they first appear in the path."""
    found = (node.variable for node in n.subpaths(query.path) if isinstance(node, n.Step) and node.variable is not None)
    return tuple(dict.fromkeys(found))


def definitions(query: n.Query) -> dict[str, n.Define]:
    """The path variables and what they stand for; of two definitions, which the check refuses, the first."""
    found: dict[str, n.Define] = {}
    for node in n.subpaths(query.path):
        if isinstance(node, n.Define):
            found.setdefault(node.variable, node)
    return found


def calls_and_definitions(path: n.Path) -> list[n.Call | n.Define]:
    """Where path variables stand in a path: their calls and their definitions."""
    return [node for node in n.subpaths(path) if isinstance(node, n.Call | n.Define)]


def yields(defined: dict[str, n.Define]) -> dict[str, frozenset[str]]:
    """yield($X) of Definition 2.9: the path variables that appear in X's definition, in theirs, and so on."""
    direct = {name: {node.variable for node in calls_and_definitions(define.body)} for name, define in defined.items()}
    reached: dict[str, frozenset[str]] = {}
    for name in direct:
        found: set[str] = set()
        waiting = [name]
        while waiting:
            new = direct.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        reached[name] = frozenset(found)
    return reached


def endless_variables(defined: Mapping[str, n.Path]) -> frozenset[str]:
    """The path variables whose definition never ends, since every way through it calls the variable once more, as in
    `($Z: /a $Z)`; while `($Z: /b union /a $Z)` ends with a b. `defined` is what each of them stands for."""
    ending: frozenset[str] = frozenset()
    while more := {name for name, body in defined.items() if name not in ending and _can_end(body, ending)}:
        ending |= more
    return frozenset(defined) - ending


def _can_end(path: n.Path, ending: frozenset[str]) -> bool:
    match path:
        case n.Call() | n.Define():
            return path.variable in ending
        case n.Union():
            return any(_can_end(part, ending) for part in path.parts)
        case n.Concat() | n.Intersect():
            return all(_can_end(part, ending) for part in path.parts)
        case n.Step() | n.Star():  # calls in predicates are never the variable itself; a star may have no round
            return True


def repeating_variables(query: n.Query) -> frozenset[str]:
    """The step variables that may be bound several times in one match.

    They stand under a star, in a definition that calls itself or is called elsewhere, or in several places.
    """
    defined = definitions(query)
    reached = yields(defined)
    elsewhere = {node.variable for node in n.subpaths(query.path) if isinstance(node, n.Call)}
    again = {name for name in defined if name in reached[name] or name in elsewhere}
    again |= {inner for name in again for inner in reached[name]}
    places: Counter[str] = Counter()
    _count(query.path, 1, again, places)
    return frozenset(name for name, count in places.items() if count > 1)


def _count(path: n.Path, times: int, again: set[str], places: Counter[str]) -> None:
    """Add how often each variable of the path may be bound; two stands for often."""
    if isinstance(path, n.Star) or (isinstance(path, n.Define) and path.variable in again):
        times = 2
    if isinstance(path, n.Step):
        if path.variable is not None:
            places[path.variable] += times
        for predicate in path.predicates:
            if isinstance(predicate, n.Exists):
                _count(predicate.path, times, again, places)
    for part in n.parts(path):
        _count(part, times, again, places)


def conditions(path: n.Path) -> Iterator[tuple[n.Step, n.Holds]]:
    """Every `[condition]` of the path, with the step that it stands on."""
    for node in n.subpaths(path):
        if isinstance(node, n.Step):
            for predicate in node.predicates:
                if isinstance(predicate, n.Holds):
                    yield node, predicate


def references(query: n.Query) -> Iterator[n.Reference]:
    """Every mention of a variable in return, where and predicates."""
    for operand in every_operand(query):
        if isinstance(operand, n.Reference):
            yield operand


def every_operand(query: n.Query) -> Iterator[n.Operand]:
    """Every operand of return, where and predicates, nested ones included."""
    for item in query.items or ():
        yield from n.nested_operands(item.operand)
    if query.where is not None:
        yield from n.operands(query.where)
    yield from _in_path(query.path)


def _in_path(path: n.Path) -> Iterator[n.Operand]:
    for _, holds in conditions(path):
        for operand in n.operands(holds.condition):
            yield operand
            if isinstance(operand, n.Relative):
                yield from _in_path(operand.path)
