"""How a query term is matched against the events of a stream (Q^X), and what it binds.

A term that asks for attributes with one value each is a projection in SQL. Lists, documents and subterms need the
matcher of terms.match, which computes its relation before SQL reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeGuard

import pyarrow as pa

from ostinato.core.expressions import Literal, to_text
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.rules.algebra.nodes import Match
from ostinato.rules.relational.kinds import (
    DOCUMENT,
    TERM,
    Attributes,
    Kind,
    common_type,
    is_list,
    is_nested,
    type_family,
)
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
from ostinato.rules.terms.data import DataTerm, value_key
from ostinato.rules.terms.match import Matcher, Substitution, compile_term, label_test

Path = tuple[str, ...]  # an attribute of the stream, and fields below it


@dataclass
class FlatMatch:
    """A match by columns alone: where each variable is, what must be there, what must not, and constants."""

    variables: dict[str, list[Path]] = field(default_factory=dict)
    present: list[Path] = field(default_factory=list)
    absent: list[Path] = field(default_factory=list)
    equal: list[tuple[Path, Const]] = field(default_factory=list)

    @property
    def paths(self) -> list[Path]:
        """Everything that the match looks at."""
        variables = [path for paths in self.variables.values() for path in paths]
        return [*variables, *self.present, *self.absent, *(path for path, _ in self.equal)]


@dataclass(frozen=True)
class MatchPlan:
    """`flat` is None where the matcher of terms is needed; its relation then has a column for the reference too."""

    match: Match
    kinds: Mapping[str, Kind]
    flat: FlatMatch | None
    types: Mapping[str, Kind]  # of the attributes
    named: bool = False  # whether each event must be told apart from others that match alike

    @property
    def referenced(self) -> bool:
        """One event may match in several ways, or is counted on its own: its reference is a column."""
        return self.flat is None or self.named

    @property
    def reads(self) -> frozenset[str]:
        """The attributes whose values it uses."""
        if self.flat is None:
            return frozenset(self.types)
        paths = [path for found in self.flat.variables.values() for path in found]
        return frozenset(path[0] for path in [*paths, *(path for path, _ in self.flat.equal)])

    def type_at(self, path: Path) -> Kind:
        return _type_at(self.types, path)


def plan_match(match: Match, attributes: Attributes, *, named: bool = False) -> MatchPlan:
    """Raises QueryError where the events have nothing that the term could match."""
    types = attributes.types
    if DOCUMENT not in types:
        _check(match.term, types)
        flat = FlatMatch()
        if match.key is not None:
            _check(match.key, types)
        if match.bound is None and all(_flatten(term, types, (), flat) for term in _terms(match)):
            kinds = {name: _type_at(types, paths[0]) for name, paths in flat.variables.items()}
            for name, paths in flat.variables.items():
                for path in paths[1:]:
                    _agree(name, kinds[name], _type_at(types, path), match.term.span)
            return MatchPlan(match, kinds, flat, types, named)
    kinds = {}
    children: Children = None if DOCUMENT in types else list(types.items())
    for child in (child for term in _terms(match) for child in term.children):
        for name, kind in _bound(child, children):
            kinds[name] = common_type(kinds[name], kind) if name in kinds else kind
    if match.bound is not None:
        kinds[match.bound] = TERM
    return MatchPlan(match, {name: kinds[name] for name in match.schema.data}, None, types, named)


def _terms(match: Match) -> list[Element]:
    return [match.term] if match.key is None else [match.term, match.key]


def compile_match(match: Match) -> Matcher:
    """All substitutions under which an event matches: under those of a key too, where there is one."""
    find = compile_term(match.term, match.bound)
    if match.key is None:
        return find
    find_keys = compile_term(match.key)

    def both(data: DataTerm) -> list[Substitution]:
        keys = find_keys(data)
        return [{**one, **key} for one in find(data) for key in keys if _fits(one, key)] if keys else []

    return both


def _fits(one: Substitution, other: Substitution) -> bool:
    return all(value_key(one[name]) == value_key(value) for name, value in other.items() if name in one)


def _agree(name: str, left: Kind, right: Kind, span: Span) -> None:
    one, other = type_family(left), type_family(right)
    if "unknown" not in (one, other) and one != other and {one, other} != {"date", "timestamp"}:
        raise QueryError(f"`var {name}` would have to be a {one} and a {other} at once", span=span)


def _check(term: Element, types: Mapping[str, Kind]) -> None:
    """Every attribute that the term needs exists, and constants are of its kind."""
    for child in term.children:
        asked = child.term if isinstance(child, Position) else child
        needed = asked.term if isinstance(asked, Bind) and asked.term is not None else asked
        if isinstance(needed, Desc) and isinstance(needed.term, Element):
            _check_label(needed.term, term, [label for label, _ in _below(list(types.items()))], types)
            continue
        if not isinstance(needed, Element):
            continue
        if needed.is_regex:
            _check_label(needed, term, list(types), types)
            continue
        if needed.label not in types:
            fix = did_you_mean(needed.label, types)
            raise QueryError(f"the events `{term.label}` have no `{needed.label}`", span=needed.span, fix=fix)
        kind = types[needed.label]
        if is_list(kind):
            kind = kind.value_type
        if kind is not TERM and pa.types.is_struct(kind):
            _check(needed, {each.name: each.type for each in kind})
        elif kind is not TERM and not pa.types.is_nested(kind):
            _check_value(needed, kind)


def _check_label(needed: Element, term: Element, labels: Iterable[str | None], types: Mapping[str, Kind]) -> None:
    """Some label is what the element asks for."""
    fits = label_test(needed)
    known = [label for label in labels if label is not None]
    if ANY in known or TERM in types.values() or any(map(fits, known)):
        return
    asked = f"a label that fits /{needed.label}/" if needed.is_regex else f"the label `{needed.label}`"
    fix = f"known names: {', '.join(known)}" if needed.is_regex else did_you_mean(needed.label, known)
    raise QueryError(f"nothing in the events `{term.label}` has {asked}", span=needed.span, fix=fix)


def _check_value(term: Element, kind: Kind) -> None:
    for child in term.children:
        asked = child.term if isinstance(child, Position) else child
        inner = asked.term if isinstance(asked, Bind) and asked.term is not None else asked
        if isinstance(inner, Element):
            reason = f"`{term.label}` is a {type_family(kind)}: it has no `{inner.label}` in it"
            raise QueryError(reason, span=inner.span, fix=f"write {term.label} {{{{ var X }}}} for its value")
        if isinstance(inner, Const) and type_family(kind) not in (_constant_family(inner), "null", "unknown"):
            reason = f"`{term.label}` is a {type_family(kind)}, and {to_text(Literal(inner.value))} is not"
            raise QueryError(reason, span=inner.span, fix=f"compare it with a {type_family(kind)}")
        if isinstance(inner, Fitting) and type_family(kind) not in ("string", "null", "unknown"):
            reason = f"`{term.label}` is a {type_family(kind)}, and /{inner.regex}/ is for texts"
            raise QueryError(reason, span=inner.span, fix=f"compare it with a {type_family(kind)}")


def _constant_family(constant: Const) -> str:
    if isinstance(constant.value, bool):
        return "boolean"
    return "string" if isinstance(constant.value, str) else "number"


def _flatten(term: Element, types: Mapping[str, Kind], above: Path, flat: FlatMatch) -> bool:
    """Whether the children of the element are columns or fields with one value each; notes what they ask for."""
    named: list[str] = []
    missing: list[str] = []
    for child in term.children:
        if isinstance(child, Without) and not term.ordered and _is_bare(child.term):
            missing.append(child.term.label)
            continue
        if isinstance(child, Without | Position):
            return False
        optional = isinstance(child, Optional)
        element = child.term if isinstance(child, Optional) else child
        if not isinstance(element, Element) or element.is_regex or element.label in named:
            return False
        named.append(element.label)
        path = (*above, element.label)
        if optional and element.label not in types:
            return False
        kind = types[element.label]
        if is_list(kind) or kind is TERM or pa.types.is_map(kind):
            return False
        if not _flatten_one(element, kind, path, flat, optional=optional):
            return False
    for label in missing:  # what another query matches is there once, and taken
        if label in types and label not in named:
            if is_nested(types[label]):
                return False
            flat.absent.append((*above, label))
    if term.total:
        if any(is_list(kind) for name, kind in types.items() if name not in named):
            return False  # an empty list is absent too
        flat.absent += [(*above, name) for name in types if name not in named]
    order = [list(types).index(name) for name in named]
    return not term.ordered or order == sorted(order)


def _is_bare(term: QueryTerm) -> TypeGuard[Element]:
    """Whether it asks for a label, whatever is below it."""
    return isinstance(term, Element) and not (term.is_regex or term.children or term.total)


def _flatten_one(element: Element, kind: Kind, path: Path, flat: FlatMatch, *, optional: bool) -> bool:
    if pa.types.is_struct(kind):
        names = {each.name.lower() for each in kind}  # SQL does not tell fields apart that differ in case alone
        if optional or not element.children or len(names) < kind.num_fields:
            return False
        flat.present.append(path)
        return _flatten(element, {each.name: each.type for each in kind}, path, flat)
    if not element.children:
        flat.present.append(path)
        return not element.total and not optional
    if len(element.children) != 1:
        return False
    value = element.children[0]
    if isinstance(value, Bind) and value.term is None:
        if optional and value.name in flat.variables:
            return False
        flat.variables.setdefault(value.name, []).append(path)
        if not optional:
            flat.present.append(path)
        return True
    if isinstance(value, Const) and not optional:
        flat.equal.append((path, value))
        return True
    return False


def _type_at(types: Mapping[str, Kind], path: Path) -> Kind:
    kind = types[path[0]]
    for name in path[1:]:
        assert kind is not TERM
        kind = kind.field(name).type
    return kind


ANY = "\0"  # the label of whatever stands in a map
Children = list[tuple[str | None, Kind]] | None  # what may stand in an element: its labels, None for values; or unknown


def _bound(term: ChildQuery, among: Children) -> Iterator[tuple[str, Kind]]:
    """Every variable that a child query may bind among such children, with the types that it may have."""
    if isinstance(term, Position):
        if isinstance(term.place, str):
            yield term.place, pa.int64()
        yield from _bound(term.term, among)
    elif isinstance(term, Optional):
        yield from _bound(term.term, among)
    elif isinstance(term, Desc):
        yield from _bound(term.term, None if among is None else list(_below(among)))
    elif isinstance(term, Bind):
        kinds = [kind if label is None else TERM for label, kind in among] if among and term.term is None else [TERM]
        yield from ((term.name, kind) for kind in kinds)
        if term.term is not None:
            yield from _bound(term.term, among)
    elif isinstance(term, Element):
        fits = label_test(term)
        inside = (
            None
            if among is None
            else [kind for label, kind in among if label is not None and (label == ANY or fits(label))]
        )
        content = None if inside is None or TERM in inside else [each for kind in inside for each in _content(kind)]
        for child in term.children:
            yield from _bound(child, content)


def _content(kind: Kind) -> list[tuple[str | None, Kind]]:
    """What an element of this type has in it. A list in a list has elements `item` (terms.data)."""
    if is_list(kind):
        inner = kind.value_type
        return [("item", inner)] if is_list(inner) else _content(inner)
    if pa.types.is_struct(kind):
        return [(each.name, each.type) for each in kind]
    return [(ANY, kind.item_type)] if pa.types.is_map(kind) else [(None, kind)]


def _below(among: list[tuple[str | None, Kind]]) -> Iterator[tuple[str | None, Kind]]:
    for label, kind in among:
        yield label, kind
        if label is not None and kind is not TERM:
            yield from _below(_content(kind))
