"""The two halves of a window against the definition: every string, compared bit by bit."""

from __future__ import annotations

import random
from itertools import product

import pytest

from ostinato.patterns.automata.comparable_states import comparable_states
from ostinato.patterns.automata.determinise import MachineStep, iterate_bits
from ostinato.patterns.automata.ranked import BackMachine, FrontMachine, HalfMachine, best_join
from ostinato.patterns.automata.simulation import replaceable_states
from ostinato.patterns.automata.transducer import Transducer
from ostinato.patterns.compile import compile_text
from support.transducers import LETTERS, alphabet, random_transducer

String = tuple[int, ...]


def reached(transducer: Transducer, source: int, codes: list[int], string: String) -> set[int]:
    states = {source}
    for code, bit in zip(codes, string, strict=True):
        states = {
            t.target
            for t in transducer.transitions
            if t.source in states
            and (t.mark is not None) == bool(bit)
            and (t.condition is None or t.condition.relation in (None, LETTERS[code]))
        }
    return states


def order(string: String, latest: bool) -> String:
    return string[::-1] if latest else string


def best(transducer: Transducer, codes: list[int], latest: bool) -> dict[tuple[int, int], String]:
    """The best string from each state to each other."""
    found: dict[tuple[int, int], String] = {}
    for string in sorted(product((0, 1), repeat=len(codes)), key=lambda s: order(s, latest)):
        for row in range(transducer.states):
            for state in reached(transducer, row, codes, string):
                found[row, state] = string
    return found


class Half:
    """A machine with its lists as plain strings."""

    def __init__(self, machine: HalfMachine) -> None:
        self.machine, self.config, self.lists = machine, machine.initial, list[String]()
        self.length = 0

    def read(self, code: int) -> MachineStep:
        step = self.machine.step(self.config, code)
        lists = []
        assert [move.target for move in step.moves] == list(range(len(step.config) - 1))
        for move in step.moves:
            old = self.lists[move.source] if move.source >= 0 else (0,) * self.length
            lists.append((move.symbol, *old) if self.machine.prepends else (*old, move.symbol))
        self.config, self.lists, self.length = step.config, lists, self.length + 1
        return step

    def string(self, cell: int) -> String:
        return self.lists[cell - 1] if cell else (0,) * self.length

    def strings(self) -> dict[tuple[int, int], String]:
        found: dict[tuple[int, int], String] = {}
        for number, (paths,) in enumerate(self.config):
            for path in iterate_bits(paths):
                assert divmod(path, self.machine.states) not in found
                found[divmod(path, self.machine.states)] = self.string(number)
        return found


@pytest.mark.parametrize("latest", [False, True])
def test_both_halves_hold_the_best_strings(latest: bool) -> None:
    """But for those that another path with a better string replaces."""
    rng = random.Random(1)
    for _ in range(250):
        transducer = random_transducer(rng)
        letters = alphabet(transducer)
        codes = [rng.randrange(2) for _ in range(rng.randint(0, 6))]
        back, front = Half(BackMachine(letters, latest=latest)), Half(FrontMachine(letters, latest=latest))
        for code in codes:
            back.read(code)
        for code in reversed(codes):
            front.read(code)
        lasting = {t.source for t in transducer.transitions}
        wanted = {
            (row, state): string
            for (row, state), string in best(transducer, codes, latest).items()
            if row in lasting and state in lasting
        }
        replaceable = replaceable_states(transducer, backwards=latest)
        for half in (back, front):
            found = half.strings()
            assert found.items() <= wanted.items()
            for (row, state), string in wanted.items() - found.items():
                stands_in = (
                    other
                    for (near, far), other in found.items()
                    if (far == state if latest else near == row)
                    and replaceable[near if latest else far] >> (row if latest else state) & 1
                )
                assert any(order(other, latest) > order(string, latest) for other in stands_in)


@pytest.mark.parametrize("latest", [False, True])
def test_the_best_match_is_joined_from_both_halves(latest: bool) -> None:
    rng = random.Random(2)
    matched = 0
    for _ in range(600):
        transducer = random_transducer(rng)
        letters = alphabet(transducer)
        first, second = ([rng.randrange(2) for _ in range(rng.randint(0, 4))] for _ in range(2))
        back, front = Half(BackMachine(letters, latest=latest)), Half(FrontMachine(letters, latest=latest))
        for code in reversed(first):
            front.read(code)
        for code in second:
            back.read(code)
        last = rng.randrange(2)
        emits = back.machine.step(back.config, last).emits
        row_0 = [paths & (1 << transducer.states) - 1 for (paths,) in front.config]
        cells = [number for number in range(1, len(row_0)) if row_0[number]] + [0]
        join = best_join(tuple(row_0[number] for number in cells), emits, latest=latest)
        found = None if join is None else (*front.string(cells[join[0]]), *back.string(join[1] + 1), 1)
        codes = [*first, *second, last]
        complete = [
            (*string, 1)
            for string in product((0, 1), repeat=len(codes) - 1)
            if reached(transducer, 0, codes, (*string, 1)) & transducer.final
        ]
        assert found == max(complete, key=lambda s: order(s, latest), default=None)
        matched += bool(complete)
    assert matched > 100


def test_a_sequence_compares_no_strings_of_different_rows() -> None:
    transducer = compile_text("A AS x ; B AS y ; C AS z ; D AS w").transducer
    for latest in (False, True):
        assert len(set(comparable_states(transducer, latest=latest))) == transducer.states


def test_states_that_one_string_reaches_are_kin() -> None:
    transducer = compile_text("(A AS x ; B AS y) OR (ANY AS u ; C AS v)").transducer
    names = comparable_states(transducer, latest=False)
    assert len(set(names)) < transducer.states
