"""The columns that heads make: one for each child of the derived event, with its Arrow type.

An element with one value is that value; one with elements is a struct; what may be there several times (`all`, a label
that comes twice, several values) is a list. A derived event is what its row says: an element with three values is three
elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from ostinato.core.expressions import (
    ARITHMETIC,
    CASE,
    NUMERIC_FUNCTIONS,
    STATISTICS,
    STRING_EDITS,
    STRING_FUNCTIONS,
    Call,
    Expr,
    Literal,
    UserCall,
    Variable,
)
from ostinato.core.types import check_expression
from ostinato.errors import QueryError
from ostinato.rules.relational.kinds import TERM, Kind, common_type, type_family
from ostinato.rules.syntax.nodes import Aggregate, All, Combined, ConstructTerm, Make, Value

CALCULATING = ("sum", "avg", *STATISTICS)  # aggregates of numbers alone
RESULT_TYPES = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}  # of functions of users
TEXT_FUNCTIONS = (*STRING_FUNCTIONS, *STRING_EDITS)


@dataclass(frozen=True)
class HeadColumn:
    """What stands under one label of an element: the terms that make it, and whether there may be many."""

    label: str
    terms: tuple[ConstructTerm, ...]  # Value, Aggregate, Combined, Make, or All over one of them
    kind: Kind  # of one instance
    many: bool

    @property
    def type(self) -> Kind:
        return pa.list_(pa.string() if self.kind is TERM else self.kind) if self.many else self.kind


def head_columns(make: Make, kinds: Mapping[str, Kind]) -> list[HeadColumn]:
    """The children of an element, by label in the order of the text. `kinds` are those of the variables."""
    by_label: dict[str, list[ConstructTerm]] = {}
    for child in make.children:
        made = child.term if isinstance(child, All) else child
        if not isinstance(made, Make):
            reason = f"`{make.label}` holds a value beside elements or of its own, and has no name for it"
            raise QueryError(reason, span=child.span, fix="put the value into an element: value { … }")
        by_label.setdefault(made.label, []).append(child)
        if any(label != made.label and label.lower() == made.label.lower() for label in by_label):
            reason = f"`{made.label}` and another label of `{make.label}` differ in case alone"
            raise QueryError(
                reason, span=made.span, fix="give one of them another name: databases cannot tell them apart"
            )
    return [_part(label, terms, kinds) for label, terms in by_label.items()]


def element_values(make: Make) -> tuple[ConstructTerm, ...] | None:
    """The values in an element; None where it holds elements."""
    made = [child.term if isinstance(child, All) else child for child in make.children]
    return None if any(isinstance(each, Make) for each in made) else make.children


def _part(label: str, terms: Sequence[ConstructTerm], kinds: Mapping[str, Kind]) -> HeadColumn:
    """Values come out of their elements: `a { all var T }` and `all a { var T }` are the same row."""
    spread: list[ConstructTerm] = []
    for term in terms:
        make = term.term if isinstance(term, All) else term
        assert isinstance(make, Make)
        values = element_values(make)
        if not make.children:
            raise QueryError(f"`{label}` has nothing in it", span=make.span, fix=f"give it a value: {label} {{ … }}")
        if values is None or isinstance(term, All):
            spread.append(term)
        else:
            spread += values
    found = [_kind(term, kinds) for term in spread]
    kind = found[0]
    for other in found[1:]:
        kind = common_type(kind, other)
        if kind is TERM and TERM not in found:
            reason = f"`{label}` holds values of different kinds"
            raise QueryError(reason, span=terms[0].span, fix="give them different labels")
    many = len(spread) > 1 or isinstance(spread[0], All) or _holds_many(spread[0])
    return HeadColumn(label, tuple(spread), kind, many)


def _holds_many(term: ConstructTerm) -> bool:
    return isinstance(term, Make) and (values := element_values(term)) is not None and len(values) > 1


def _kind(term: ConstructTerm, kinds: Mapping[str, Kind]) -> Kind:
    if isinstance(term, All):
        return _kind(term.term, kinds)
    if isinstance(term, Make):
        values = element_values(term)
        if values is None:
            return pa.struct([(part.label, text_for_terms(part.type)) for part in head_columns(term, kinds)])
        if len(values) != 1 or isinstance(values[0], All):
            reason = f"each `{term.label}` of `all` holds several values"
            raise QueryError(reason, span=term.span, fix="put each of them into an element of its own")
        return _kind(values[0], kinds)
    if isinstance(term, Combined):
        kinds = with_aggregate_kinds(term, kinds)
    families = {name: type_family(kind) for name, kind in kinds.items()}
    check_expression(_as_call(term), condition=False, kinds=families)
    kind = aggregate_kind(term, kinds) if isinstance(term, Aggregate) else value_kind(term.expr, kinds)
    if kind is not TERM and type_family(kind) == "duration":
        what = "times of day" if pa.types.is_time(kind) else "durations"
        fix = "make the column a number of seconds, or a text"
        raise QueryError(f"rules cannot derive {what}", span=term.span, fix=fix)
    return kind


def text_for_terms(kind: Kind) -> pa.DataType:
    """TERM inside of nested data is plain text."""
    return pa.string() if kind is TERM else kind


def _as_call(term: Value | Aggregate | Combined) -> Expr:
    return Call(term.name, (term.expr,), term.span) if isinstance(term, Aggregate) else term.expr


def with_aggregate_kinds(term: Combined, kinds: Mapping[str, Kind]) -> Mapping[str, Kind]:
    """The kinds of variables, and of what the aggregates of the term give."""
    return {**kinds, **{name: _kind(aggregate, kinds) for name, aggregate in term.by_variable.items()}}


def aggregate_kind(term: Aggregate, kinds: Mapping[str, Kind]) -> Kind:
    inner = value_kind(term.expr, kinds)
    if term.name == "count":
        return pa.int64()
    if term.name in ("avg", *STATISTICS):
        return pa.float64()
    if term.name == "sum":
        return pa.int64() if inner is not TERM and pa.types.is_integer(inner) else pa.float64()
    return inner


def value_kind(expr: Expr, kinds: Mapping[str, Kind]) -> Kind:
    """The type of an expression over variables; whole numbers stay whole under + - * %."""
    if isinstance(expr, Variable):
        kind = kinds[expr.name]
        return pa.int64() if kind is not TERM and pa.types.is_integer(kind) else kind
    if isinstance(expr, Literal):
        return pa.scalar(expr.value).type if expr.value is not None else pa.null()
    assert isinstance(expr, Call)
    if isinstance(expr, UserCall):
        return RESULT_TYPES[expr.function.gives]
    inner = [value_kind(arg, kinds) for arg in expr.args]
    if expr.op in ("/", "sqrt"):
        return pa.float64()
    if expr.op in ("length", "floor", "ceil"):
        return pa.int64()
    if expr.op in ARITHMETIC or expr.op in NUMERIC_FUNCTIONS:
        if any(kind is not TERM and type_family(kind) not in ("number", "null") for kind in inner):
            raise QueryError("rules can compare times, but not calculate with them", span=expr.span)
        whole = all(kind is not TERM and pa.types.is_integer(kind) for kind in inner)
        return pa.int64() if whole else pa.float64()
    if expr.op in TEXT_FUNCTIONS:
        return pa.string()
    if expr.op == "coalesce":
        return _common(inner)
    if expr.op == CASE:
        return _common([value_kind(value, kinds) for value in case_parts(expr)[1]])
    return pa.bool_()


def case_parts(expr: Call) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The conditions of a CASE, and its values, that of ELSE last."""
    *branches, otherwise = expr.args
    return tuple(branches[::2]), (*branches[1::2], otherwise)


def _common(kinds: Sequence[Kind]) -> Kind:
    """One type for all values. A TERM among others becomes what they are."""
    typed = [kind for kind in kinds if kind is not TERM]
    if all(pa.types.is_null(kind) for kind in typed):
        return TERM if len(typed) < len(kinds) else pa.null()
    first, *rest = typed
    for kind in rest:
        first = common_type(first, kind)
    return first
