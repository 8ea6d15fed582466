"""A bound program as a sequence of named queries, for whatever runs SQL: DuckDB here, Spark elsewhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import pyarrow as pa
from sqlglot import exp

from ostinato.rules.algebra.nodes import Construct, Definition, Match, Point, walk
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.algebra.semi_naive import Rounds, is_finite, rounds_of
from ostinato.rules.algebra.translate import PATTERN
from ostinato.rules.limits import RuleLimits
from ostinato.rules.relational.binding import Binding, output_schema
from ostinato.rules.relational.expressions import Sql, column, constant, shown_text, sql_type, table, tagged
from ostinato.rules.relational.kinds import TERM, Attributes, Kind, is_nested
from ostinato.rules.relational.matching import Matching
from ostinato.rules.relational.select import Generator, matched_table, new_table, stream_table, told_apart

INCOMING = "E"  # all incoming events: #label, begin, end, attributes
MAX_ROUNDS = 1_000  # of a recursion within a step of the live engine


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
    def kept(self) -> frozenset[str]:
        """Points that more than one definition reads, but for matches, which cost little; and all that rounds do."""
        uses = Counter(
            node.name
            for definition in self.plan.plan.definitions
            for node in walk(definition.node)
            if isinstance(node, Point)
        )
        made = self.plan.plan.by_name
        shared = {name for name, count in uses.items() if count > 1 and not isinstance(made[name].node, Match)}
        return frozenset(shared).union(*(rounds.looked_up for rounds in self.rounds.values()))

    @cached_property
    def rounds(self) -> Mapping[int, Rounds]:
        """What a round computes, of each group that is recursive."""
        groups = enumerate(self.plan.groups)
        return {
            number: rounds_of(self.definitions_of(number), {rule.head.label for rule in group.rules})
            for number, group in groups
            if group.recursive
        }

    def is_finite(self, group: int) -> bool:
        """Whether the recursion of the group cannot but end."""
        made = [each.node for each in self.definitions_of(group)]
        return all(is_finite(node.head, self._plain(node)) for node in made if isinstance(node, Construct))

    def _plain(self, node: Construct) -> list[str]:
        return [name for name, kind in self.binding.of(node.input).items() if not is_nested(kind)]

    # Queries

    def stream(self, label: str, *, derived: bool) -> exp.Query:
        """The events of a label: those that come in and, once there are some, those that rules derive."""
        shown = self._columns(self.binding.attributes[label], self.incoming.types, self.incoming.columns)
        source = exp.select(*_times(), *shown).from_(table(INCOMING))
        source = source.where(exp.EQ(this=column("#label"), expression=exp.Literal.string(label)))
        return exp.union(source, self.made(label, derived_table(label)), distinct=False) if derived else source

    def made(self, label: str, among: str) -> exp.Select:
        """The events of a label that rules derive, in the columns of its stream; `among` is the table of them."""
        made = self.binding.derived[label]
        shown = self._columns(self.binding.attributes[label], made, Attributes.of(made).columns)
        return exp.select(*_times(), *shown).from_(table(among))

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

    def derived(self, label: str, rules: Iterable[str], *, new: bool = False) -> exp.Query:
        """The events of a label that rules derive: a set. `new`: those that a round of a recursion adds."""
        made = self.binding.derived[label]
        attributes = Attributes.of(made)
        as_read = new_table if new else str
        arms: list[exp.Query] = []
        for name in rules:
            parts = self.binding.parts[name]
            types = {part.label: part.type if part.many else part.kind for part in parts}
            columns = {part.label: f"c{place}" for place, part in enumerate(parts)}
            arms.append(exp.select(*_times(), *self._columns(attributes, types, columns)).from_(table(as_read(name))))
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


def evaluate(
    program: BoundProgram, session: Session, limits: RuleLimits | None = None, *, natively: bool = False
) -> exp.Query:
    """Define everything in order; gives the query of the answer. Recursive groups run to their fixpoint here.

    `natively`: the session runs recursive queries.
    """
    from ostinato.rules.relational.recursion import run_rounds

    made: dict[str, list[str]] = {}  # label -> the definitions that derive it, as far as they are done
    groups = program.plan.groups
    # Nobody reads a label before all of its rules are done, but for those that recur.
    last = {
        rule.head.label: number for number, group in enumerate(groups) if not group.recursive for rule in group.rules
    }
    for number, group in enumerate(groups):
        definitions = program.definitions_of(number)
        for definition in definitions:
            define(program, session, definition, made)
        if group.recursive:
            run_rounds(program, session, number, made, limits or RuleLimits(), natively=natively)
            continue
        for label in {rule.head.label for rule in group.rules}:
            made.setdefault(label, []).extend(rules_among(definitions, label))
            if last[label] == number:
                session.define(derived_table(label), program.derived(label, made[label]), kept=True)
    return program.answer(program.rules_of)


def rules_among(definitions: Iterable[Definition], label: str) -> list[str]:
    """The rules that derive events of the label."""
    return [each.name for each in definitions if isinstance(each.node, Construct) and each.node.head.label == label]


def define(program: BoundProgram, session: Session, definition: Definition, made: Mapping[str, object]) -> None:
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
    session.define(definition.name, generator.select(node), kept=definition.name in program.kept)


def derived_table(label: str) -> str:
    return f"D {told_apart(label)}"


def _times() -> list[Sql]:
    return [column("begin"), column("end")]
