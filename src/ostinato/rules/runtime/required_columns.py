"""The columns that rules read of incoming events; those that no event has had yet hold NULL."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa

from ostinato.core.events import DEFAULT_TIME, DEFAULT_TYPE
from ostinato.rules.algebra.nodes import CelStream, Match, stream_label
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.plan.embedded_cel import required_names
from ostinato.rules.relational.kinds import is_list
from ostinato.rules.runtime.times import BEGIN, DEFAULT_TIME_TYPE, END
from ostinato.rules.syntax import nodes as n

# Once they exist, they say when events happen and what they are.
_ROLE_COLUMNS = (DEFAULT_TIME, BEGIN, END, DEFAULT_TYPE)


@dataclass(frozen=True)
class RequiredColumns:
    """`shapes`: the columns that rules read, as structs where they read something inside; values have no type yet.
    `needed`: pairs of a label and a column without which no event of that label matches. `recursive`: columns that
    recursive rules both read and make; an incoming event may be the first to have them. `derived`: what rules give the
    events of each label."""

    shapes: Mapping[str, pa.DataType]
    needed: frozenset[tuple[str, str]]
    recursive: frozenset[str]
    derived: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, plan: RulePlan, given: Collection[str] = (), beside: RequiredColumns | None = None) -> RequiredColumns:
        """`given` are tables whose rows say themselves which columns they have. `beside`: what rules read that do not
        read what the plan derives."""
        known = beside or cls({}, frozenset(), frozenset(), {})
        shapes, needed = dict(known.shapes), set(known.needed)
        made = [rule.head for group in plan.groups if group.recursive for rule in group.rules]
        recursive = {each.label for head in made for each in head.children if isinstance(each, n.Make)}
        derived = dict(known.derived)
        for group in plan.groups:
            for rule in group.rules:
                made_here = {label for child in rule.head.children for label in _made_labels(child)}
                derived[rule.head.label] = derived.get(rule.head.label, frozenset()) | made_here
        for definition in plan.query_plan.definitions:
            if not isinstance(node := definition.node, Match):
                continue
            if isinstance(node.stream, CelStream):
                names = required_names(node.stream.query, node.stream.language)
                of_labels = [derived.get(label, frozenset()) for label in node.stream.labels]
                names = {name for name in names if not of_labels or not all(name in each for each in of_labels)}
                shapes |= {name: shapes.get(name, pa.null()) for name in sorted(names)}
            elif (name := stream_label(node.stream)) is not None:
                if name in given and not isinstance(node.stream, str):
                    continue
                made_of = derived.get(name, frozenset())
                for child in (*node.term.children, *(() if node.key is None else node.key.children)):
                    for label, shape in _shapes(child):
                        if label in made_of:
                            continue
                        shapes[label] = _add_fields(shapes.get(label, pa.null()), shape)
                        if not isinstance(child, n.Optional | n.Desc | n.Without):
                            needed.add((name, label))
        return cls(shapes, frozenset(needed), known.recursive | (recursive - {*_ROLE_COLUMNS}), derived)

    def complete_schema(self, schema: pa.Schema, *, recursive: bool = False) -> pa.Schema:
        """The columns, and all others that rules read; with `recursive`, also those that recursive rules make."""
        if recursive:
            missing = [(name, pa.null()) for name in sorted(self.recursive - {*schema.names, *self.shapes})]
            schema = pa.schema([*schema, *missing])
        types = {field.name: _add_fields(field.type, self.shapes.get(field.name, pa.null())) for field in schema}
        types |= {name: shape for name, shape in self.shapes.items() if name not in {*types, *_ROLE_COLUMNS}}
        return pa.schema(list(types.items()))


def _made_labels(term: n.ConstructTerm) -> Iterator[str]:
    if isinstance(term, n.All):
        yield from _made_labels(term.term)
    elif isinstance(term, n.Make):
        yield term.label
        for child in term.children:
            yield from _made_labels(child)


def _shapes(term: n.ChildQuery) -> Iterator[tuple[str, pa.DataType]]:
    """The elements that a child query looks for, here or (`desc`) below, and what they must have inside."""
    if isinstance(term, n.Bind | n.Optional | n.Desc | n.Without | n.Position):
        if term.term is not None:
            yield from _shapes(term.term)
    elif isinstance(term, n.Element) and not term.is_regex:
        inside: dict[str, pa.DataType] = {}
        for child in term.children:
            for label, shape in _shapes(child):
                inside[label] = _add_fields(inside.get(label, pa.null()), shape)
        yield term.label, pa.struct(list(inside.items())) if inside else pa.null()


def _add_fields(kind: pa.DataType, shape: pa.DataType) -> pa.DataType:
    """The type, with the fields of the shape added inside."""
    if pa.types.is_null(kind):
        return shape
    if is_list(kind):
        return pa.list_(_add_fields(kind.value_type, shape))
    if not (pa.types.is_struct(kind) and pa.types.is_struct(shape)):
        return kind
    fields = {field.name: field.type for field in kind}
    for field in shape:
        fields[field.name] = _add_fields(fields.get(field.name, pa.null()), field.type)
    return pa.struct(list(fields.items()))


def infer_time_type(plan: RulePlan) -> pa.DataType:
    """The type of event times as far as the rules show it: numbers where all absolute timers are."""
    timers = [timer for each in plan.translated for timer in each.rule.timers if isinstance(timer, n.AbsoluteTimer)]
    numbers = [not isinstance(moment, str) for timer in timers for moment in (timer.begin, timer.end)]
    return pa.int64() if numbers and all(numbers) else DEFAULT_TIME_TYPE


def empty_events(plan: RulePlan, options: Mapping[str, str | None], given: Collection[str] = ()) -> pa.Table:
    """A table for a stream without events, whose columns are unknown: absolute timers go off all the same. `given` are
    the tables whose rows are given beside it."""
    times = [name for name in (options["begin"], options["end"], options["time"]) if name is not None]
    types = {name: infer_time_type(plan) for name in times or [DEFAULT_TIME]}
    types[options["type"] or DEFAULT_TYPE] = pa.string()
    if options["document"] is not None:
        types[options["document"]] = pa.string()
    return RequiredColumns.of(plan, given).complete_schema(pa.schema(list(types.items()))).empty_table()
