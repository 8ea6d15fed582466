"""A program evaluated once, in order: every definition is defined in a store, and recursion runs to its fixpoint."""

from __future__ import annotations

from sqlglot import exp

from ostinato.rules.limits import RuleLimits
from ostinato.rules.relational.recursion import run_rounds
from ostinato.rules.relational.sql_names import derived_table
from ostinato.rules.relational.sql_program import RelationStore, SqlProgram, define, deriving_rules


def evaluate_program(
    program: SqlProgram, store: RelationStore, limits: RuleLimits | None = None, *, natively: bool = False
) -> exp.Query:
    """Define everything in order and return the query of the answer. Recursive groups run to their fixpoint here.

    `natively`: the store runs recursive queries.
    """
    made: dict[str, list[str]] = {}  # label -> the definitions that derive it, as far as they are done
    groups = program.plan.groups
    # Only recursive rules read a label before all of its rules are done.
    last = {
        rule.head.label: number for number, group in enumerate(groups) if not group.recursive for rule in group.rules
    }
    for number, group in enumerate(groups):
        definitions = program.definitions_of(number)
        for definition in definitions:
            define(program, store, definition, made)
        if group.recursive:
            run_rounds(program, store, number, made, limits or RuleLimits(), natively=natively)
            continue
        for label in {rule.head.label for rule in group.rules}:
            made.setdefault(label, []).extend(deriving_rules(definitions, label))
            if last[label] == number:
                store.define(derived_table(label), program.derived_query(label, made[label]), kept=True)
    return program.answer_query(program.rules_of)
