"""Steps of a few events: Python finds what they add to points, since SQL would take longer to plan.

Only what Python and SQL agree on for certain is done here: attributes that are numbers, text or booleans, comparisons
of one with a constant, and timers. Everything else is left to SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.difference import difference
from ostinato.rules.algebra.time_relations import TIMERS
from ostinato.rules.relational.constant_comparisons import COMPARE, as_constant_comparison, is_comparable
from ostinato.rules.relational.kinds import TERM, Attributes, Kind
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.sql_program import SqlProgram
from ostinato.rules.runtime.ingest import LABEL
from ostinato.rules.syntax.nodes import RelativeTimer

SMALL_STEP = 8  # events at most
PointTuples = list[tuple[Any, ...]]  # tuples of a point, in the order of its columns


class SmallSteps:
    """The points of a program whose changes Python can compute."""

    def __init__(self, program: SqlProgram) -> None:
        self.program, self.generator = program, program.generator
        self._matches: dict[str, _Match] = {}
        self._changes: dict[str, _Change] = {}
        self._ends: dict[str, list[int]] = {}
        for definition in program.plan.query_plan.definitions:
            name, node = definition.name, definition.node
            if isinstance(node, cera.Match):
                if (match := _compile_match(program.plan_types.match_plans[name], program)) is not None:
                    self._matches[name] = match
            elif (change := self._change(difference(node))) is not None:
                self._changes[name] = change
            if not isinstance(node, cera.Construct):
                ends = [self.generator.names.time(ident, "end") for ident in node.schema.times]
                self._ends[name] = [self.generator.columns(node).index(end) for end in ends]

    def additions(self, events: pa.Table) -> dict[str, PointTuples]:
        """What the events add to each point that Python can compute."""
        columns = events.to_pydict()
        rows = {name: match(columns) for name, match in self._matches.items()}
        for name, change in self._changes.items():
            if change.exact:
                rows[name] = change.rows(rows[change.source])
        return rows

    def adds_nothing(self, name: str, found: Mapping[str, PointTuples]) -> bool:
        """Whether it is certain that nothing is added to a point, given what is added to others."""
        change = self._changes.get(name)
        return change is not None and change.source in found and not any(map(change.passes, found[change.source]))

    def ends(self, name: str, rows: PointTuples) -> list[int]:
        """When each of the tuples ends."""
        return [max(row[place] for place in self._ends[name]) for row in rows]

    def _change(self, node: cera.Node) -> _Change | None:
        """What a step adds, from what it adds to one point; None where that is not enough."""
        if isinstance(node, cera.At):
            return self._source(node.input) if node.part == "Δ" and isinstance(node.input, cera.Point) else None
        if isinstance(node, cera.Select | cera.Project | cera.Rename | cera.Merge | cera.Construct):
            below = self._change(node.input)
        elif isinstance(node, cera.AnyJoin):
            below = self._change(node.left)
        else:
            return None
        if below is None:
            return None
        if isinstance(node, cera.Select):
            return self._select(below, node)
        if isinstance(node, cera.Project):
            kept = self.generator.columns(node)
            return replace(below, columns={name: below.columns[name] for name in kept if name in below.columns})
        if isinstance(node, cera.Rename):
            names = dict(zip(self.generator.columns(node.input), self.generator.columns(node), strict=True))
            return replace(below, columns={names[name]: place for name, place in below.columns.items()})
        if isinstance(node, cera.Join) and isinstance(node.right, cera.TimerStream):
            return self._add_timer(below, node.right.timer)
        return replace(below, exact=False)

    def _source(self, point: cera.Point) -> _Change | None:
        name = point.name
        known = name in self._matches or (name in self._changes and self._changes[name].exact)
        # What waits is not added when it is found, but when it ends.
        if not known or self.program.plan.relevance[name].waits:
            return None
        return _Change(name, {column: (place, 0) for place, column in enumerate(self.generator.columns(point))})

    def _select(self, below: _Change, node: cera.Select) -> _Change:
        kinds = self.generator.plan_types.kinds_of(node.input)
        tests, exact = list(below.tests), below.exact
        for condition in node.conditions:
            test = as_constant_comparison(condition, kinds)
            place = None if test is None else below.columns.get(self.generator.names.variable(test.name))
            if test is None or place is None:
                exact = False
            else:
                tests.append((place[0], COMPARE[test.op], test.value))
        return replace(below, tests=tuple(tests), exact=exact)

    def _add_timer(self, below: _Change, timer: RelativeTimer) -> _Change:
        names, amount = self.generator.names, self.generator.exact_ticks(timer)
        columns = dict(below.columns)
        for side, (of, sign) in zip(("begin", "end"), TIMERS[timer.kind], strict=True):
            place, offset = below.columns[names.time(timer.anchor, of)]
            columns[names.time(timer.ident, side)] = place, offset + sign * amount
        return replace(below, columns=columns, exact=below.exact and "shorten" not in timer.kind)


@dataclass(frozen=True)
class _Change:
    """Tuples made of those of another point. `exact`: these and no others; else some of these at most."""

    source: str
    columns: Mapping[str, tuple[int, int]]  # in order: the place in a tuple of the source, and what is added to it
    tests: tuple[tuple[int, Callable[[Any, Any], bool], Any], ...] = ()
    exact: bool = True

    def passes(self, row: tuple[Any, ...]) -> bool:
        return all(row[place] is not None and compare(row[place], value) for place, compare, value in self.tests)

    def rows(self, of: PointTuples) -> PointTuples:
        places = self.columns.values()
        return [
            tuple(row[place] + offset if offset else row[place] for place, offset in places)
            for row in of
            if self.passes(row)
        ]


@dataclass(frozen=True)
class _Match:
    """Q^X over columns. NaN is no value."""

    label: str
    values: Sequence[str]  # the column of each variable
    present: Sequence[str]
    absent: Sequence[str]
    equal: Sequence[tuple[str, Any]]
    alike: Sequence[tuple[str, str]]

    def __call__(self, events: Mapping[str, list[Any]]) -> PointTuples:
        return [self._row(events, place) for place in range(len(events[LABEL])) if self._fits(events, place)]

    def _fits(self, events: Mapping[str, list[Any]], place: int) -> bool:
        return (
            events[LABEL][place] == self.label
            and all(_value(events[name][place]) is not None for name in self.present)
            and all(_value(events[name][place]) is None for name in self.absent)
            and all(events[name][place] == value for name, value in self.equal)
            and all(events[one][place] == events[other][place] is not None for one, other in self.alike)
        )

    def _row(self, events: Mapping[str, list[Any]], place: int) -> tuple[Any, ...]:
        values = (_value(events[name][place]) for name in self.values)
        return events["begin"][place], events["end"][place], *values


def _value(value: Any) -> Any:
    return value if value == value else None


def _compile_match(found: MatchPlan, program: SqlProgram) -> _Match | None:
    """None where SQL has to match."""
    match, flat = found.match, found.flat
    if isinstance(match.stream, cera.CelStream) or match.stream in program.rules_of:
        return None
    if flat is None or found.referenced:
        return None
    attributes, incoming = program.plan_types.attributes[match.stream], program.incoming.types
    paths = flat.paths
    if any(len(path) > 1 or not _is_plain(attributes, incoming, path[0]) for path in paths):
        return None
    if not all(is_comparable(found.types[path[0]], const.value) for path, const in flat.equal):
        return None
    alike = [(first[0], other[0]) for first, *rest in flat.variables.values() for other in rest]
    if any(found.types[one] != found.types[other] for one, other in alike):
        return None
    columns = attributes.columns
    return _Match(
        match.stream,
        [columns[flat.variables[name][0][0]] for name in match.schema.data],
        [columns[path[0]] for path in dict.fromkeys(flat.present)],
        [columns[path[0]] for path in flat.absent],
        [(columns[path[0]], const.value) for path, const in flat.equal],
        [(columns[one], columns[other]) for one, other in alike],
    )


def _is_plain(attributes: Attributes, incoming: Mapping[str, Kind], name: str) -> bool:
    """Whether the attribute is as it comes in, and a value that Python and DuckDB hand each other unchanged."""
    kind = attributes.types[name]
    if kind is TERM or name not in incoming or incoming[name] != kind:
        return False
    return bool(
        pa.types.is_integer(kind) or pa.types.is_float64(kind) or pa.types.is_string(kind) or pa.types.is_boolean(kind)
    )
