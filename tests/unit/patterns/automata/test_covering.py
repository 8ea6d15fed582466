"""What MAX need not skip, and where one match has all events of the others."""

from __future__ import annotations

import random

import pytest

import ostinato as ost
from ostinato.patterns.automata.covering import covering_transitions, has_one_largest
from ostinato.patterns.automata.transducer import Transducer, Transition
from ostinato.patterns.compile import compile_text
from support.transducers import LETTERS, random_transducer


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        # The first y of a + as well as the others: the run that took one can take all that are left.
        ("A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z", ["y", "y"]),
        ("A AS x ; B AS y ; C AS z FILTER x.v < z.v", []),
        ("A AS x ; (B AS y ; C AS w)+ ; D AS z FILTER x.v < z.v", []),
        # y is compared later, so taking another one for it changes what may follow.
        ("(A AS x ; B AS y ; (B AS w)+ ; C AS z) FILTER y.v < z.v", ["w", "w"]),
    ],
)
def test_covering(text: str, marks: list[str]) -> None:
    found = covering_transitions(compile_text(text, "cel").transducer)
    assert sorted(str(t.mark) for t in found) == marks


def test_a_long_loop_has_one_match_per_beginning() -> None:
    rows = [{"type": "A", "v": 0}, *[{"type": "B", "v": 1}] * 5_000, {"type": "C", "v": 0}]
    query = ost.cel("SELECT MAX * WHERE A AS x ; (B AS y FILTER y.v > x.v)+ ; C AS z")
    assert query.detect(rows)["positions"].to_pylist() == [list(range(5_002))]


@pytest.mark.parametrize(
    ("formula", "one"),
    [
        ("(A AS x)+ ; B AS y", True),
        ("(A OR B)+ ; C", True),
        ("(A AS x FILTER x.v > 1)* ; B", True),
        ("A+ ; B?", True),
        ("A+ ; B+ ; C", False),
        ("A{1,3} ; B", False),
        ("A ; B+ ; C", False),
        ("A->+ ; B", False),
    ],
)
def test_one_match_has_all_events_of_the_others(formula: str, one: bool) -> None:
    assert has_one_largest(compile_text(formula).transducer) is one
    assert compile_text(f"SELECT MAX * WHERE {formula} WITHIN 9 EVENTS").ranked is one


def test_one_largest_match_of_random_automata() -> None:
    rng = random.Random(5)
    found = 0
    for _ in range(1_500):
        bare = random_transducer(rng)
        waits = tuple(Transition(state, state) for state in range(1, bare.states))
        transducer = Transducer(bare.states, tuple(dict.fromkeys(bare.transitions + waits)), bare.final)
        if not has_one_largest(transducer):
            continue
        for _ in range(20):
            matches = complete(transducer, [rng.randrange(2) for _ in range(rng.randint(1, 6))])
            found += len(matches) > 1
            assert not matches or frozenset().union(*matches) in matches
    assert found > 100


def complete(transducer: Transducer, word: list[int]) -> set[frozenset[int]]:
    """The matches that end with a word."""
    runs, ended = {(0, frozenset[int]())}, set[frozenset[int]]()
    for place, code in enumerate(word):
        taken = [
            (t, marked if t.mark is None else marked | {place})
            for state, marked in runs
            for t in transducer.transitions
            if t.source == state and (t.condition is None or t.condition.relation in (None, LETTERS[code]))
        ]
        runs = {(t.target, marked) for t, marked in taken}
        ended = {marked for t, marked in taken if t.mark is not None and t.target in transducer.final}
    return ended
