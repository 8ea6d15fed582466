"""The statements of steps: of each definition's difference, the arms whose inputs have changed (Figure 11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import cast

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.difference import difference
from ostinato.rules.relational.dialects import write_sql
from ostinato.rules.relational.head_sql import construct_sql
from ostinato.rules.relational.operators import NOW, PREVIOUS, SqlGenerator
from ostinato.rules.runtime.duckdb_store import DuckDBStore, quote_identifier


@dataclass(frozen=True)
class Statement:
    """A statement, prepared under a name where it reads tables alone, and the times that it needs.

    `reads_events`: the events of the step have to be in their table.
    """

    text: str
    name: str | None = None
    parameters: tuple[str, ...] = ()
    reads_events: bool = False

    def call(self, times: Mapping[str, int]) -> tuple[str, dict[str, int]]:
        if self.name is None:
            return self.text, {parameter: times[parameter] for parameter in self.parameters}
        given = ", ".join(f"{parameter} := {times[parameter]}" for parameter in self.parameters)
        return f"EXECUTE {self.name}({given})", {}


class Statements:
    """The statements of a program, each made when it is first needed."""

    def __init__(self, definitions: Iterable[cera.Definition], generator: SqlGenerator, store: DuckDBStore) -> None:
        self.generator, self.store = generator, store
        self._near = copy(generator)  # joins by buckets of time: worth it where a step has many events
        self._near.near = True
        self._driving = {each.name: _driving(each) for each in definitions}
        self._made: dict[tuple[str, frozenset[str], bool], Statement | None] = {}

    def of(self, definition: cera.Definition, active: set[str], *, large: bool) -> Statement | None:
        """The statement that computes the change of the definition, given what has changed; None for no change."""
        changed = frozenset(self._driving[definition.name] & active)
        key = definition.name, changed, large
        if key not in self._made:
            self._made[key] = self._prepare(definition, changed, self._near if large else self.generator)
        return self._made[key]

    def _prepare(
        self, definition: cera.Definition, active: frozenset[str], generator: SqlGenerator
    ) -> Statement | None:
        name, node = definition.name, definition.node
        changed = node if isinstance(node, cera.Match) else _prune_empty(difference(node), active)
        if changed is None:
            return None
        if isinstance(changed, cera.Construct):
            text = write_sql(construct_sql(generator, name, changed), "duckdb")
        elif name in generator.stored:
            text = f"INSERT INTO {quote_identifier(name)} {write_sql(generator.select(changed), 'duckdb')}"
        else:
            return Statement("")  # it is put in where it is used
        parameters = tuple(each for each in (PREVIOUS, NOW) if f"${each}" in text)
        # A prepared statement would go on reading what was registered when it was prepared.
        if not parameters or self._reads_registered(changed):
            return Statement(text, None, parameters, reads_events=True)
        prepared = f"s{len(self._made)}"
        self.store.run(f"PREPARE {prepared} AS {text}")
        return Statement(text, prepared, parameters, reads_events=self._reads_events(changed))

    def _reads_events(self, node: cera.Node) -> bool:
        """Whether the node reads events, and not only points."""
        return any(isinstance(part, cera.Match) or self._reads_events_below(part) for part in cera.walk(node))

    def _reads_events_below(self, part: cera.Node) -> bool:
        inlined = isinstance(part, cera.Point) and part.name not in self.generator.stored
        return inlined and self._reads_events(self.generator.definitions[cast(cera.Point, part).name])

    def _reads_registered(self, node: cera.Node) -> bool:
        """Whether the node reads what Python matched, and not only tables."""
        return any(self._is_registered(part) for part in cera.walk(node))

    def _is_registered(self, part: cera.Node) -> bool:
        if isinstance(part, cera.Match):
            found = next(each for each in self.generator.plan_types.match_plans.values() if each.match is part)
            return found.flat is None or isinstance(part.stream, cera.CelStream)
        inlined = isinstance(part, cera.Point) and part.name not in self.generator.stored
        return inlined and self._reads_registered(self.generator.definitions[cast(cera.Point, part).name])


def _driving(definition: cera.Definition) -> set[str]:
    """The points whose Δ the difference of a definition reads; a match reads events."""
    if isinstance(definition.node, cera.Match):
        return {definition.name}
    parts = _parts(difference(definition.node))
    return {each.input.name for each in parts if isinstance(each.input, cera.Point) and each.part == "Δ"}


def _parts(node: cera.Node) -> Iterator[cera.At]:
    if isinstance(node, cera.At):
        yield node
    else:
        for below in cera.inputs(node):
            yield from _parts(below)


def _prune_empty(node: cera.Node, active: frozenset[str]) -> cera.Node | None:
    """Without the arms whose Δ is empty; None where all are."""
    if isinstance(node, cera.At):
        changed = node.part != "Δ" or (isinstance(node.input, cera.Point) and node.input.name in active)
        return node if changed else None
    if isinstance(node, cera.Union):
        arms = [arm for each in node.inputs if (arm := _prune_empty(each, active)) is not None]
        return None if not arms else arms[0] if len(arms) == 1 else replace(node, inputs=tuple(arms))
    below = [_prune_empty(each, active) for each in cera.inputs(node)]
    if any(each is None for each in below):
        return None
    return cera.with_inputs(node, tuple(each for each in below if each is not None))
