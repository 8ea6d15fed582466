"""Symbolic register automata (SRA paper, section 4): rules that test the current event against stored ones.

A register holds a whole event. A test that reads a register which holds nothing is not satisfied, whatever it says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from ostinato.core import expressions as ex
from ostinato.core.expression_interpreter import Row, satisfies
from ostinato.core.expressions import Expr
from ostinato.core.reachability import reachable_states
from ostinato.errors import DataError, QueryError

if TYPE_CHECKING:
    from ostinato.patterns.syntax.srem.nodes import Expression

Valuation = tuple[tuple[str, int], ...]  # register -> position of the event that it holds, sorted


@dataclass(frozen=True)
class SraRule:
    """A transition `source, test ↓ writes → target` (Definition 4.1); after it the written registers hold the event."""

    source: int
    target: int
    test: Expr = ex.TRUE
    writes: tuple[str, ...] = ()

    @property
    def reads(self) -> frozenset[str]:
        """The registers that its test reads."""
        return ex.variables(self.test) - {ex.CURRENT}

    def __str__(self) -> str:
        stored = " ↓ " + ", ".join(map(ex.quote_name, self.writes)) if self.writes else ""
        return f"{self.source} --[{ex.to_text(self.test)}]{stored}--> {self.target}"


@dataclass(frozen=True)
class Automaton:
    """An SRA (Definition 4.1). States are 0 … states-1; with a window, only strings of at most that many events count.

    `epsilons` move without reading; construction makes them and `epsilon.eliminate_epsilon` removes them.
    """

    states: int
    start: int
    final: frozenset[int]
    rules: tuple[SraRule, ...]
    epsilons: tuple[tuple[int, int], ...] = ()
    window: int | None = None

    def __post_init__(self) -> None:
        if self.states < 1:
            raise QueryError(f"an automaton needs a state, not {self.states}")
        named = {self.start, *self.final, *(state for pair in self.epsilons for state in pair)}
        named |= {state for rule in self.rules for state in (rule.source, rule.target)}
        if outside := sorted(state for state in named if not 0 <= state < self.states):
            raise QueryError(f"state {outside[0]} is not among the states 0 … {self.states - 1}")
        check_window(self.window)
        for rule in self.rules:
            _check(rule)

    @property
    def registers(self) -> frozenset[str]:
        return frozenset().union(*(rule.reads | set(rule.writes) for rule in self.rules))

    def accepts(self, rows: Iterable[Row]) -> bool:
        """Whether the whole string is in the language (Definition 4.6): follows all configurations at once.

        Parameters
        ----------
        rows
            The events of the string, as dicts, in order.
        """
        string = _string(rows)
        if self.window is not None and len(string) > self.window:
            return False
        return bool(self.final & {state for state, _ in self._after(string)})

    def _after(self, string: Sequence[Row]) -> set[tuple[int, Valuation]]:
        """The configurations (Definition 4.3) after the string: a state and the position that each register holds."""
        configurations: set[tuple[int, Valuation]] = {(state, ()) for state in self.enclose(self.start)}
        for position, row in enumerate(string):
            before, configurations = configurations, set()
            for state, valuation in before:
                registers = {register: string[held] for register, held in valuation}
                for rule in self.rules_from(state):
                    if satisfies(rule.test, row, registers):
                        now = {**dict(valuation), **dict.fromkeys(rule.writes, position)}
                        kept = tuple(sorted(now.items()))
                        configurations |= {(target, kept) for target in self.enclose(rule.target)}
        return configurations

    def rules_from(self, state: int) -> Sequence[SraRule]:
        """The rules of a state.

        Parameters
        ----------
        state
            Its number.
        """
        return self._rules_by_source.get(state, ())

    def enclose(self, state: int) -> frozenset[int]:
        """The state and all that ε-transitions lead to from it (Enclose of Algorithm 2).

        Parameters
        ----------
        state
            Its number.
        """
        return reachable_states((state,), self._following)

    @cached_property
    def _rules_by_source(self) -> dict[int, list[SraRule]]:
        rules: dict[int, list[SraRule]] = {}
        for rule in self.rules:
            rules.setdefault(rule.source, []).append(rule)
        return rules

    @cached_property
    def _following(self) -> dict[int, list[int]]:
        targets: dict[int, list[int]] = {}
        for source, target in self.epsilons:
            targets.setdefault(source, []).append(target)
        return targets

    def __repr__(self) -> str:
        window = "" if self.window is None else f", within {self.window} events"
        return f"<Automaton of {self.states} states and {len(self.rules)} rules{window}>"

    def __str__(self) -> str:
        lines = [f"states 0 … {self.states - 1}, start {self.start}, final {sorted(self.final)}"]
        if self.registers:
            lines[0] += f", registers {', '.join(map(ex.quote_name, sorted(self.registers)))}"
        if self.window is not None:
            lines[0] += f", within {self.window} events"
        lines += [f"  {rule}" for rule in self.rules]
        return "\n".join(lines + [f"  {source} --ε--> {target}" for source, target in self.epsilons])

    # The algebra (section 5); each operation lives in a module of its own.

    def __or__(self, other: object) -> Automaton:
        """Strings of either (Theorem 5.9)."""
        from ostinato.patterns.sra.closure import union

        return union(self, other) if isinstance(other, Automaton) else NotImplemented

    def __and__(self, other: object) -> Automaton:
        """Strings of both (Theorem 5.9)."""
        from ostinato.patterns.sra.closure import intersection

        return intersection(self, other) if isinstance(other, Automaton) else NotImplemented

    def __add__(self, other: object) -> Automaton:
        """A string of this one, then one of the other (Theorem 5.9)."""
        from ostinato.patterns.sra.closure import concatenation

        return concatenation(self, other) if isinstance(other, Automaton) else NotImplemented

    def star(self) -> Automaton:
        """Any number of strings of this one, after each other (Theorem 5.9)."""
        from ostinato.patterns.sra.closure import star

        return star(self)

    def __invert__(self) -> Automaton:
        """Strings within the window that are not of this one (Corollary 5.17)."""
        from ostinato.patterns.sra.complement import complement

        return complement(self)

    def determinise(self, window: int | None = None) -> Automaton:
        """The same strings, at most one rule for each event (Theorem 5.15).

        Parameters
        ----------
        window
            Only strings of at most so many events. An automaton without a window of its own needs it.
        """
        from ostinato.patterns.sra.determinise import determinise

        return determinise(self, window)

    def single_register(self) -> Automaton:
        """The same strings, at most one register written by a rule (Lemma 5.5)."""
        from ostinato.patterns.sra.single_write import single_register

        return single_register(self)

    def to_srem(self) -> Expression:
        """The same strings as an expression (Theorem 5.6)."""
        from ostinato.patterns.sra.to_srem import to_srem

        return to_srem(self)

    def witness(self) -> list[dict[str, object]] | None:
        """A string of the language, or None where there is none."""
        from ostinato.patterns.sra.witness import witness

        return witness(self)

    def is_empty(self) -> bool:
        """Whether no string is in the language."""
        return self.witness() is None


def check_window(window: object) -> None:
    """A window is a number of events, or None."""
    if window is not None and (isinstance(window, bool) or not isinstance(window, int) or window < 1):
        raise QueryError(f"a window is a whole number of events from 1, not {window!r}", fix="give window=n, or None")


def _string(rows: object) -> list[Row]:
    fix = "give a list of dicts; of a table, table.to_pylist()"
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise DataError(f"rows is a list of events, not of type {type(rows).__name__}", fix=fix)
    string = list(rows)
    for number, row in enumerate(string):
        if not isinstance(row, Mapping):
            reason = f"rows is a list of events, each a dict, not of type {type(row).__name__}"
            raise DataError(reason, row=number, fix=fix)
    return string


def _check(rule: SraRule) -> None:
    if list(rule.writes) != sorted(set(rule.writes)):
        fix = f"write {tuple(sorted(set(rule.writes)))!r}"
        raise QueryError(f"the rule {rule} writes its registers out of order or twice", fix=fix)
    if not all(rule.writes) or ex.CURRENT in rule.writes:
        raise QueryError(f"the rule {rule} writes to something that is not a register")
    for fault in _faults(rule.test):
        raise QueryError(f"the test of the rule {rule} has {fault}", fix="test attributes of ~ and of registers alone")


def _faults(test: Expr) -> Iterator[str]:
    if isinstance(test, ex.Literal) and not isinstance(test.value, bool | None):
        yield f"{ex.to_text(test)}, which is not a condition"
    for node in ex.walk(test):
        if isinstance(node, ex.Variable):
            yield f"the whole event {node.name} as a value"
        elif isinstance(node, ex.Call) and node.op not in ex.OPERATORS:
            yield f"{node.op}(), which needs several events"
