"""A recursive group of rules, to its fixpoint: each round over what the last one derived.

Where every rule reads one event of the recursion, a recursive query of the database does the rounds by itself: to plan
each of them takes far longer than what it joins.
"""

from __future__ import annotations

from copy import copy

from sqlglot import exp

from ostinato.errors import Limit, LimitError, Message
from ostinato.rules.algebra.nodes import Construct, Definition, Match
from ostinato.rules.limits import RuleLimits
from ostinato.rules.relational.expressions import table
from ostinato.rules.relational.head_sql import construct_sql
from ostinato.rules.relational.sql_names import derived_table, matched_table, new_table, stream_table
from ostinato.rules.relational.sql_program import RelationStore, SqlProgram, define, deriving_rules


def run_rounds(
    program: SqlProgram,
    store: RelationStore,
    group: int,
    made: dict[str, list[str]],
    limits: RuleLimits,
    *,
    natively: bool = False,
) -> None:
    """T_P until nothing new is derived (Definition 0.10), once the definitions of the group are there.

    `natively`: the store runs recursive queries.
    """
    rounds = _Rounds(program, store, group)
    finite = program.is_finite(group)
    if natively and finite and rounds.is_linear:
        rounds.run_natively(made)
        return
    known = rounds.start(made)
    most = None if finite else limits.rounds
    number = 0
    while rounds.found:
        if number == most:
            raise LimitError(
                "rounds",
                number,
                reason=f"the recursion of {', '.join(rounds.labels)} goes on making new events, {known:,} so far",
                fix=Message(
                    "bound what its rules count or build (where { var N < … }), or raise ",
                    Limit("rounds", "RuleLimits"),
                ),
            )
        known += rounds.run_round()
        number += 1
    rounds.finish(made)


