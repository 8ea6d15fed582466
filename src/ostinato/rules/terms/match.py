"""Query terms compiled to functions that find every substitution under which they simulate into a data term (Xcerpt).

Each query term is solved against each child that its label admits, once; the solutions of siblings are then joined,
remembering which children are taken only where two siblings could want the same one. What comes out equal is merged at
every step, so that the work follows the number of different answers, not the number of ways to find them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ostinato.core.regex import matches_regex
from ostinato.errors import LimitError
from ostinato.rules.syntax.nodes import (
    ANY_LABEL,
    Bind,
    Const,
    Desc,
    Element,
    Fitting,
    Optional,
    Position,
    QueryTerm,
    Without,
)
from ostinato.rules.syntax.variables import term_variables, walk_query_terms
from ostinato.rules.terms.data import Child, DataTerm, value_key

Substitution = dict[str, Child]
Matcher = Callable[[DataTerm], list[Substitution]]
_Solve = Callable[[Child], Sequence[Substitution]]

MAX_SUBSTITUTIONS = 100_000  # of one event

_NOTHING: Substitution = {}
_MATCHED = (_NOTHING,)


def compile_term(term: Element, bound: str | None = None) -> Matcher:
    """All substitutions of `event i: var bound -> term`: each once, and none that another one properly extends."""
    solve = _compile(term if bound is None else Bind(bound, term))
    label = term.label
    names = sorted(term_variables(term, bound))
    has_optional = any(isinstance(node, Optional) for node in walk_query_terms(term))

    def match(data: DataTerm) -> list[Substitution]:
        if data.label != label:
            return []
        found = solve(data)
        if len(found) > 1:
            found = _distinct(found, names)
            if has_optional:
                found = _maximal(found)
        return list(found)

    return match


# One query term against one child -------------------------------------------------------------------------------------


def _compile(term: QueryTerm) -> _Solve:
    if isinstance(term, Const):
        return _constant(term)
    if isinstance(term, Bind):
        return _binding(term)
    if isinstance(term, Desc):
        return _descent(term)
    if isinstance(term, Fitting):
        fits = _fitting(term.regex)
        return lambda data: _MATCHED if type(data) is str and fits(data) else ()
    if isinstance(term, Optional):  # whether it is left out is for the element that has it as a child
        return _compile(term.term)
    return _element(term)


def _constant(term: Const) -> _Solve:
    wanted = value_key(term.value)
    return lambda data: _MATCHED if type(data) is not DataTerm and value_key(data) == wanted else ()


def _fitting(regex: str) -> Callable[[str], bool]:
    """Whether all of a text fits. Few texts come often."""
    whole = rf"\A(?:{regex})\z"
    if regex == ANY_LABEL:
        return lambda text: True
    return lru_cache(maxsize=10_000)(lambda text: matches_regex(text, whole))


def label_test(term: Element) -> Callable[[str], bool]:
    """Whether a label is what the element asks for."""
    label = term.label
    return _fitting(label) if term.is_regex else lambda found: found == label


def _binding(term: Bind) -> _Solve:
    name = term.name
    if term.term is None:
        return lambda data: ({name: data},)
    solve = _compile(term.term)

    def bind(data: Child) -> Sequence[Substitution]:
        return [
            {**each, name: data} for each in solve(data) if name not in each or value_key(each[name]) == value_key(data)
        ]

    return bind


def _descent(term: Desc) -> _Solve:
    solve, names = _compile(term.term), sorted(term_variables(term))

    def descend(data: Child) -> Sequence[Substitution]:
        found = [each for below in _descendants(data) for each in solve(below)]
        return _distinct(found, names) if len(found) > 1 else found

    return descend


def _descendants(data: Child) -> Iterator[Child]:
    yield data
    if type(data) is DataTerm:
        for child in data.children:
            yield from _descendants(child)


# The children of an element -------------------------------------------------------------------------------------------

_ANY = object()
_State = tuple[int, Substitution]  # the children taken, as bits; what is bound
_Take = Callable[[int, int], int | None]  # the children taken with one more, or None if it may not be


@dataclass(frozen=True)
class _Part:
    """One child query: what it may match, and what is known about the variables when its turn comes."""

    solve: _Solve
    label: object  # the label of what it matches; None for a value, _ANY for any
    optional: bool
    take: _Take
    joined: tuple[str, ...]  # variables that earlier siblings bind too
    seen: tuple[str, ...]  # variables bound once it is done
    place: int | str | None = None  # a position, or the variable that is bound to it

    def candidates(self, data: DataTerm) -> Sequence[int]:
        count = len(data.children)
        if isinstance(self.place, int):
            position = self.place - 1 if self.place > 0 else count + self.place
            return (position,) if 0 <= position < count else ()
        if self.label is _ANY:
            return range(count)
        return data.by_label.get(self.label, ())  # type: ignore[call-overload,no-any-return]

    def solutions(self, data: DataTerm, position: int) -> Sequence[Substitution]:
        found, place = self.solve(data.children[position]), self.place
        if not isinstance(place, str):
            return found
        return [{**each, place: position + 1} for each in found if each.get(place, position + 1) == position + 1]


def _element(term: Element) -> _Solve:
    if any(isinstance(child, Without) for child in term.children):
        return _element_without(term)
    is_labelled, total = label_test(term), term.total
    parts = _parts(term)
    at_least = sum(not part.optional for part in parts)
    at_most = len(parts)
    if not parts:
        return lambda data: (
            _MATCHED if type(data) is DataTerm and is_labelled(data.label) and _fits(data, total) else ()
        )
    if at_most == 1 and not parts[0].optional and parts[0].place is None:
        return _single(term, parts[0])

    def solve(data: Child) -> Sequence[Substitution]:
        if type(data) is not DataTerm or not is_labelled(data.label) or len(data.children) < at_least:
            return ()
        if total and len(data.children) > at_most:
            return ()
        states: dict[object, _State] = {None: (0, _NOTHING)}
        for part in parts:
            states = _step(part, data, states)
            if not states:
                return ()
        if total:
            everything = (1 << len(data.children)) - 1
            return [found for taken, found in states.values() if taken == everything]
        return [found for _, found in states.values()]

    return solve


def _fits(data: DataTerm, total: bool) -> bool:
    return not total or not data.children


def _single(term: Element, part: _Part) -> _Solve:
    """`label {{ one }}`, which most elements are."""
    one, total, is_labelled = part.solve, term.total, label_test(term)
    label = None if term.is_regex else term.label

    def solve(data: Child) -> Sequence[Substitution]:
        if type(data) is not DataTerm or (data.label != label if label is not None else not is_labelled(data.label)):
            return ()
        children = data.children
        if len(children) == 1:
            return one(children[0])
        if total or not children:
            return ()
        found = [each for position in part.candidates(data) for each in one(children[position])]
        return _distinct(found, part.seen) if len(found) > 1 else found

    return solve


# Elements with `without` ----------------------------------------------------------------------------------------------

_Images = tuple[int, ...]  # the child that each child query matches, or -1


def _element_without(term: Element) -> _Solve:
    """Which children are taken decides about the others, so that every way to match is looked at."""
    is_labelled, ordered = label_test(term), term.ordered
    asked = replace(term, children=tuple(child for child in term.children if not isinstance(child, Without)))
    parts = _parts(asked)
    names = parts[-1].seen if parts else ()
    absent = [
        (sum(not isinstance(before, Without) for before in term.children[:place]), _compile(child.term),
         sorted(set(names) & set(term_variables(child.term))))
        for place, child in enumerate(term.children) if isinstance(child, Without)
    ]  # fmt: skip

    def is_there(data: DataTerm, images: _Images, found: Substitution) -> bool:
        for before, solve_one, joined in absent:
            first, last = -1, len(data.children)
            if ordered:
                first = max(images[:before], default=-1)
                last = min((image for image in images[before:] if image >= 0), default=last)
            for position in range(first + 1, last):
                if position not in images and any(
                    _agree(found, own, joined) for own in solve_one(data.children[position])
                ):
                    return True
        return False

    def solve(data: Child) -> Sequence[Substitution]:
        if type(data) is not DataTerm or not is_labelled(data.label):
            return ()
        states: list[tuple[_Images, Substitution]] = [((), _NOTHING)]
        for part in parts:
            states = list(_ways(part, data, states, ordered))
            if len(states) > MAX_SUBSTITUTIONS:
                raise _too_many(data.label)
        left = [found for images, found in states if not is_there(data, images, found)]
        return _distinct(left, names) if len(left) > 1 else left

    return solve


def _ways(
    part: _Part, data: DataTerm, states: Iterable[tuple[_Images, Substitution]], ordered: bool
) -> Iterator[tuple[_Images, Substitution]]:
    """Every way to go on with one more child query, each with the children taken."""
    solutions = [(position, found) for position in part.candidates(data) if (found := part.solutions(data, position))]
    for images, before in states:
        latest = max(images, default=-1) if ordered else -1
        for position, found in solutions:
            if position in images or position < latest:
                continue
            for own in found:
                if _agree(before, own, part.joined):
                    yield (*images, position), {**before, **own}
        if part.optional:
            yield (*images, -1), before


def _parts(term: Element) -> list[_Part]:
    children = [child for child in term.children if not isinstance(child, Without)]
    labels = [_label(child) for child in children]
    parts: list[_Part] = []
    seen: frozenset[str] = frozenset()
    for index, child in enumerate(children):
        others = labels[:index] + labels[index + 1 :]
        # No sibling can want the same child, so that nobody needs to know which one is taken.
        exclusive = labels[index] is not _ANY and labels[index] not in others and _ANY not in others
        own = frozenset(term_variables(child))
        joined, seen = tuple(own & seen), seen | own
        take, names = _taking(term, exclusive), tuple(sorted(seen))
        asked, place = (child.term, child.place) if isinstance(child, Position) else (child, None)
        parts.append(_Part(_compile(asked), labels[index], isinstance(child, Optional), take, joined, names, place))
    return parts


def _taking(term: Element, exclusive: bool) -> _Take:
    if term.total:
        if term.ordered:  # none may be left out, so that the next one is next
            return lambda taken, bit: taken | bit if bit == taken + 1 else None
        return lambda taken, bit: taken | bit if not taken & bit else None
    if term.ordered:  # only the last one matters
        return lambda taken, bit: bit if bit > taken else None
    return (lambda taken, _: taken) if exclusive else (lambda taken, bit: taken | bit if not taken & bit else None)


def _label(term: QueryTerm | Position) -> object:
    if isinstance(term, Element):
        return _ANY if term.is_regex else term.label
    if isinstance(term, Const | Fitting):
        return None
    if isinstance(term, Desc) or term.term is None:
        return _ANY
    return _label(term.term)


def _step(part: _Part, data: DataTerm, states: Mapping[object, _State]) -> dict[object, _State]:
    """Every way to go on from the states with one more child query."""
    joined, seen, take = part.joined, part.seen, part.take
    solutions = [
        (1 << position, found) for position in part.candidates(data) if (found := part.solutions(data, position))
    ]
    if len(solutions) == len(states) == 1 and len(solutions[0][1]) == 1 and not joined and not part.optional:
        ((taken, before),), ((bit, (own,)),) = states.values(), solutions  # nothing to compare with
        after = take(taken, bit)
        return {} if after is None else {None: (after, {**before, **own})}
    reached: dict[object, _State] = {}
    for taken, before in states.values():
        for bit, found in solutions:
            if (after := take(taken, bit)) is None:
                continue
            for own in found:
                if not joined or _agree(before, own, joined):
                    both = {**before, **own}
                    reached[after, _identity(both, seen)] = after, both
            if len(reached) > MAX_SUBSTITUTIONS:
                raise _too_many(data.label)
        if part.optional:
            reached[taken, _identity(before, seen)] = taken, before
    return reached


def _too_many(label: str) -> LimitError:
    return LimitError(
        "substitutions",
        MAX_SUBSTITUTIONS,
        reason=f"one `{label}` matches a query term in too many ways",
        fix="ask for fewer repeated children at once, or name more of their content",
    )


# Sets of substitutions ------------------------------------------------------------------------------------------------


def _identity(found: Substitution, names: Iterable[str]) -> tuple[object, ...]:
    return tuple([value_key(found[name]) if name in found else None for name in names])


def _agree(left: Substitution, right: Substitution, names: Iterable[str]) -> bool:
    return all(value_key(left[name]) == value_key(right[name]) for name in names if name in left and name in right)


def _distinct(found: Iterable[Substitution], names: Sequence[str]) -> list[Substitution]:
    return list({_identity(each, names): each for each in found}.values())


def _maximal(found: Sequence[Substitution]) -> Sequence[Substitution]:
    """Without those that another one properly extends."""
    by_domain: dict[tuple[str, ...], list[Substitution]] = {}
    for each in found:
        by_domain.setdefault(tuple(sorted(each)), []).append(each)
    if len(by_domain) == 1:
        return found
    extended = {
        domain: {
            _identity(each, domain)
            for larger, group in by_domain.items()
            if set(domain) < set(larger)
            for each in group
        }
        for domain in by_domain
    }
    return [each for each in found if _identity(each, sorted(each)) not in extended[tuple(sorted(each))]]
