"""The CXSeq productions of an XSeq path: axes as walks over neighbours, predicates and path variables as variables."""

from __future__ import annotations

from functools import reduce

from ostinato.errors import QueryError
from ostinato.xseq.paper.productions import ANY, Both, CXSeq, Direction, LabelTest, Sort, Starred, Variable, VStep, Walk
from ostinato.xseq.plan.local_tests import is_local
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import endless_variables


def productions(path: n.Path) -> CXSeq:
    """K with S(v0) = the pairs of nodes that a walk along the path joins."""
    builder = _Builder(
        endless_variables({each.variable: each.body for each in n.subpaths(path) if isinstance(each, n.Define)})
    )
    return CXSeq(builder.build(path), tuple(builder.made))


_SIBLING_TESTS = frozenset({Sort.ELEMENT})
# Two axes of an intersection that may lead to one node, and the axis that leads there along both.
_MEETS = {
    (n.Axis.CHILD, n.Axis.DESCENDANT): n.Axis.CHILD,
    (n.Axis.CHILD, n.Axis.FIRST_CHILD): n.Axis.FIRST_CHILD,
    (n.Axis.DESCENDANT, n.Axis.FIRST_CHILD): n.Axis.FIRST_CHILD,
    (n.Axis.FOLLOWING_SIBLING, n.Axis.IMMEDIATE_FOLLOWING_SIBLING): n.Axis.IMMEDIATE_FOLLOWING_SIBLING,
    (n.Axis.PARENT, n.Axis.ANCESTOR): n.Axis.PARENT,
}


