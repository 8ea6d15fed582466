"""Renames the registers of an automaton."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ostinato.core.expressions import Attribute, Expr, transform
from ostinato.patterns.sra.automaton import Automaton


def rename_registers(test: Expr, names: Mapping[str, str]) -> Expr:
    """The test with registers renamed; those without a new name stay."""

    def rename(node: Expr) -> Expr:
        return replace(node, variable=names.get(node.variable, node.variable)) if isinstance(node, Attribute) else node

    return transform(test, rename)


def rename_apart(automaton: Automaton, taken: Iterable[str]) -> Automaton:
    """The same automaton with registers that are none of `taken`: r becomes r_2, or r_3, …"""
    used = set(taken)
    names = {}
    for register in sorted(automaton.registers):
        name, count = register, 1
        while name in used or (name != register and name in automaton.registers):
            count += 1
            name = f"{register}_{count}"
        names[register] = name
        used.add(name)
    rules = (
        replace(
            rule, test=rename_registers(rule.test, names), writes=tuple(sorted(names[name] for name in rule.writes))
        )
        for rule in automaton.rules
    )
    return replace(automaton, rules=tuple(rules))
