"""Path variables: each is defined once, and calls itself only at the end of its definition (Rule 1)."""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.errors import QueryError
from ostinato.xseq.syntax.nodes import (
    Call,
    Concat,
    Define,
    Exists,
    Intersect,
    Path,
    Star,
    Step,
    Union,
    XSeqQuery,
    parts,
)
from ostinato.xseq.syntax.variables import called, definitions, walk, yields


def check_definitions(query: XSeqQuery) -> None:
    defined = definitions(query)
    for node in walk(query.path):
        if isinstance(node, Define) and defined[node.variable] is not node:
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


def not_at_end(path: Path) -> Iterator[Call | Define]:
    """nend of Definition 2.9: where path variables stand in a path other than at its end."""
    match path:
        case Concat():
            for part in path.parts[:-1]:
                yield from called(part)
            yield from not_at_end(path.parts[-1])
        case Union():
            for part in path.parts:
                yield from not_at_end(part)
        case Define():
            yield from not_at_end(path.body)
        case Star() | Intersect():  # another round follows; the other paths must end with it
            for part in parts(path):
                yield from called(part)
        case Step():
            for predicate in path.predicates:
                if isinstance(predicate, Exists):
                    yield from called(predicate.path)
        case Call():
            pass


def _circular(name: str, node: Call | Define, defined: dict[str, Define]) -> QueryError:
    cycle = " → ".join(f"${step}" for step in (name, *_way(node.variable, name, defined)))
    return QueryError(
        f"${name} comes back to itself before the end of its definition: {cycle}",
        span=node.span,
        fix=f"let the call stand last, as in (${name}: /a ${name}), or repeat a path with (…)*",
    )


def _way(start: str, end: str, defined: dict[str, Define]) -> tuple[str, ...]:
    """The shortest way of calls from one path variable to another."""
    ways: list[tuple[str, ...]] = [(start,)]
    while ways[0][-1] != end:
        way = ways.pop(0)
        ways += [(*way, node.variable) for node in called(defined[way[-1]].body) if node.variable not in way]
    return ways[0]


def _comes_back_at_once(path: Path, name: str, defined: dict[str, Define], entered: frozenset[str]) -> bool:
    """Whether a walk along the path may come to a call of the variable before it has taken a step."""
    match path:
        case Step():
            return False
        case Star() | Union() | Intersect():
            return any(_comes_back_at_once(part, name, defined, entered) for part in parts(path))
        case Concat():
            for part in path.parts:
                if _comes_back_at_once(part, name, defined, entered):
                    return True
                if not _may_be_empty(part, defined, frozenset()):
                    break
            return False
        case Define():
            return _comes_back_at_once(path.body, name, defined, entered)
        case Call():
            if path.variable == name or path.variable in entered:
                return path.variable == name
            return _comes_back_at_once(defined[path.variable].body, name, defined, entered | {path.variable})


def _may_be_empty(path: Path, defined: dict[str, Define], entered: frozenset[str]) -> bool:
    """Whether a walk along the path may take no step; a call of what is being looked at may."""
    match path:
        case Step():
            return False
        case Star():
            return True
        case Union():
            return any(_may_be_empty(part, defined, entered) for part in path.parts)
        case Concat() | Intersect():
            return all(_may_be_empty(part, defined, entered) for part in path.parts)
        case Define():
            return _may_be_empty(path.body, defined, entered | {path.variable})
        case Call():
            name = path.variable
            return name in entered or _may_be_empty(defined[name].body, defined, entered | {name})