class _Builder:
    def __init__(self, endless: frozenset[str]) -> None:
        self._endless = endless
        self.made: list[tuple[Variable, Walk]] = []
        self._numbers: dict[str, int] = {}
        self._shared: dict[str, Variable] = {}
        self._rounds: dict[str, Variable] = {}  # of each path variable: its definition
        self._again: dict[str, Variable] = {}  # inside its definition: a further round, or perhaps one

    def build(self, path: n.Path) -> Variable:
        match path:
            case n.Step():
                return self._step(path.axis, _test(path.axis, path.test), path.predicates)
            case n.Concat():
                return self._new("path", VStep(Direction.SELF, then=tuple(self.build(part) for part in path.parts)))
            case n.Star():
                rounds = self._new("any", Starred(VStep(Direction.SELF, then=(self.build(path.body),))))
                if path.entry is None:
                    return rounds
                first = self.build(n.first_round(path))
                return self._new("any", VStep(Direction.SELF), VStep(Direction.SELF, then=(first, rounds)))
            case n.Union():
                return self._new("or", *(VStep(Direction.SELF, then=(self.build(part),)) for part in path.parts))
            case n.Intersect():
                return self._intersect(path)
            case n.Define():
                return self._define(path)
            case n.Call():
                known = self._again.get(path.variable) or self._rounds.get(path.variable)
                if known is None:
                    raise QueryError(f"${path.variable} is used before it is defined", span=path.span)
                return known

    def _new(self, base: str, *walks: Walk) -> Variable:
        self._numbers[base] = self._numbers.get(base, 0) + 1
        variable = f"{base}{self._numbers[base]}"
        self.made += [(variable, walk) for walk in walks]
        return variable

    def _define(self, path: n.Define) -> Variable:
        rounds = self._rounds[path.variable] = self._new(path.variable)
        self._again[path.variable] = rounds
        if path.variable in self._endless:
            again = self._new("again", VStep(Direction.SELF), VStep(Direction.SELF, then=(rounds,)))
            self._again[path.variable] = again
        self.made.append((rounds, VStep(Direction.SELF, then=(self.build(path.body),))))
        first = rounds if path.entry is None else self.build(n.first_round(path))
        del self._again[path.variable]
        return first

    def _intersect(self, path: n.Intersect) -> Variable:
        flat = [step for part in path.parts for step in _single(part)]
        if all(isinstance(step, n.Step) for step in flat):
            steps = [step for step in flat if isinstance(step, n.Step)]
            axis: n.Axis | None = steps[0].axis
            for step in steps[1:]:
                axis = _meet(axis, step.axis)
            if axis is None:
                return self._new("none")
            test = reduce(LabelTest.__and__, (_test(step.axis, step.test) for step in steps))
            return self._step(axis, test, tuple(each for step in steps for each in step.predicates))
        sides: list[Walk] = [VStep(Direction.SELF, then=(self.build(part),)) for part in path.parts]
        return self._new("both", reduce(Both, sides))

    def _step(self, axis: n.Axis, test: LabelTest, predicates: tuple[n.Predicate, ...]) -> Variable:
        end: tuple[Variable, ...]
        element = VStep(Direction.SELF, LabelTest(frozenset({Sort.ELEMENT})))  # only elements have siblings
        match axis:
            case n.Axis.SELF:
                return self._landing(Direction.SELF, test, predicates)
            case n.Axis.PARENT:
                return self._landing(Direction.PARENT, test, predicates)
            case n.Axis.ANCESTOR:
                way, end = VStep(Direction.PARENT), (self._any(Direction.PARENT),)
            case n.Axis.CHILD | n.Axis.ATTRIBUTE:
                way, end = VStep(Direction.FIRST), (self._any(Direction.NEXT),)
            case n.Axis.DESCENDANT:
                way, end = VStep(Direction.FIRST), (self._deeper(),)
            case n.Axis.FIRST_CHILD:
                way, end = VStep(Direction.FIRST), (self._past_text(),)
            case n.Axis.FOLLOWING_SIBLING:
                way, end = element, (self._one(Direction.NEXT), self._any(Direction.NEXT))
            case n.Axis.PRECEDING_SIBLING:
                way, end = element, (self._one(Direction.PREVIOUS), self._any(Direction.PREVIOUS))
            case n.Axis.IMMEDIATE_FOLLOWING_SIBLING:
                way, end = element, (self._one(Direction.NEXT), self._past_text())
        landing = self._landing(Direction.SELF, test, predicates)
        return self._new("step", VStep(way.direction, way.test, then=(*end, landing)))

    def _landing(self, direction: Direction, test: LabelTest, predicates: tuple[n.Predicate, ...]) -> Variable:
        """The step onto the node itself, with what is asked of it."""
        guards = tuple(each for each in predicates if is_local(each))
        paths = []
        for each in predicates:
            if isinstance(each, n.Exists) and not is_local(each):
                paths.append(self.build(each.path))
            elif not is_local(each):
                raise QueryError(
                    "a comparison with values of other nodes is not part of CXSeq",
                    span=each.span,
                    fix="the general construction takes paths and the node's own attributes in predicates",
                )
        chain = [VStep(direction, test & LabelTest(guards=guards), paths[0] if paths else None)]
        chain += [VStep(Direction.SELF, ANY, other) for other in paths[1:]]
        further = tuple(self._new("test", step) for step in chain[1:])
        return self._new("at", VStep(chain[0].direction, chain[0].test, chain[0].predicate, further))

    # --- walks that many steps share

    def _once(self, name: str, *walks: Walk) -> Variable:
        if name not in self._shared:
            self._shared[name] = name
            self.made += [(name, walk) for walk in walks]
        return name

    def _one(self, direction: Direction) -> Variable:
        return self._once(f"{direction}", VStep(direction))

    def _any(self, direction: Direction) -> Variable:
        return self._once(f"{direction}*", Starred(VStep(direction)))

    def _deeper(self) -> Variable:
        self._once("↓|→", VStep(Direction.FIRST), VStep(Direction.NEXT))
        return self._once("(↓|→)*", Starred(VStep(Direction.SELF, then=("↓|→",))))

    def _past_text(self) -> Variable:
        """Over what is no element; it may stop early, but then the step that asks for an element fails."""
        past = VStep(Direction.SELF, LabelTest(frozenset({Sort.NOT_ELEMENT})), then=(self._one(Direction.NEXT),))
        return self._once("past", Starred(past))


def _single(path: n.Path) -> list[n.Path]:
    return [inner for part in path.parts for inner in _single(part)] if isinstance(path, n.Intersect) else [path]


def _meet(left: n.Axis | None, right: n.Axis) -> n.Axis | None:
    if left is None or left is right:
        return left
    return _MEETS.get((left, right)) or _MEETS.get((right, left))


def _test(axis: n.Axis, test: n.NodeTest) -> LabelTest:
    if axis is n.Axis.ATTRIBUTE:
        sorts = {Sort.ATTRIBUTE, Sort.TEXT} if test.kind is n.Kind.TEXT else {Sort.ATTRIBUTE}
        return LabelTest(frozenset(sorts), frozenset({test.name}) if test.kind is n.Kind.NAME else frozenset())
    only = _SIBLING_TESTS if axis.sibling or axis is n.Axis.FIRST_CHILD else frozenset()
    match test.kind:
        case n.Kind.NAME:
            return LabelTest(only | {Sort.ELEMENT}, frozenset({test.name}))
        case n.Kind.ANY:
            return LabelTest(only | {Sort.ELEMENT})
        case n.Kind.TEXT:
            return LabelTest(only | {Sort.TEXT})
        case n.Kind.NODE:
            return LabelTest(only or frozenset({Sort.NODE if axis is n.Axis.SELF else Sort.INSIDE}))
