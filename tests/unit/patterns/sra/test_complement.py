from __future__ import annotations

from itertools import product

import pytest

from ostinato.errors import OstinatoError
from ostinato.patterns.sra.automaton import Automaton
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.syntax.srem.parse import parse
from support.sra import is_deterministic

SAME_TYPE_TWICE = "true* . [true] -> r . true* . [type = r.type] . true*"  # Figure 8


def automaton(text: str, window: int | None = None) -> Automaton:
    return build_sra(parse(text).expression, window)


def test_figure_8_needs_a_window() -> None:
    """Theorem 5.10: that all types differ cannot be said without one."""
    with pytest.raises(OstinatoError, match=r"without a window cannot be complemented(.|\n)*5\.10") as caught:
        ~automaton(SAME_TYPE_TWICE)
    assert str(caught.value).endswith("\nfix: write ~a.determinise(window=n), or WITHIN n EVENTS in the pattern")
    a, n = automaton(SAME_TYPE_TWICE), 3
    assert (~a.determinise(window=n)).window == 3


def test_figure_8_within_a_window() -> None:
    """Algorithm 9: all strings of at most four events whose types all differ. NULL is not the same type as NULL."""
    original = automaton(SAME_TYPE_TWICE, window=4)
    result = ~original
    assert is_deterministic(result) and result.window == 4
    for length in range(6):
        for types in product(["a", "b", "c", "d", None], repeat=min(length, 4)):
            string = [{"type": name} for name in types] + [{"type": "e"}] * (length - 4)
            known = [name for name in types if name is not None]
            assert result.accepts(string) == (len(known) == len(set(known)) and length <= 4)


def test_the_dead_state_takes_what_no_rule_takes() -> None:
    result = ~automaton("[x = 1] . [x = 2]", window=3)
    assert [str(rule) for rule in result.rules] == [
        "0 --[x = 1]--> 1",
        "0 --[NOT is_true(x = 1)]--> 2",
        "1 --[x = 2]--> 3",
        "1 --[NOT is_true(x = 2)]--> 2",
        "2 --[TRUE]--> 2",
        "3 --[TRUE]--> 2",
    ]
    assert result.final == {0, 1, 2}
    assert result.accepts([{"x": 1}, {"x": 2}, {"x": 1}])
    assert not result.accepts([{"x": 1}, {"x": 2}])


def test_of_nothing_is_everything_and_back() -> None:
    everything = ~automaton("[FALSE]", window=2)
    assert everything.accepts([]) and everything.accepts([{}, {}]) and not everything.accepts([{}, {}, {}])
    assert (~everything).is_empty()


def test_twice_is_the_same_strings() -> None:
    original = automaton("[type = 'T'] -> r . true* . [type = 'H' and id = r.id]", window=4)
    again = ~~original
    for types in product(["T", "H"], repeat=3):
        for keys in product([1, 2], repeat=3):
            string = [{"type": name, "id": key} for name, key in zip(types, keys, strict=True)]
            assert again.accepts(string) == original.accepts(string)


def test_negation_inside_a_pattern() -> None:
    """T, then within three events no H of the same id: a complement is an automaton like any other."""
    no_heat = ~automaton("true* . [type = 'H'] . true*", window=3)
    pattern = automaton("[type = 'T']") + no_heat + automaton("[type = 'S']")
    t, h, s, x = ({"type": name} for name in "THSX")
    assert pattern.accepts([t, x, x, s])
    assert pattern.accepts([t, s])
    assert not pattern.accepts([t, x, h, s])
    assert not pattern.accepts([t, x, x, x, x, s])
