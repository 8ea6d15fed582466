"""A string that an automaton accepts, or why there is none (non-emptiness; SRA paper, section 7)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from ostinato.core.expressions import CURRENT, quote_name, to_text, variables
from ostinato.core.reachability import reachable_states
from ostinato.errors import DataError, LimitError
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.configurations import Configurations
from ostinato.patterns.sra.epsilon import eliminate_epsilon
from ostinato.patterns.sra.feasible_paths import MAX_STEPS, Path, PathSearch
from ostinato.patterns.theory.satisfiability import is_satisfiable

MAX_STEPS_TO_WARN = 20_000  # every query is checked when it is made, so the check must be quick


def witness(automaton: Automaton, steps: int = MAX_STEPS) -> list[dict[str, Any]] | None:
    """One of the shortest strings that the automaton accepts; None where it certainly accepts none.

    Attributes that no test reads are missing from the rows. LimitError where neither could be shown.
    """
    search = PathSearch(automaton, steps)
    ends = False
    for path in search.paths():
        if search.configurations.is_final(path.end):
            rows = search.rows(path)
            if rows is not None and _accepts(automaton, rows):
                return rows
            ends = True
    if ends:
        raise search.undecided_error("no values were found for tests that seem to fit together")
    return None


def _accepts(automaton: Automaton, rows: list[dict[str, Any]]) -> bool:
    try:
        return automaton.accepts(rows)
    except DataError:  # a rule on some other path compares values of different kinds
        return False


def reason_empty(automaton: Automaton, nonempty: bool = False) -> str | None:
    """One sentence that says why no string is accepted; None if one is or may be, or if the proof takes too long.

    With `nonempty`, why only the empty string is, which never occurs in a stream. Tests that are FALSE are named only
    where the automaton still has them: before its ε-transitions are eliminated.
    """
    only_empty = nonempty and bool(automaton.final & automaton.enclose(automaton.start))
    if only_empty:
        automaton = _of_nonempty(automaton)
    try:
        if witness(automaton, MAX_STEPS_TO_WARN) is not None:
            return None
    except LimitError:
        return None
    if only_empty and not automaton.rules:
        reason = "it describes only the empty segment, which never occurs in a stream"
    else:
        reason = _not_connected(automaton) or _too_long(eliminate_epsilon(automaton)) or _blocked(automaton)
    return f"this pattern can never match, because {reason}"


def _of_nonempty(automaton: Automaton) -> Automaton:
    """Its strings of at least one event: each state has a copy before and one after the first event."""
    count = automaton.states
    first = (replace(rule, target=count + rule.target) for rule in automaton.rules)
    later = (replace(rule, source=count + rule.source, target=count + rule.target) for rule in automaton.rules)
    epsilons = ((count + source, count + target) for source, target in automaton.epsilons)
    return replace(
        automaton,
        states=2 * count,
        final=frozenset(count + state for state in automaton.final),
        rules=(*first, *later),
        epsilons=(*automaton.epsilons, *epsilons),
    )


def _not_connected(automaton: Automaton) -> str | None:
    """Why no final state can be reached, taking each test by itself; None if one can."""
    possible = [rule for rule in automaton.rules if is_satisfiable([(rule.test, True)])]
    reached = reachable_states([automaton.start], _edges(possible, automaton.epsilons))
    if reached & automaton.final:
        return None
    useful = reachable_states(automaton.final, _edges(automaton.rules, automaton.epsilons, backward=True))
    impossible = [rule for rule in automaton.rules if rule.source in reached and rule.target in useful - reached]
    tests = dict.fromkeys(f"[{to_text(rule.test)}]" for rule in impossible)
    return f"{_list_steps(tests)} cannot hold" if tests else "nothing leads from its start to an end"


def _too_long(automaton: Automaton) -> str | None:
    fewest = Configurations(automaton).fewest(automaton.start)
    if automaton.window is None or fewest is None or fewest <= automaton.window:
        return None
    return f"it takes at least {fewest} events, more than the {automaton.window} of its window"


def _blocked(automaton: Automaton) -> str:
    """Describe the obstacle nearest to a final state."""
    search = PathSearch(automaton)
    empty: list[tuple[SraRule, Path | str]] = [
        (rule, register)
        for path in search.paths()
        for rule in search.configurations.automaton.rules_from(path.end.state)
        for register in sorted(rule.reads - dict(path.end.registers).keys())
    ]
    obstacles = [*((path.rules[-1], path) for path in search.dead_ends), *empty]
    fewest = search.configurations.fewest
    near = {rule: events for rule, _ in obstacles if (events := fewest(rule.target)) is not None}
    rule, cause = min((found for found in obstacles if found[0] in near), key=lambda found: near[found[0]])
    if isinstance(cause, Path):
        return _conflict(cause)
    return f"[{to_text(rule.test)}] reads the register {quote_name(cause)}, which holds nothing then"


def _conflict(path: Path) -> str:
    """The last test, and as few of those before it as contradict it together."""
    *before, last = path.tests
    needed = list(range(len(before)))
    for index in list(needed):
        others = [other for other in needed if other != index]
        if not is_satisfiable((test, True) for test in [*(before[other] for other in others), last]):
            needed = others
    steps = dict.fromkeys(_step(path.rules[index]) for index in needed)
    written = path.rules[-1].test
    if steps:
        return f"[{to_text(written)}] cannot hold after {_list_steps(steps)}"
    registers = [quote_name(name) for name in sorted(variables(written) - {CURRENT})]
    shared = len(variables(last)) < len(variables(written))
    why = f" while {_list_steps(registers)} hold the same event" if shared else ""
    return f"[{to_text(written)}] cannot hold{why}"


def _step(rule: SraRule) -> str:
    stored = " -> " + ", ".join(map(quote_name, rule.writes)) if rule.writes else ""
    return f"[{to_text(rule.test)}]{stored}"


def _list_steps(steps: Iterable[str]) -> str:
    *most, last = steps
    return f"{', '.join(most)} and {last}" if most else last


def _edges(
    rules: Iterable[SraRule], epsilons: Iterable[tuple[int, int]], backward: bool = False
) -> dict[int, list[int]]:
    edges: dict[int, list[int]] = {}
    for source, target in (*((rule.source, rule.target) for rule in rules), *epsilons):
        here, there = (target, source) if backward else (source, target)
        edges.setdefault(here, []).append(there)
    return edges
