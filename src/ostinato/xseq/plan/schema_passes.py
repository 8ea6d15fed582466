"""Queries made smaller before they run (section 4.2 of the XSeq paper): what a schema implies is not looked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ostinato.documents.schema.model import DOCUMENT, Schema
from ostinato.xseq.plan.local_tests import reads_as_number
from ostinato.xseq.plan.reachable_names import Places, ReachableNames, is_element
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import condition_text, path_text

_EXPLORED = 10_000  # (element, steps taken) pairs looked at before a prefix is left as it is


@dataclass(frozen=True)
class PassNote:
    """What was done and why, for explain. `never`: no document that fits the schema has a match."""

    text: str
    never: bool = False


Pass = Callable[[n.Query, Schema | None], tuple[n.Query, tuple[PassNote, ...]]]


def optimise(query: n.Query, schema: Schema | None = None) -> tuple[n.Query, tuple[PassNote, ...]]:
    """The query with the same answers on every document that fits the schema, and what was changed."""
    notes: list[PassNote] = []
    for each in PASSES:
        query, added = each(query, schema)
        notes += added
        if any(note.never for note in added):
            break
    return query, tuple(notes)


# --- names in conditions

_ANY = n.NodeTest(n.Kind.ANY)


def name_steps(query: n.Query, schema: Schema | None = None) -> tuple[n.Query, tuple[PassNote, ...]]:
    """`tag($X) = 'a'` as a name test on the steps that bind X."""
    tests: dict[str, set[n.NodeTest]] = {}
    for step in n.subpaths(query.path):
        if isinstance(step, n.Step) and step.variable is not None:
            tests.setdefault(step.variable, set()).add(step.test)
    names: dict[str, str] = {}
    kept: list[n.Condition] = []
    notes: list[PassNote] = []
    for each in n.conjuncts(query.where):
        named = _tag_test(each)
        if named is None or names.get(named[0], named[1]) != named[1] or tests.get(named[0]) != {_ANY}:
            kept.append(each)
            continue
        names[named[0]] = named[1]
        notes.append(PassNote(f"{condition_text(each)} became a name test on ${named[0]}"))
    if not names:
        return query, ()
    where = None if not kept else kept[0] if len(kept) == 1 else n.And(tuple(kept))

    def named_step(step: n.Step) -> n.Step:
        if step.variable in names:
            return replace(step, test=n.NodeTest(n.Kind.NAME, names[step.variable]))
        return step

    return replace(query, path=rebuild_path(query.path, named_step), where=where), tuple(notes)


def _tag_test(condition: n.Condition) -> tuple[str, str] | None:
    """(X, a) of `tag($X) = 'a'`. A name that reads as a number compares as one, so it stays where it is."""
    if not isinstance(condition, n.Comparison) or condition.operator != "=":
        return None
    for one, two in ((condition.left, condition.right), (condition.right, condition.left)):
        variable = _tag_of(one)
        if variable is not None and isinstance(two, n.Constant) and isinstance(two.value, str) and two.value:
            return None if reads_as_number(two.value) else (variable, two.value)
    return None


def _tag_of(operand: n.Operand) -> str | None:
    """X of `tag($X)`."""
    match operand:
        case n.Reference(leaf=n.Leaf.TAG, alias=n.Alias.PLAIN, within=None, steps=()):
            return operand.variable
        case _:
            return None


def rebuild_path(path: n.Path, change: Callable[[n.Step], n.Step]) -> n.Path:
    """The path with every step changed, those in predicates as well."""
    match path:
        case n.Step():
            inner: tuple[n.Predicate, ...] = tuple(
                replace(each, path=rebuild_path(each.path, change)) if isinstance(each, n.Exists) else each
                for each in path.predicates
            )
            return change(replace(path, predicates=inner))
        case n.Concat() | n.Union() | n.Intersect():
            return replace(path, parts=tuple(rebuild_path(part, change) for part in path.parts))
        case n.Star() | n.Define():
            return replace(path, body=rebuild_path(path.body, change))
        case _:
            return path


# --- steps that can only lead to some names


def narrow_steps(query: n.Query, schema: Schema | None) -> tuple[n.Query, tuple[PassNote, ...]]:
    """Wildcards and `//` as what they can only be, and branches left out that lead nowhere."""
    if schema is None:
        return query, ()
    narrow = _Narrow(schema, query)
    path, _ = narrow.along(query.path, frozenset({DOCUMENT}))
    if path is None:
        return query, (PassNote(f"never matches: {narrow.dead_end}, says {schema.source}", never=True),)
    return replace(query, path=path), tuple(narrow.notes)


_STAY = n.Step(n.Axis.SELF, n.NodeTest(n.Kind.NODE))


def _binds(path: n.Path) -> bool:
    """Whether the path binds variables; then it stays, for what is returned or counted may speak of them."""
    return any(
        isinstance(each, n.Define | n.Call) or getattr(each, "variable", None) is not None for each in n.subpaths(path)
    )


class _Narrow:
    def __init__(self, schema: Schema, query: n.Query) -> None:
        self._reach = ReachableNames(schema, query.path)
        self._axes = query.partition is None  # the path of a partition has the same axes as the query's, and keeps them
        self._schema = schema
        self.notes: list[PassNote] = []
        self.dead_end = ""  # the first step that leads nowhere

    def along(self, path: n.Path, places: Places) -> tuple[n.Path | None, Places]:
        """The path narrowed, or None if no walk along it can end; and where walks can end."""
        match path:
            case n.Step():
                return self._step(path, places)
            case n.Concat():
                return self._concat(path, places)
            case n.Union():
                return self._union(path, places)
            case n.Star(entry=None):
                places = self._reach.rounds(path.body, places)
                body, _, _ = self._quietly(path.body, places)
                if body is None and _binds(path.body):
                    return path, places
                if body is None:
                    self.notes.append(PassNote(f"({path_text(path.body)})* has no round"))
                    return _STAY, places
                return replace(path, body=body), places
            case n.Intersect():
                inner = [self.along(part, places) for part in path.parts]
                kept = tuple(part for part, _ in inner if part is not None)
                ends = frozenset.intersection(*(reached for _, reached in inner))
                if len(kept) < len(inner) or not ends:
                    self._stuck(f"`{path_text(path)}` has no end in common")
                    return None, frozenset()
                return replace(path, parts=kept), ends
            case _:
                # What a path variable stands for is walked from several places, as are the rounds of a star whose first
                # goes another way; it stays as it is written.
                ends = self._reach.along(path, places)
                if not ends:
                    self._stuck(f"`{path_text(path)}` leads nowhere")
                return (path if ends else None), ends

    def _stuck(self, reason: str) -> None:
        self.dead_end = self.dead_end or reason

    def _quietly(self, path: n.Path, places: Places) -> tuple[n.Path | None, Places, str]:
        """As `along`, where a dead end is not the end of the query; and the reason of the dead end."""
        before, self.dead_end = self.dead_end, ""
        path_or_none, ends = self.along(path, places)
        reason, self.dead_end = self.dead_end, before
        return path_or_none, ends, reason

    def _concat(self, path: n.Concat, places: Places) -> tuple[n.Path | None, Places]:
        kept: list[n.Path] = []
        for part in path.parts:
            narrower, places = self.along(part, places)
            if narrower is None:
                return None, frozenset()
            if narrower is not _STAY:
                kept.append(narrower)
        if not kept:
            return path, places
        return (kept[0] if len(kept) == 1 else replace(path, parts=tuple(kept))), places

    def _union(self, path: n.Union, places: Places) -> tuple[n.Path | None, Places]:
        kept: list[n.Path] = []
        bound: list[n.Path] = []
        ends: Places = frozenset()
        reasons: list[PassNote] = []
        for part in path.parts:
            narrower, reached, reason = self._quietly(part, places)
            ends |= reached
            if narrower is not None:
                kept.append(narrower)
            elif _binds(part):
                bound.append(part)
            else:
                reasons.append(PassNote(f"`{path_text(part)}` left out of the union: {reason}"))
        if not kept:
            self._stuck(f"no part of `{path_text(path)}` leads anywhere")
            return None, frozenset()
        self.notes += reasons
        kept += bound
        return (kept[0] if len(kept) == 1 else replace(path, parts=tuple(kept))), ends

    def _step(self, step: n.Step, places: Places) -> tuple[n.Path | None, Places]:
        reached = self._reach.step(step.axis, step.test, places)
        ends = frozenset(place for place in reached if self._reach.passes(step.predicates, place))
        if not ends:
            where = _list_places(places)
            what = "predicates on it can never hold" if reached else f"from {where} nothing is reached"
            self._stuck(f"step `{path_text(step)}`: {what}")
            return None, ends
        inner: list[n.Predicate] = []
        for each in step.predicates:
            narrower = self._quietly(each.path, ends)[0] if isinstance(each, n.Exists) else None
            inner.append(replace(each, path=narrower) if isinstance(each, n.Exists) and narrower is not None else each)
        new = replace(step, predicates=tuple(inner))
        if new.test.kind is n.Kind.ANY and len(ends) == 1:
            name = next(iter(ends)).removeprefix("@")
            new = replace(new, test=n.NodeTest(n.Kind.NAME, name))
            self.notes.append(PassNote(f"`{path_text(step)}` can only be `{name}`"))
        if self._axes and new.axis is n.Axis.DESCENDANT and self._all_children(ends, places):
            new = replace(new, axis=n.Axis.CHILD)
            self.notes.append(PassNote(f"`{path_text(step)}` is never deeper than a child of {_list_places(places)}"))
        return new, ends

    def _all_children(self, ends: Places, places: Places) -> bool:
        """Whether elements of those names, below the places, can only be children of them."""
        holders = [place for place in places if is_element(place) or place == DOCUMENT]
        below = self._schema.below(child for place in holders for child in self._schema.of(place).children)
        return all(is_element(end) for end in ends) and below.isdisjoint(ends)


def _list_places(places: Places) -> str:
    names = sorted("the document node" if place == DOCUMENT else f"`{place}`" for place in places)
    return ", ".join(names[:4]) + (" …" if len(names) > 4 else "")


# --- prefixes that the schema implies


def cut_prefix(query: n.Query, schema: Schema | None) -> tuple[n.Query, tuple[PassNote, ...]]:
    """`//issue/articles/authors/author…` as `//author…` where the schema has no other way to an author."""
    if schema is None or query.partition is not None or not isinstance(query.path, n.Concat):
        return query, ()
    plain: list[n.Step] = []
    longest = 0
    for place, part in enumerate(query.path.parts):
        if not isinstance(part, n.Step) or part.axis not in (n.Axis.CHILD, n.Axis.DESCENDANT):
            break
        if place > 0 and part.test.kind is n.Kind.NAME and _is_implied([*plain, part], schema):
            longest = place
        if part.variable is not None or part.predicates or part.test.kind not in (n.Kind.NAME, n.Kind.ANY):
            break
        plain.append(part)
    if longest == 0:
        return query, ()
    first = query.path.parts[longest]
    assert isinstance(first, n.Step)
    prefix = "".join(path_text(step) for step in query.path.parts[:longest])
    rest = (replace(first, axis=n.Axis.DESCENDANT), *query.path.parts[longest + 1 :])
    path: n.Path = rest[0] if len(rest) == 1 else replace(query.path, parts=rest)
    note = f"the prefix {prefix} was cut: every `{first.test.name}` stands there, says {schema.source}"
    return replace(query, path=path), (PassNote(note),)


def _is_implied(steps: list[n.Step], schema: Schema) -> bool:
    """Whether each element that the last step names is reached by the steps, wherever the schema lets it stand."""
    name = steps[-1].test.name
    relevant = schema.above([name]) | {name}
    start = (DOCUMENT, frozenset({0}))
    seen, todo = {start}, [start]
    while todo:
        parent, taken = todo.pop()
        for child in schema.of(parent).children & relevant:
            after = frozenset(
                reached for count in taken if count < len(steps) for reached in _steps_taken(steps[count], count, child)
            )
            if child == name and len(steps) not in after:
                return False
            if (child, after) not in seen:
                seen.add((child, after))
                todo.append((child, after))
        if len(seen) > _EXPLORED:
            return False
    return True


def _steps_taken(step: n.Step, count: int, name: str) -> list[int]:
    """How many steps are taken after going down to an element of that name."""
    deeper = [count] if step.axis is n.Axis.DESCENDANT else []
    return [*deeper, count + 1] if step.test.kind is n.Kind.ANY or step.test.name == name else deeper


PASSES: tuple[Pass, ...] = (name_steps, narrow_steps, cut_prefix)
