"""Path variables: each is defined once, and calls itself only at the end of its definition (Rule 1)."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.errors import QueryError
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import calls_and_definitions, definitions, yields


def check_definitions(query: n.Query) -> None:
    defined = definitions(query)
    for node in n.subpaths(query.path):
        if isinstance(node, n.Define) and defined[node.variable] is not node:
            raise QueryError(
                f"${node.variable} is defined twice",
                span=node.span,
                fix=f"write ${node.variable} for the same path once more, or choose another name",
            )
    reached = yields(defined)
    for name, define in defined.items():
        for node in not_at_end(define.body):
            if node.variable == name or name in reached[node.variable]:
                raise _circular(name, node, defined)
        if name in reached[name] and _comes_back_at_once(define.body, name, defined, frozenset()):
            raise QueryError(
                f"${name} may call itself without a step, and so go on forever",
                span=define.span,
                fix=f"write a step that is always taken before ${name}",
            )


def not_at_end(path: n.Path) -> Iterator[n.Call | n.Define]:
    """nend of Definition 2.9: where path variables stand in a path other than at its end."""
    match path:
        case n.Concat():
            for part in path.parts[:-1]:
                yield from calls_and_definitions(part)
            yield from not_at_end(path.parts[-1])
        case n.Union():
            for part in path.parts:
                yield from not_at_end(part)
        case n.Define():
            yield from not_at_end(path.body)
        case n.Star() | n.Intersect():  # another round follows; the other paths must end with it
            for part in n.parts(path):
                yield from calls_and_definitions(part)
        case n.Step():
            for predicate in path.predicates:
                if isinstance(predicate, n.Exists):
                    yield from calls_and_definitions(predicate.path)
        case n.Call():
            pass


def _circular(name: str, node: n.Call | n.Define, defined: dict[str, n.Define]) -> QueryError:
    cycle = " → ".join(f"${step}" for step in (name, *_way(node.variable, name, defined)))
    return QueryError(
        f"${name} comes back to itself before the end of its definition: {cycle}",
        span=node.span,
        fix=f"let the call stand last, as in (${name}: /a ${name}), or repeat a path with (…)*",
    )


def _way(start: str, end: str, defined: dict[str, n.Define]) -> tuple[str, ...]:
    """The shortest way of calls from one path variable to another."""
    ways: list[tuple[str, ...]] = [(start,)]
    while ways[0][-1] != end:
        way = ways.pop(0)
        ways += [
            (*way, node.variable) for node in calls_and_definitions(defined[way[-1]].body) if node.variable not in way
        ]
    return ways[0]


def _comes_back_at_once(path: n.Path, name: str, defined: dict[str, n.Define], entered: frozenset[str]) -> bool:
    """Whether a walk along the path may come to a call of the variable before it has taken a step."""
    match path:
        case n.Step():
            return False
        case n.Star() | n.Union() | n.Intersect():
            return any(_comes_back_at_once(part, name, defined, entered) for part in n.parts(path))
        case n.Concat():
            for part in path.parts:
                if _comes_back_at_once(part, name, defined, entered):
                    return True
                if not _may_be_empty(part, defined, frozenset()):
                    break
            return False
        case n.Define():
            return _comes_back_at_once(path.body, name, defined, entered)
        case n.Call():
            if path.variable == name or path.variable in entered:
                return path.variable == name
            return _comes_back_at_once(defined[path.variable].body, name, defined, entered | {path.variable})


def _may_be_empty(path: n.Path, defined: dict[str, n.Define], entered: frozenset[str]) -> bool:
    """Whether a walk along the path may take no step; a call of what is being looked at may."""
    match path:
        case n.Step():
            return False
        case n.Star():
            return True
        case n.Union():
            return any(_may_be_empty(part, defined, entered) for part in path.parts)
        case n.Concat() | n.Intersect():
            return all(_may_be_empty(part, defined, entered) for part in path.parts)
        case n.Define():
            return _may_be_empty(path.body, defined, entered | {path.variable})
        case n.Call():
            name = path.variable
            return name in entered or _may_be_empty(defined[name].body, defined, entered | {name})
