"""Random transducers over two types of events."""

from __future__ import annotations

import random

from ostinato.core.conditions import Condition
from ostinato.patterns.automata.determinise import Alphabet
from ostinato.patterns.automata.transducer import START_LOOP, Transducer, Transition

LETTERS = "AB"


def random_transducer(rng: random.Random) -> Transducer:
    states = rng.randint(2, 4)
    transitions = {START_LOOP}
    for _ in range(rng.randint(2, 9)):
        relation = rng.choice([None, *LETTERS])
        mark = rng.choice(["x", "x", None])
        source = rng.randrange(states) if mark else rng.randrange(1, states)
        transitions.add(Transition(source, rng.randrange(1, states), Condition(relation), mark=mark))
    final = frozenset(rng.sample(range(1, states), rng.randint(1, states - 1)))
    return Transducer(states, tuple(sorted(transitions, key=str)), final)


def alphabet(transducer: Transducer) -> Alphabet:
    conditions = transducer.conditions()
    truth = lambda code: tuple(c.relation in (None, LETTERS[code]) for c in conditions)  # noqa: E731
    return Alphabet(transducer, truth, lambda _: 1)
