"""States that behave alike, against a refinement that looks at every state in every round."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.core.expressions import TRUE
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.bisimulation import bisimulation_blocks

STATES = 8
states = st.integers(0, STATES - 1)
rules = st.builds(SraRule, states, states, st.just(TRUE), st.sampled_from([(), (), ("r",)]))


def naive(automaton: Automaton) -> list[int]:
    block = [int(state in automaton.final) for state in range(automaton.states)]
    for _ in range(automaton.states):
        moves = [
            frozenset((rule.test, rule.writes, block[rule.target]) for rule in automaton.rules_from(state))
            for state in range(automaton.states)
        ]
        numbers: dict[object, int] = {}
        block = [numbers.setdefault((block[state], moves[state]), len(numbers)) for state in range(automaton.states)]
    return block


@settings(max_examples=90)
@given(st.frozensets(states), st.lists(rules, max_size=14))
def test_blocks_are_as_few_as_can_be(final: frozenset[int], drawn: list[SraRule]) -> None:
    automaton = Automaton(STATES, 0, final, tuple(drawn))
    blocks, meant = bisimulation_blocks(automaton), naive(automaton)
    pairs = [(one, other) for one in range(STATES) for other in range(one)]
    assert [blocks[one] == blocks[other] for one, other in pairs] == [
        meant[one] == meant[other] for one, other in pairs
    ]