class _Rounds:
    """All queries are made once: a round only runs them."""

    def __init__(self, program: SqlProgram, store: RelationStore, group: int) -> None:
        self.program, self.store = program, store
        self.rounds = program.rounds[group]
        self.labels = self.rounds.labels
        self.definitions = program.definitions_of(group)
        self.found = 0  # events that the last round derived
        generator = copy(program.generator)
        generator.rounds = True
        self._queries: dict[str, exp.Query] = {}
        for definition, node in self.rounds.additions:
            if isinstance(node, Construct):
                self._queries[definition.name] = construct_sql(generator, definition.name, node)
            else:
                self._queries[definition.name] = generator.select(node)
        self._streams = {
            label: program.derived_as_stream(label, new_table(derived_table(label))) for label in self._read()
        }
        self._candidates = {label: self._except(label) for label in self.labels}
        # Points that are looked up again, and what is derived, grow by what is new.
        grow = [each.name for each, _ in self.rounds.additions if each.name in self.rounds.looked_up]
        self._grown = {name: _both(name, new_table(name)) for name in grow}
        self._all = {label: _both(derived_table(label), self._found(label)) for label in self.labels}
        self._latest = {label: _select_all(self._found(label)) for label in self.labels}

    @property
    def is_linear(self) -> bool:
        """Whether a round needs nothing of the recursion but what the last one derived, and SQL alone."""
        matched = [
            self.program.plan_types.match_plans[each.name].flat
            for each, node in self.rounds.additions
            if isinstance(node, Match)
        ]
        return len(self.labels) == 1 and not self._grown and None not in matched

    def run_natively(self, made: dict[str, list[str]]) -> None:
        """All rounds as one recursive query, in which Δ is what the last round derived."""
        (label,) = self.labels
        rules = deriving_rules(self.definitions, label)
        known = [_select_all(derived_table(label))] if label in made else []
        first = exp.union(*known, self.program.derived_query(label, rules), distinct=True) if known else None
        start = (first or self.program.derived_query(label, rules)).subquery("start")
        following = exp.select("*").from_(self.program.derived_query(label, rules, new=True).subquery("new"))
        for stream, events in self._streams.items():
            following = following.with_(_quote(new_table(stream_table(stream))), as_=events)
        for name, query in self._queries.items():
            following = following.with_(_quote(new_table(name)), as_=query)
        latest = new_table(derived_table(label))
        rounds = exp.union(exp.select("*").from_(start), exp.select("*").from_(following.subquery("following")))
        self.store.define(
            derived_table(label), _select_all(latest).with_(_quote(latest), as_=rounds, recursive=True), kept=True
        )
        made.setdefault(label, []).extend(rules)
        self.finish(made)

    def _read(self) -> list[str]:
        streams = [
            node.stream for _, node in self.rounds.additions if isinstance(node, Match) and isinstance(node.stream, str)
        ]
        return list(dict.fromkeys(streams))

    def _except(self, label: str, *, new: bool = True) -> exp.Query:
        """What the rules of the group derive that was not known."""
        derived = self.program.derived_query(label, deriving_rules(self.definitions, label), new=new)
        return exp.except_(exp.select("*").from_(derived.subquery("new")), _select_all(derived_table(label)))

    def _found(self, label: str) -> str:
        """Where what a round derives is put: rules of other labels still read what the last one has derived."""
        latest = new_table(derived_table(label))
        return latest if len(self.labels) == 1 else f"found {latest}"

    def start(self, made: dict[str, list[str]]) -> int:
        """What the rules derive of what is there; gives how much."""
        for label in self.labels:
            rules = deriving_rules(self.definitions, label)
            if label in made:  # other rules have derived some before
                self.store.define(self._found(label), self._except(label, new=False), kept=True)
                self._show(label)
            else:
                self.store.define(derived_table(label), self.program.derived_query(label, rules), kept=True)
                self.found += self.store.count(derived_table(label))
                self.store.define(new_table(derived_table(label)), _select_all(derived_table(label)), kept=True)
        for label in self.labels:
            made.setdefault(label, []).extend(deriving_rules(self.definitions, label))
        return self.found

    def run_round(self) -> int:
        """One round; gives how many events it derived."""
        store, self.found = self.store, 0
        for label, events in self._streams.items():
            store.define(new_table(stream_table(label)), events, kept=False)
        for definition, node in self.rounds.additions:
            if isinstance(node, Match):
                self._match(definition, node)
            kept = definition.name in self._grown
            store.define(new_table(definition.name), self._queries[definition.name], kept=kept)
        for label in self.labels:
            store.define(self._found(label), self._candidates[label], kept=True)
        for name, query in self._grown.items():
            store.define(name, query, kept=True)
        for label in self.labels:
            self._show(label)
        return self.found

    def _match(self, definition: Definition, node: Match) -> None:
        found = self.program.plan_types.match_plans[definition.name]
        if found.flat is None:
            attributes = self.program.plan_types.attributes[node.stream]
            stream = new_table(stream_table(node.stream))
            self.store.match(new_table(matched_table(definition.name)), stream, found, attributes)

    def _show(self, label: str) -> None:
        """Let the next round see what this one has found."""
        self.found += self.store.count(self._found(label))
        self.store.define(derived_table(label), self._all[label], kept=True)
        if len(self.labels) > 1:
            self.store.define(new_table(derived_table(label)), self._latest[label], kept=True)

    def finish(self, made: dict[str, list[str]]) -> None:
        """Points that rounds did not look up are defined over all that was derived."""
        for definition, node in self.rounds.additions:
            if definition.name not in self._grown and not isinstance(node, Construct):
                define(self.program, self.store, definition, made)


def _quote(name: str) -> exp.Identifier:
    return exp.to_identifier(name, quoted=True)


def _select_all(name: str) -> exp.Select:
    return exp.select("*").from_(table(name))


def _both(one: str, other: str) -> exp.Query:
    return exp.union(_select_all(one), _select_all(other), distinct=False)
