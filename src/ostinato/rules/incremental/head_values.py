"""What heads make of the rows of a group, in Python: lists, elements in elements, and whatever else kernels leave.

A row is a tuple of the rule: its variables as values, and the codes that tell its bindings apart.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from ostinato.core.expression_interpreter import evaluate_expression
from ostinato.core.expressions import Call, Literal, Variable
from ostinato.rules.algebra.nodes import Construct
from ostinato.rules.algebra.time_relations import RELATIONS
from ostinato.rules.incremental.host_expressions import compile_value
from ostinato.rules.relational.constant_comparisons import COMPARE
from ostinato.rules.relational.head_types import (
    CALCULATING,
    HeadColumn,
    aggregate_kind,
    element_values,
    head_columns,
    text_for_terms,
    value_kind,
    with_aggregate_kinds,
)
from ostinato.rules.relational.kinds import TERM, Kind, type_family
from ostinato.rules.syntax.nodes import (
    Aggregate,
    All,
    Combined,
    Condition,
    ConstructTerm,
    Data,
    Make,
    Temporal,
    Value,
)
from ostinato.rules.syntax.variables import outer_variables
from ostinato.rules.terms.data import Child, sort_key, to_json, value_key

LARGE = 1e150  # a number whose square might be beyond all floats


@dataclass(frozen=True)
class Row:
    """`codes` are those of all columns, by name; `values` those of the variables that the head reads."""

    codes: Mapping[str, int]
    values: Mapping[str, Any]


Maker = Callable[[Sequence[Row]], Any]  # from the rows of a group to a value; None is none


@dataclass(frozen=True)
class HeadCompiler:
    """Compiles the parts of a head. `variable` and `time` name the columns of variables and of times."""

    kinds: Mapping[str, Kind]
    node: Construct
    variable: Callable[[str], str]
    time: Callable[[str, str], str]

    def part(self, part: HeadColumn, *, nested: bool = False) -> Maker:
        """What stands under one label."""
        if not part.many:
            return self._instance(part.terms[0], text_for_terms(part.kind) if nested else part.kind)
        kind = text_for_terms(part.kind)
        makers = [
            self._all(term, kind) if isinstance(term, All) else self._one(self._instance(term, kind))
            for term in part.terms
        ]
        only_all = len(makers) == 1 and isinstance(part.terms[0], All)

        def many(rows: Sequence[Row]) -> Any:
            found = [value for maker in makers for value in maker(rows)]
            return found if found or not only_all else None

        return many

    def _one(self, maker: Maker) -> Maker:
        return lambda rows: [] if (value := maker(rows)) is None else [value]

    def _instance(self, term: ConstructTerm, kind: Kind) -> Maker:
        if isinstance(term, Value):
            value = compile_value(term.expr, self.kinds)
            cast = _cast(value_kind(term.expr, self.kinds), kind)
            return lambda rows: cast(value(rows[0].values))
        if isinstance(term, Aggregate):
            found, cast = self._aggregate(term), _cast(aggregate_kind(term, self.kinds), kind)
            return lambda rows: cast(found(rows))
        if isinstance(term, Combined):
            return self._combined(term, kind)
        assert isinstance(term, Make)
        values = element_values(term)
        if values is not None:
            return self._instance(values[0], kind)
        return self._struct(term)

    def _combined(self, term: Combined, kind: Kind) -> Maker:
        kinds = with_aggregate_kinds(term, self.kinds)
        made = {name: self._instance(each, kinds[name]) for name, each in term.by_variable.items()}
        value, cast = compile_value(term.expr, kinds), _cast(value_kind(term.expr, kinds), kind)
        return lambda rows: cast(value({**rows[0].values, **{name: maker(rows) for name, maker in made.items()}}))

    def condition(self, condition: Condition, ticks: Callable[[int], int]) -> Maker:
        """A condition on the rows of a group: TRUE, FALSE or NULL."""
        if isinstance(condition, Data):
            value = compile_value(condition.expr, self.kinds)
            return lambda rows: value(rows[0].values)
        if isinstance(condition, Combined):
            return self._combined(condition, pa.bool_())
        if isinstance(condition, Temporal):
            return self._temporal(condition, ticks)
        parts = [self.condition(part, ticks) for part in condition.parts]

        def formula(rows: Sequence[Row]) -> Any:
            return evaluate_expression(Call(condition.op, tuple(Literal(part(rows)) for part in parts)), {})

        return formula

    def _temporal(self, condition: Temporal, ticks: Callable[[int], int]) -> Maker:
        if condition.relation in RELATIONS:
            left, right = condition.events
            pairs = [
                (self.time(left, one), COMPARE[op], self.time(right, other))
                for one, op, other in RELATIONS[condition.relation]
            ]
            return lambda rows: all(test(rows[0].codes[one], rows[0].codes[other]) for one, test, other in pairs)
        assert condition.duration is not None
        begins, ends = ([self.time(event, side) for event in condition.events] for side in ("begin", "end"))
        nanoseconds, within = condition.duration.nanoseconds, condition.relation == "within"
        most, least = (ends, begins) if within else (begins, ends)

        def spread(rows: Sequence[Row]) -> bool:
            codes = rows[0].codes
            between = max(codes[time] for time in most) - min(codes[time] for time in least)
            return between <= ticks(nanoseconds) if within else between >= -ticks(-nanoseconds)

        return spread

    def _struct(self, term: Make) -> Maker:
        fields = [(part.label, self.part(part, nested=True)) for part in head_columns(term, self.kinds)]

        def struct(rows: Sequence[Row]) -> Any:
            found = {label: maker(rows) for label, maker in fields}
            return None if all(value is None for value in found.values()) else found

        return struct

    # all

    def _all(self, term: All, kind: Kind) -> Maker:
        own = list(dict.fromkeys([*outer_variables(term.term), *term.group_by]))
        columns = [self.variable(name) for name in own]
        instance = self._instance(term.term, kind)
        orders = [(order.name, order.descending) for order in term.order_by] + [(name, False) for name in own]

        def all_of(rows: Sequence[Row]) -> Any:
            groups: dict[tuple[int, ...], list[Row]] = {}
            for row in rows:
                groups.setdefault(tuple([row.codes[column] for column in columns]), []).append(row)
            keyed = [([_best(group, name, down) for name, down in orders], group) for group in groups.values()]
            for place, (_, down) in reversed(list(enumerate(orders))):
                _sort(keyed, _by_place(place), down)
            return [value for _, group in keyed if (value := instance(group)) is not None]

        return all_of

    # Aggregates

    def _aggregate(self, term: Aggregate) -> Maker:
        expr = term.expr
        reads_number = term.name in CALCULATING and isinstance(expr, Variable) and self.kinds[expr.name] is TERM
        value = compile_value(expr, self.kinds)
        if term.name in ("first", "last"):
            return self._extreme(term, value)
        names, refs = self.node.counted(term)
        columns = [*map(self.variable, names), *(self.time(ident, "ref") for ident in refs)]
        finish = _AGGREGATES[term.name]

        def aggregate(rows: Sequence[Row]) -> Any:
            counted = {tuple([row.codes[column] for column in columns]): row for row in rows}
            values = [found for row in counted.values() if (found := value(row.values)) is not None]
            if reads_number:
                values = [float(each) for each in values if _is_number(each)]
            if term.over == "distinct":
                values = list({value_key(each): each for each in values}.values())
            return finish(values)

        return aggregate

    def _extreme(self, term: Aggregate, value: Callable[[Mapping[str, Any]], Any]) -> Maker:
        idents = [each.ident for each in self.node.sources(term)]
        times = [self.time(ident, side) for ident in idents for side in ("end", "begin")]

        def extreme(rows: Sequence[Row]) -> Any:
            found = [(each, row) for row in rows if (each := value(row.values)) is not None]
            if not found:
                return None
            found.sort(key=lambda pair: sort_key(pair[0]))
            if term.order_by:
                for order in reversed(term.order_by):
                    _sort(found, _by_name(order.name), order.descending)
            else:
                found.sort(key=lambda pair: [pair[1].codes[time] for time in times])
            return found[0 if term.name == "first" else -1][0]

        return extreme


def is_made_in_one(term: ConstructTerm) -> bool:
    """Whether a term is one value or aggregate, and no element in elements."""
    if isinstance(term, Make):
        values = element_values(term)
        return values is not None and len(values) == 1 and is_made_in_one(values[0])
    return not isinstance(term, All)


def _by_place(place: int) -> Callable[[Any], Any]:
    return lambda keyed: keyed[0][place]


def _by_name(name: str) -> Callable[[Any], Any]:
    return lambda found: found[1].values[name]


def _best(group: Sequence[Row], name: str, descending: bool) -> Any:
    known = [value for row in group if (value := row.values[name]) is not None]
    if not known:
        return None
    return max(known, key=sort_key) if descending else min(known, key=sort_key)


def _sort(items: list[Any], key: Callable[[Any], Any], descending: bool) -> None:
    """In place, stable; NULL is last in both directions."""
    items.sort(key=lambda item: sort_key(key(item)), reverse=descending)
    items.sort(key=lambda item: key(item) is None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _sum(values: Sequence[Any]) -> Any:
    if not values:
        return None
    if all(isinstance(value, int) for value in values):
        total = sum(values)
        return total if -(2**63) <= total < 2**63 else None
    return math.fsum(map(float, values))


def _deviation(values: Sequence[Any]) -> float | None:
    count = len(values)
    if count < 2 or any(abs(value) >= LARGE for value in values):
        return None
    ratios = [value.as_integer_ratio() for value in values]
    scale = math.lcm(*(below for _, below in ratios))
    whole = [above * (scale // below) for above, below in ratios]
    return math.sqrt((count * sum(each * each for each in whole) - sum(whole) ** 2) / (count * (count - 1) * scale**2))


def _median(values: Sequence[Any]) -> float | None:
    if not values:
        return None
    floats = sorted(map(float, values))
    found = floats[(len(floats) - 1) // 2] / 2 + floats[len(floats) // 2] / 2
    return None if found != found else found


_AGGREGATES: dict[str, Callable[[Sequence[Any]], Any]] = {
    "count": len,
    "sum": _sum,
    "avg": lambda values: (
        (float(sum(values)) if all(isinstance(value, int) for value in values) else math.fsum(map(float, values)))
        / len(values)
        if values
        else None
    ),
    "stddev": _deviation,
    "median": _median,
    "min": lambda values: min(values, key=sort_key, default=None),
    "max": lambda values: max(values, key=sort_key, default=None),
}


def _cast(own: Kind, wanted: Kind) -> Callable[[Any], Any]:
    """A value of a type as another one."""
    if own is TERM and wanted is not TERM:
        family = type_family(wanted)
        if family == "string":
            return lambda value: None if value is None else display_text(value)
        kinds = {"number": (int, float), "boolean": (bool,)}.get(family, (object,))
        return lambda value: value if isinstance(value, kinds) else None
    if TERM not in (own, wanted) and pa.types.is_floating(wanted) and type_family(own) == "number":
        return lambda value: None if value is None else float(value)
    return lambda value: value


def display_text(value: Child) -> str:
    """A TERM as the text that users see."""
    return value if isinstance(value, str) else to_json(value)
