"""When a query term simulates into a data term, straight from the definition (Xcerpt; CERA paper, section 4.2).

Every injective map of child queries to children is tried, and values are compared by their canonical text. Written
apart from `terms.match` on purpose, so that each can be tested against the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

from ostinato.core.regex import matches_regex
from ostinato.rules.syntax.nodes import (
    Bind,
    ChildQuery,
    Const,
    Desc,
    Element,
    Fitting,
    Optional,
    Position,
    QueryTerm,
    Without,
)
from ostinato.rules.terms.data import Child, DataTerm, to_json

Substitution = dict[str, Child]  # σ : Vars → DataTerms


def substitutions(query: QueryTerm, data: Child) -> list[Substitution]:
    """Σ = {σ | σ(q) ≼ d}, without those that another one extends (an optional part is matched where it can be)."""
    found = {_text(sigma): sigma for sigma in _simulations(query, data)}
    return [sigma for text, sigma in found.items() if not any(text < other for other in found)]


def merge_consistent(sigmas: Sequence[Substitution]) -> Substitution | None:
    """The union of the substitutions, if no two of them disagree on a variable."""
    union: Substitution = {}
    for sigma in sigmas:
        for name, value in sigma.items():
            if to_json(union.setdefault(name, value)) != to_json(value):
                return None
    return union


def _text(sigma: Substitution) -> frozenset[tuple[str, str]]:
    return frozenset((name, to_json(value)) for name, value in sigma.items())


def _simulations(query: QueryTerm, data: Child) -> Iterator[Substitution]:
    if isinstance(query, Const):
        if to_json(query.value) == to_json(data):
            yield {}
    elif isinstance(query, Bind):
        for sigma in [{}] if query.term is None else _simulations(query.term, data):
            whole = merge_consistent([sigma, {query.name: data}])
            if whole is not None:
                yield whole
    elif isinstance(query, Desc):
        yield from _simulations(query.term, data)
        for child in data.children if isinstance(data, DataTerm) else ():
            yield from _simulations(query, child)
    elif isinstance(query, Optional):
        yield from _simulations(query.term, data)
    elif isinstance(query, Fitting):
        if isinstance(data, str) and _fits(query.regex, data):
            yield {}
    elif isinstance(data, DataTerm) and (
        _fits(query.label, data.label) if query.is_regex else data.label == query.label
    ):
        for chosen in _without_optionals(query.children):
            yield from _children(query, chosen, data.children)


def _fits(regex: str, text: str) -> bool:
    """The whole text fits."""
    return matches_regex(text, rf"\A(?:{regex})\z")


Queries = Sequence[tuple[int, QueryTerm | Position]]  # child queries, each with its place among all of them


def _without_optionals(queries: Sequence[ChildQuery]) -> Iterator[Queries]:
    """The child queries that must match a child, with each optional one there or left out."""
    asked = [(place, query) for place, query in enumerate(queries) if not isinstance(query, Without)]
    choices = [((each,), ()) if isinstance(each[1], Optional) else ((each,),) for each in asked]
    for choice in product(*choices):
        yield tuple(each for part in choice for each in part)


def _children(element: Element, queries: Queries, children: Sequence[Child]) -> Iterator[Substitution]:
    """Injective maps of queries to children: increasing where the element is ordered, onto where it is total.

    No `without` may extend such a map: match a child that it leaves out, which in an ordered element lies between those
    of the queries around it.
    """
    if element.total and len(queries) != len(children):
        return
    for images in (combinations if element.ordered else permutations)(range(len(children)), len(queries)):
        pairs = [(query, image) for (_, query), image in zip(queries, images, strict=True)]
        for sigmas in product(*(list(_at(query, image, children)) for query, image in pairs)):
            union = merge_consistent(sigmas)
            if union is not None and not _extends(element, queries, images, children, union):
                yield union


def _at(query: QueryTerm | Position, image: int, children: Sequence[Child]) -> Iterator[Substitution]:
    if not isinstance(query, Position):
        yield from _simulations(query, children[image])
    elif isinstance(query.place, str):
        for sigma in _simulations(query.term, children[image]):
            whole = merge_consistent([sigma, {query.place: image + 1}])
            if whole is not None:
                yield whole
    elif image == (query.place - 1 if query.place > 0 else len(children) + query.place):
        yield from _simulations(query.term, children[image])


def _extends(
    element: Element, queries: Queries, images: Sequence[int], children: Sequence[Child], sigma: Substitution
) -> bool:
    """Whether something that must not be there is."""
    for place, query in enumerate(element.children):
        if not isinstance(query, Without):
            continue
        left = [image for image in range(len(children)) if image not in images]
        if element.ordered:
            known = list(zip([other for other, _ in queries], images, strict=True))
            first = max((image for other, image in known if other < place), default=-1)
            last = min((image for other, image in known if other > place), default=len(children))
            left = [image for image in left if first < image < last]
        for image in left:
            if any(merge_consistent([sigma, own]) is not None for own in _simulations(query.term, children[image])):
                return True
    return False
