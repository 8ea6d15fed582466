"""When a query term simulates into a data term, straight from the definition (Xcerpt; CERA paper, section 4.2).

Every injective map of child queries to children is tried, and values are compared by their canonical text. Written
apart from `terms.match` on purpose, so that each can be tested against the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations, product

from ostinato.rules.syntax.nodes import Bind, Const, Desc, Element, Optional, QueryTerm
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
    elif isinstance(data, DataTerm) and data.label == query.label:
        for chosen in _without_optionals(query.children):
            yield from _children(query, chosen, data.children)


def _without_optionals(queries: Sequence[QueryTerm]) -> Iterator[tuple[QueryTerm, ...]]:
    """The child queries with each optional one there or left out."""
    choices = [((query,), ()) if isinstance(query, Optional) else ((query,),) for query in queries]
    for choice in product(*choices):
        yield tuple(query for part in choice for query in part)


def _children(element: Element, queries: Sequence[QueryTerm], children: Sequence[Child]) -> Iterator[Substitution]:
    """Injective maps of queries to children: increasing where the element is ordered, onto where it is total."""
    if element.total and len(queries) != len(children):
        return
    for images in (combinations if element.ordered else permutations)(children, len(queries)):
        pairs = zip(queries, images, strict=True)
        for sigmas in product(*(list(_simulations(query, image)) for query, image in pairs)):
            union = merge_consistent(sigmas)
            if union is not None:
                yield union
