"""Which states can stand in for which, against all words of up to five events."""

from __future__ import annotations

import random
from itertools import chain, product

import pytest

from ostinato.patterns.automata.determinise import OrderMachine
from ostinato.patterns.automata.ranked import BackMachine, FrontMachine
from ostinato.patterns.automata.simulation import replaceable_states
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition
from ostinato.patterns.compile import compile_text
from support.transducers import LETTERS, alphabet, random_transducer

Word = tuple[int, ...]
WORDS: list[Word] = list(chain.from_iterable(product(range(2), repeat=length) for length in range(6)))


def reached(transducer: Transducer, start: int, word: Word) -> tuple[set[int], bool]:
    """The states that a word leads to, whatever is marked, and whether its last event completes a match."""
    states, complete = {start}, False
    for code in word:
        taken = [
            t
            for t in transducer.transitions
            if t.source in states and (t.condition is None or t.condition.relation in (None, LETTERS[code]))
        ]
        states = {t.target for t in taken}
        complete = any(t.mark is not None and t.target in transducer.final for t in taken)
    return states, complete


@pytest.mark.parametrize("backwards", [False, True])
def test_a_state_that_stands_in_for_another_loses_nothing(backwards: bool) -> None:
    rng = random.Random(3)
    replaced = 0
    for _ in range(60):
        transducer = random_transducer(rng)
        masks = replaceable_states(transducer, backwards=backwards)
        for state, other in product(range(transducer.states), repeat=2):
            if state == other or not masks[state] >> other & 1:
                continue
            replaced += 1
            for word in WORDS:
                if backwards:
                    found, _ = reached(transducer, 0, word)
                    assert other not in found or state in found
                else:
                    assert reached(transducer, state, word)[1] >= reached(transducer, other, word)[1]
    assert replaced > 50


def test_states_of_a_counted_loop() -> None:
    transducer = compile_text("A{2,4} ; B").transducer
    masks = replaceable_states(transducer, backwards=False)
    # The final state; that, the start and the state after one A; or all, since those after two A and more are alike.
    assert sorted(mask.bit_count() for mask in masks[1:]) == [1, 3, 6, 6, 6]


@pytest.mark.parametrize("loop", ["A{1,40} ; B", "A{20,40} ; B", "(A ; C){2,20} ; B"])
def test_next_follows_few_runs_of_a_counted_loop(loop: str) -> None:
    compiled = compile_text(f"SELECT NXT * WHERE {loop}")
    machine = compiled.machine(
        lambda code: tuple(condition.relation in (None, "ABC"[code]) for condition in compiled.conditions)
    )
    assert isinstance(machine, OrderMachine)
    config = machine.initial
    for number in range(120):
        config = machine.step(config, (0, 2)[number % 2]).config
        assert len(config) <= 3


def test_halves_of_a_window_hold_one_path_for_each_row_or_state() -> None:
    transducer = compile_text("A{1,20} ; B").transducer
    for latest, Half in product((False, True), (BackMachine, FrontMachine)):
        machine = Half(alphabet(transducer), latest=latest)
        config = machine.initial
        for _ in range(30):
            config = machine.step(config, 0).config
            assert sum(paths.bit_count() for (paths,) in config) <= 2 * transducer.states


def test_the_start_loop_is_no_way_to_anywhere_else() -> None:
    alone = Transducer(2, (START_LOOP, Transition(0, 1, None, mark="x")), frozenset({1}))
    assert replaceable_states(alone, backwards=True) == (0b11, 0b10)
