"""Determinisation of windowed automata (SRA paper, Theorem 5.15, Algorithm 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from ostinato.core.expressions import TRUE, Call, Expr
from ostinato.errors import LimitError
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.configurations import Configuration, Configurations, place_name
from ostinato.patterns.sra.explore import Move, explore
from ostinato.patterns.sra.live_registers import drop_idle_writes
from ostinato.patterns.sra.trim import trim
from ostinato.patterns.sra.unroll import narrower_window
from ostinato.patterns.theory.minterms import minterm_test, satisfiable_minterms

MAX_STATES = 10_000

Subset = frozenset[Configuration]  # a state of the result: the configurations that the automaton may be in

_NEW = 0  # the place of the current event until a free one is known; places count from 1


def determinise(automaton: Automaton, window: int | None = None) -> Automaton:
    """The same strings of at most `window` events, where no event lets two rules fire."""
    return trim(powerset(automaton, window))


def powerset(automaton: Automaton, window: int | None = None) -> Automaton:
    """The deterministic automaton with a rule for every event, up to its window: the empty subset is a dead state.

    Algorithm 8 takes subsets of the states of the unrolled automaton, where each register is written once. Here they
    are built as they are reached, and a register is free again when no configuration in the subset reads it: so the
    subsets after T T and after T x T are the same one. A configuration is in the next subset iff one of the rules into
    it fires, so that the minterms are those of these disjunctions: as few as there are next subsets.
    """
    width = narrower_window(automaton, window, "made deterministic")
    configurations = Configurations(automaton)
    start: Subset = frozenset({configurations.start})
    depths = {start: 0}  # of the shortest strings into each subset: what is too far from a final state is dropped

    def moves(source: Subset) -> Iterator[Move[Subset]]:
        depth = depths[source] + 1
        if depth > width:
            return
        ways: dict[Configuration, dict[Expr, None]] = {}
        for configuration in sorted(source):
            for _, test, target in configurations.moves(configuration, _NEW, width - depth):
                ways.setdefault(target, {})[test] = None
        targets: dict[Expr, list[Configuration]] = {}
        for target, tests in ways.items():
            targets.setdefault(_some(tests), []).append(target)
        for holds in satisfiable_minterms(tuple(targets)):
            reached = [target for group, held in zip(targets.values(), holds, strict=True) if held for target in group]
            subset, writes = _store(reached)
            if depths.setdefault(subset, depth) == depth and len(depths) > MAX_STATES:
                raise _too_many()
            yield minterm_test(tuple(targets), holds), writes, subset

    subsets = explore(start, moves, lambda subset: any(map(configurations.is_final, subset)), width)
    return drop_idle_writes(subsets)


def _some(tests: Iterable[Expr]) -> Expr:
    """A test that holds where one of the tests does."""
    alternatives = tuple(tests)
    if TRUE in alternatives:
        return TRUE
    return alternatives[0] if len(alternatives) == 1 else Call("or", alternatives)


def _store(reached: Iterable[Configuration]) -> tuple[Subset, tuple[str, ...]]:
    """The subset with the current event in the first free place, and the registers written for that."""
    used = frozenset().union(*(target.places for target in reached))
    if _NEW not in used:
        return frozenset(reached), ()
    place = next(number for number in count(1) if number not in used)
    subset = frozenset(
        Configuration(state, tuple((register, at or place) for register, at in registers))
        for state, registers in reached
    )
    return subset, (place_name(place),)


def _too_many() -> LimitError:
    return LimitError(
        "states",
        MAX_STATES,
        reason="the deterministic automaton grows beyond what fits",
        fix="narrow the window, or compare with fewer stored events",
    )
