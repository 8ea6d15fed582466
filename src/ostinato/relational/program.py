"""A bound program as a sequence of named queries, for whatever runs SQL: DuckDB here, Spark elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from ostinato.algebra.nodes import Construct, Definition, Match, Point, walk
from ostinato.algebra.plan import RulePlan
from ostinato.algebra.translate import PATTERN
from ostinato.errors import LimitError
from ostinato.relational.binding import Binding, output_schema
from ostinato.relational.expressions import Sql, column, constant, shown_text, sql_type, table, tagged
from ostinato.relational.kinds import TERM, Attributes, Kind
from ostinato.relational.matching import Matching
from ostinato.relational.select import Generator, matched_table, stream_table, told_apart

INCOMING = "E"  # all incoming events: #label, begin, end, attributes
MAX_ROUNDS = 1_000  # of a recursion


class Session(Protocol):
    """Something that runs SQL over named relations."""

    def define(self, name: str, query: exp.Query, *, kept: bool) -> None:
        """`kept`: it is used again, or changes later; else a view will do."""

    def match(self, name: str, stream: str, found: Matching, attributes: Attributes) -> None:
        """Define `name` as what the matcher of terms finds in the stream."""

    def pattern(self, name: str, query: str) -> None:
        """Define `name` as the stream of the matches of a CEL query over incoming events."""

    def count(self, name: str) -> int: ...


@dataclass(frozen=True)
class BoundProgram:
    plan: RulePlan
    binding: Binding
    generator: Generator
    incoming: Attributes

    @cached_property
    def output(self) -> pa.Schema:
        return output_schema(self.binding)

    def definitions_of(self, group: int) -> list[Definition]:
        """The definitions of a group of rules, in order: its rules, and the points that are first used there."""
        return self._by_group[group]

    @cached_property
    def _by_group(self) -> list[list[Definition]]:
        found: list[list[Definition]] = []
        definitions = iter(self.plan.plan.definitions)
        for group in self.plan.groups:
            mine: list[Definition] = []
            rules = len(group.rules)
            while rules:
                definition = next(definitions)
                mine.append(definition)
                rules -= definition.rule is not None
            found.append(mine)
        return found

    @cached_property
    def rules_of(self) -> Mapping[str, Sequence[str]]:
        """The definitions that derive each label."""
        found: dict[str, list[str]] = {}
        for definition in self.plan.plan.definitions:
            if isinstance(definition.node, Construct):
                found.setdefault(definition.node.head.label, []).append(definition.name)
        return found

    @cached_property
    def used_again(self) -> frozenset[str]:
        """Points that more than one definition reads."""
        uses = Counter(
            node.name
            for definition in self.plan.plan.definitions
            for node in walk(definition.node)
            if isinstance(node, Point)
        )
        return frozenset(name for name, count in uses.items() if count > 1)

    # Queries

    def stream(self, label: str, *, derived: bool) -> exp.Query:
        """The events of a label: those that come in and, once there are some, those that rules derive."""
        attributes = self.binding.attributes[label]
        arms: list[exp.Query] = []
        types = self.incoming.types
        shown = self._columns(attributes, types, self.incoming.columns)
        source = exp.select(*_times(), *shown).from_(table(INCOMING))
        arms.append(source.where(exp.EQ(this=column("#label"), expression=exp.Literal.string(label))))
        if derived:
            made = self.binding.derived[label]
            shown = self._columns(attributes, made, Attributes.of(made).columns)
            arms.append(exp.select(*_times(), *shown).from_(table(derived_table(label))))
        return arms[0] if len(arms) == 1 else exp.union(*arms, distinct=False)

    def _columns(self, wanted: Attributes, types: Mapping[str, Kind], columns: Mapping[str, str]) -> list[Sql]:
        shown = []
        for name, kind in wanted.types.items():
            value: Sql = column(columns[name]) if name in types else exp.Null()
            if name not in types:
                value = exp.cast(value, sql_type(kind))
            elif kind is TERM:
                value = tagged(value, types[name])
            elif types[name] != kind:
                value = exp.cast(value, sql_type(kind))
            shown.append(exp.alias_(value, wanted.columns[name], quoted=True))
        return shown

    def derived(self, label: str, rules: Iterable[str]) -> exp.Query:
        """The events of a label that rules derive: a set."""
        made = self.binding.derived[label]
        attributes = Attributes.of(made)
        arms: list[exp.Query] = []
        for name in rules:
            parts = self.binding.parts[name]
            types = {part.label: part.type if part.many else part.kind for part in parts}
            columns = {part.label: f"c{place}" for place, part in enumerate(parts)}
            arms.append(exp.select(*_times(), *self._columns(attributes, types, columns)).from_(table(name)))
        return arms[0] if len(arms) == 1 else exp.union(*arms, distinct=True)

    def answer(self, labels: Iterable[str]) -> exp.Query:
        """All derived events in the columns of the answer: type, begin, end, attributes."""
        arms: list[exp.Query] = []
        for label in labels:
            made = self.binding.derived[label]
            columns = Attributes.of(made).columns
            shown: list[Sql] = []
            for field in self.output:
                value: Sql = column(columns[field.name]) if field.name in made else exp.Null()
                if field.name in made and made[field.name] is TERM:
                    value = shown_text(value)
                elif made.get(field.name) != field.type:
                    value = exp.cast(value, sql_type(field.type))
                shown.append(exp.alias_(value, field.name, quoted=True))
            name = exp.alias_(constant(label), "type", quoted=True)
            arms.append(exp.select(name, *_times(), *shown).from_(table(derived_table(label))))
        return arms[0] if len(arms) == 1 else exp.union(*arms, distinct=False)


def evaluate(program: BoundProgram, session: Session) -> exp.Query:
    """Define everything in order; gives the query of the answer. Recursive groups run to their fixpoint here."""
    made: dict[str, list[str]] = {}  # label -> the definitions that derive it, as far as they are done
    for number, group in enumerate(program.plan.groups):
        definitions = program.definitions_of(number)
        labels = sorted({rule.head.label for rule in group.rules})
        known = -1
        for _ in range(MAX_ROUNDS if group.recursive else 1):
            for definition in definitions:
                _define(program, session, definition, made)
            for label in labels:
                rules = [name for name in program.rules_of[label] if name in _names(definitions, made.get(label, ()))]
                made[label] = rules
                session.define(derived_table(label), program.derived(label, rules), kept=True)
            # T_P until nothing new is derived (Definition 0.10): what is derived only grows.
            count = sum(session.count(derived_table(label)) for label in labels) if group.recursive else known
            if count == known:
                break
            known = count
        else:
            raise LimitError(
                "rounds",
                MAX_ROUNDS,
                reason=f"the recursion of {', '.join(labels)} goes on making new events",
                fix="let its rules make events only of values that are there already, or push the events in batches",
            )
    return program.answer(program.rules_of)


def _names(definitions: Iterable[Definition], others: Iterable[str]) -> set[str]:
    return {*others, *(definition.name for definition in definitions)}


def _define(program: BoundProgram, session: Session, definition: Definition, made: Mapping[str, object]) -> None:
    node, generator = definition.node, program.generator
    if isinstance(node, Construct):
        # The events of its label are kept, as a set.
        session.define(definition.name, generator.construct(definition.name, node), kept=False)
        return
    if isinstance(node, Match):
        if node.stream.startswith(PATTERN):
            session.pattern(stream_table(node.stream), node.stream[len(PATTERN) :])
        else:
            derived = node.stream in made
            session.define(stream_table(node.stream), program.stream(node.stream, derived=derived), kept=False)
        found = program.binding.matchings[definition.name]
        if found.flat is None:
            attributes = program.binding.attributes[node.stream]
            session.match(matched_table(definition.name), stream_table(node.stream), found, attributes)
        session.define(definition.name, generator.select(node), kept=False)
        return
    session.define(definition.name, generator.select(node), kept=definition.name in program.used_again)


def derived_table(label: str) -> str:
    return f"D {told_apart(label)}"


def _times() -> list[Sql]:
    return [column("begin"), column("end")]
