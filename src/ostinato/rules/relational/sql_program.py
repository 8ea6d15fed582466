"""The queries of a program, by the names of the relations that they define: DuckDB and Spark run the same ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from ostinato.rules.algebra.nodes import (
    CelStream,
    Construct,
    Definition,
    Match,
    Point,
    Source,
    TableStream,
    walk,
)
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.algebra.semi_naive import Rounds, is_finite, plan_rounds
from ostinato.rules.relational.dialects import Widened
from ostinato.rules.relational.expressions import Sql, column, constant, display_text, integer, sql_type, table, tag_sql
from ostinato.rules.relational.head_sql import construct_sql
from ostinato.rules.relational.kinds import TERM, Attributes, Kind, is_nested
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.operators import MAX_TICK, SqlGenerator
from ostinato.rules.relational.plan_types import PlanTypes, output_schema
from ostinato.rules.relational.sql_names import (
    INCOMING,
    derived_table,
    given_table,
    matched_table,
    new_table,
    stream_table,
)


class RelationStore(Protocol):
    """Something that runs SQL over named relations."""

    def define(self, name: str, query: exp.Query, *, kept: bool) -> None:
        """Define a relation. `kept`: it is read again or changes later; otherwise a view will do."""

    def match(self, name: str, stream: str, found: MatchPlan, attributes: Attributes) -> None:
        """Define `name` as what the matcher of terms finds in the stream."""

    def source(self, name: str, stream: Source, events: exp.Query | None) -> None:
        """Define `name` as a stream of its own: the matches of a pattern, or the events of a periodic timer. `events`
        are those that it reads; None: all that come in."""

    def count(self, name: str) -> int: ...


@dataclass(frozen=True)
class SqlProgram:
    """A plan with its types, and every query that it needs. `incoming` are the attributes of incoming events."""

    plan: RulePlan
    plan_types: PlanTypes
    generator: SqlGenerator
    incoming: Attributes

    @cached_property
    def output(self) -> pa.Schema:
        return output_schema(self.plan_types, self.plan.outputs.private)

    def definitions_of(self, group: int) -> list[Definition]:
        """The definitions of a group of rules, in order: its rules, and the points that are first used there."""
        return self._by_group[group]

    @cached_property
    def _by_group(self) -> list[list[Definition]]:
        found: list[list[Definition]] = []
        definitions = iter(self.plan.query_plan.definitions)
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
        for definition in self.plan.query_plan.definitions:
            if isinstance(definition.node, Construct):
                found.setdefault(definition.node.head.label, []).append(definition.name)
        return found

    @cached_property
    def kept(self) -> frozenset[str]:
        """Points to keep as tables: what rounds look up, and what is read twice or more (matches are cheap to redo)."""
        uses = Counter(
            node.name
            for definition in self.plan.query_plan.definitions
            for node in walk(definition.node)
            if isinstance(node, Point)
        )
        made = self.plan.query_plan.by_name
        shared = {name for name, count in uses.items() if count > 1 and not isinstance(made[name].node, Match)}
        return frozenset(shared).union(*(rounds.looked_up for rounds in self.rounds.values()))

    @cached_property
    def rounds(self) -> Mapping[int, Rounds]:
        """What a round computes, for each recursive group."""
        groups = enumerate(self.plan.groups)
        return {
            number: plan_rounds(self.definitions_of(number), {rule.head.label for rule in group.rules})
            for number, group in groups
            if group.recursive
        }

    def is_finite(self, group: int) -> bool:
        """Whether the recursion of the group is sure to end."""
        made = [each.node for each in self.definitions_of(group)]
        return all(is_finite(node.head, self._plain(node)) for node in made if isinstance(node, Construct))

    def _plain(self, node: Construct) -> list[str]:
        return [name for name, kind in self.plan_types.kinds_of(node.input).items() if not is_nested(kind)]

    # Queries

    def stream_query(self, label: str, *, derived: bool) -> exp.Query:
        """The events of a label: incoming ones and, where `derived`, those that rules have derived."""
        shown = self._columns(self.plan_types.attributes[label], self.incoming.types, self.incoming.columns)
        source = exp.select(*_times(), *shown).from_(table(INCOMING))
        source = source.where(exp.EQ(this=column("#label"), expression=exp.Literal.string(label)))
        return (
            exp.union(source, self.derived_as_stream(label, derived_table(label)), distinct=False)
            if derived
            else source
        )

    def pattern_query(self, stream: CelStream, made: Container[str]) -> exp.Query | None:
        """The events that a pattern over some labels reads, of which rules have `made` some; None: it reads all that
        come in."""
        arms: list[exp.Query] = []
        for label in stream.labels:
            read, of = self.plan_types.inputs[stream], self.incoming
            coming = self._labelled(label, False, self._columns(read, of.types, of.columns)).from_(table(INCOMING))
            arms.append(coming.where(exp.EQ(this=column("#label"), expression=exp.Literal.string(label))))
            if label in made:
                kinds = self.plan_types.derived[label]
                shown = self._columns(read, kinds, Attributes.of(kinds).columns)
                arms.append(self._labelled(label, True, shown).from_(table(derived_table(label))))
        if len(arms) > 1:
            return exp.union(*arms, distinct=False)
        return arms[0] if arms else None

    def _labelled(self, label: str, derived: bool, shown: list[Sql]) -> exp.Select:
        roles = [exp.alias_(constant(label), "#label", quoted=True), *_times()]
        return exp.select(*roles, exp.alias_(constant(derived), "#derived", quoted=True), *shown)

    def derived_as_stream(self, label: str, among: str) -> exp.Select:
        """The events of a label that rules derive, in the columns of its stream; `among` is the table of them."""
        made = self.plan_types.derived[label]
        shown = self._columns(self.plan_types.attributes[label], made, Attributes.of(made).columns)
        return exp.select(*_times(), *shown).from_(table(among))

    def rows_query(self, label: str, *, derived: bool) -> exp.Query:
        """The rows of a table: events of its label, and what is given beside the stream, which was there before."""
        wanted = self.plan_types.attributes[TableStream(label)]
        read = self.plan_types.read_of_rows(label, self.incoming)
        source = exp.select(*_times(), *self._columns(wanted, read, self.incoming.columns)).from_(table(INCOMING))
        arms: list[exp.Query] = [source.where(exp.EQ(this=column("#label"), expression=exp.Literal.string(label)))]
        if derived:
            made = self.plan_types.derived[label]
            shown = self._columns(wanted, made, Attributes.of(made).columns)
            arms.append(exp.select(*_times(), *shown).from_(table(derived_table(label))))
        if label in self.plan_types.given:
            given = self.plan_types.given[label]
            before = [exp.alias_(integer(-MAX_TICK), side, quoted=True) for side in ("begin", "end")]
            shown = self._columns(wanted, given.types, given.columns)
            arms.append(exp.select(*before, *shown).from_(table(given_table(label))))
        return arms[0] if len(arms) == 1 else exp.union(*arms, distinct=False)

    def _columns(self, wanted: Attributes, types: Mapping[str, Kind], columns: Mapping[str, str]) -> list[Sql]:
        shown = []
        for name, kind in wanted.types.items():
            value: Sql = column(columns[name]) if name in types else exp.Null()
            if name not in types:
                value = exp.cast(value, sql_type(kind))
            elif kind is TERM:
                value = tag_sql(value, types[name])
            elif types[name] is TERM:
                value = display_text(value)
            elif types[name] != kind:
                value = _converted(value, types[name], kind)
            shown.append(exp.alias_(value, wanted.columns[name], quoted=True))
        return shown

    def derived_query(self, label: str, rules: Iterable[str], *, new: bool = False) -> exp.Query:
        """The events of a label that rules derive: a set. `new`: those that a round of a recursion adds."""
        made = self.plan_types.derived[label]
        attributes = Attributes.of(made)
        as_read = new_table if new else str
        operands: list[exp.Query] = []
        for name in rules:
            parts = self.plan_types.head_columns[name]
            types = {part.label: part.type if part.many else part.kind for part in parts}
            columns = {part.label: f"c{place}" for place, part in enumerate(parts)}
            operands.append(
                exp.select(*_times(), *self._columns(attributes, types, columns)).from_(table(as_read(name)))
            )
        return operands[0] if len(operands) == 1 else exp.union(*operands, distinct=True)

    def answer_query(self, labels: Iterable[str]) -> exp.Query:
        """All derived events in the columns of the answer: type, begin, end, attributes."""
        operands: list[exp.Query] = []
        for label in labels:
            if label in self.plan.outputs.private:
                continue
            made = self.plan_types.derived[label]
            columns = Attributes.of(made).columns
            shown: list[Sql] = []
            for field in self.output:
                value: Sql = column(columns[field.name]) if field.name in made else exp.Null()
                if field.name in made and made[field.name] is TERM:
                    value = display_text(value)
                elif field.name not in made:
                    value = exp.cast(value, sql_type(field.type))
                elif made[field.name] != field.type:
                    value = _converted(value, made[field.name], field.type)
                shown.append(exp.alias_(value, field.name, quoted=True))
            name = exp.alias_(constant(label), "type", quoted=True)
            operands.append(exp.select(name, *_times(), *shown).from_(table(derived_table(label))))
        if not operands:
            kinds = {"type": "text", "begin": "bigint", "end": "bigint"}
            empty = [exp.alias_(exp.cast(exp.Null(), kind), name, quoted=True) for name, kind in kinds.items()]
            return exp.select(*empty).from_(table(INCOMING)).where(exp.false())
        return operands[0] if len(operands) == 1 else exp.union(*operands, distinct=False)


def deriving_rules(definitions: Iterable[Definition], label: str) -> list[str]:
    """The rules that derive events of the label."""
    return [each.name for each in definitions if isinstance(each.node, Construct) and each.node.head.label == label]


def define(program: SqlProgram, store: RelationStore, definition: Definition, made: Mapping[str, object]) -> None:
    node, generator = definition.node, program.generator
    if isinstance(node, Construct):
        # The events of its label are kept, as a set.
        store.define(definition.name, construct_sql(generator, definition.name, node), kept=False)
        return
    if isinstance(node, Match):
        if isinstance(node.stream, TableStream):
            label = node.stream.label
            store.define(stream_table(node.stream), program.rows_query(label, derived=label in made), kept=False)
        elif not isinstance(node.stream, str):
            own = program.pattern_query(node.stream, made) if isinstance(node.stream, CelStream) else None
            store.source(stream_table(node.stream), node.stream, own)
        else:
            derived = node.stream in made
            store.define(stream_table(node.stream), program.stream_query(node.stream, derived=derived), kept=False)
        found = program.plan_types.match_plans[definition.name]
        if found.flat is None:
            attributes = program.plan_types.attributes[node.stream]
            store.match(matched_table(definition.name), stream_table(node.stream), found, attributes)
    store.define(definition.name, generator.select(node), kept=definition.name in program.kept)


def _converted(value: Sql, source: Kind, to: Kind) -> Sql:
    """The value of a type as another one that holds as much."""
    if is_nested(source) and is_nested(to):
        return Widened(this=value, source=sql_type(source), to=sql_type(to))
    return exp.cast(value, sql_type(to))


def _times() -> list[Sql]:
    return [column("begin"), column("end")]
