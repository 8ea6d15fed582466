"""The declarative evaluator on the paper's examples (SRA paper, sections 3 to 6) and on what the paper leaves open."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from ostinato.core.expression_interpreter import satisfies
from ostinato.core.expressions import CURRENT, TRUE, Attribute, Call, Literal
from ostinato.errors import DataError
from ostinato.patterns.semantics.srem import accepts, detect, infer
from ostinato.patterns.syntax.srem.nodes import EMPTY, EPSILON, Star, Test
from ostinato.patterns.syntax.srem.parse import parse

Row = dict[str, Any]

# Table 1
SENSORS = [
    {"type": kind, "id": sensor, "value": value}
    for kind, sensor, value in [("T", 1, 22), ("T", 1, 24), ("T", 2, 32), ("H", 1, 70), ("H", 1, 68), ("T", 2, 33)]
]
E1 = "[type = 'T'] -> r1 . true* . [type = 'H' AND id = r1.id]"  # (2)
E2 = "([type = 'T' AND value < -40] -> r1 | [type = 'T' AND value > 50] -> r1) . [type = 'T' AND id = r1.id]"  # (4)
E3 = f"true* . {E1}"  # (5), without its window


def in_language(text: str, rows: list[Row]) -> bool:
    return accepts(parse(text).expression, rows)


def found(text: str, rows: list[Row], time: str | None = None) -> list[tuple[int, int]]:
    return detect(parse(text), rows, time=time)


def values(*numbers: float | None) -> list[Row]:
    return [{"v": number} for number in numbers]


def letters(text: str) -> list[Row]:
    return [{"type": letter} for letter in text]


# The paper's examples -------------------------------------------------------------------------------------------------


def test_example_3_8_conditions() -> None:
    same_id = Call("=", (Attribute(CURRENT, "id"), Attribute("r1", "id")))
    assert satisfies(same_id, SENSORS[3], {"r1": SENSORS[0]})
    assert not satisfies(same_id, SENSORS[2], {"r1": SENSORS[0]})
    assert satisfies(TRUE, SENSORS[0], {})


def test_example_3_15() -> None:
    assert in_language(E1, SENSORS[:4])
    assert in_language(E1, SENSORS[:5])
    assert not in_language(E1, SENSORS[:3])
    assert not in_language(E1, SENSORS)
    # e1 infers the valuation in which r1 holds the first event
    assert infer(parse(E1).expression, SENSORS[:4], ()) == {(("r1", 0),)}


def test_example_5_2() -> None:
    def readings(*pairs: tuple[int, int]) -> list[Row]:
        return [{"type": "T", "id": sensor, "value": value} for sensor, value in pairs]

    assert in_language(E2, readings((1, -41), (1, 10)))
    assert in_language(E2, readings((1, 51), (1, 10)))
    assert not in_language(E2, readings((1, 50), (1, 10)))
    assert not in_language(E2, readings((1, 51), (2, 10)))


@pytest.mark.parametrize(
    ("width", "ends"),
    [(1, []), (2, [(2, 3)]), (3, [(2, 3), (1, 3), (2, 4)]), (4, [(0, 3), (1, 3), (1, 4), (2, 3), (2, 4)])],
)
def test_example_5_14(width: int, ends: list[tuple[int, int]]) -> None:
    rows = [{"type": kind, "id": 1} for kind in "TTTHH"]
    assert found(f"{E3} WITHIN {width} EVENTS", rows) == sorted(ends, key=lambda match: (match[1], match[0]))


def test_section_6_contiguous_letters() -> None:
    assert found("[type = 'a'] . [type = 'b']", letters("abcabc")) == [(0, 1), (3, 4)]


def test_figure_8_two_elements_of_one_type() -> None:
    text = "true* . true -> r . true* . [type = r.type] . true*"
    assert in_language(text, letters("abca"))
    assert not in_language(text, letters("abcd"))


def test_figure_9_a_before_b_with_the_same_identifier() -> None:
    text = "true* . [type = 'a'] -> r . true* . [type = 'b' AND id = r.id] . true*"
    rows = [{"type": kind, "id": number} for kind, number in [("b", 1), ("a", 1), ("a", 2), ("b", 2), ("b", 3)]]
    assert in_language(text, rows)
    assert not in_language(text, rows[:3])
    assert not in_language(text, [*rows[:3], rows[4]])


# Definition 3.13, case by case ----------------------------------------------------------------------------------------


def test_epsilon_and_the_empty_language() -> None:
    assert accepts(EPSILON, [])
    assert not accepts(EPSILON, values(1))
    assert not accepts(EMPTY, [])
    assert not accepts(EMPTY, values(1))
    assert accepts(Star(EMPTY), [])
    assert accepts(Star(EPSILON), [])


def test_a_test_reads_one_event() -> None:
    assert in_language("[v = 1]", values(1))
    assert not in_language("[v = 1]", values(2))
    assert not in_language("[v = 1]", values(1, 1))
    assert not in_language("[v = 1]", [])


def test_repetition() -> None:
    for count in range(4):
        rows = values(*[1] * count)
        assert in_language("[v = 1]*", rows)
        assert in_language("[v = 1]+", rows) is (count > 0)
        assert in_language("[v = 1]?", rows) is (count < 2)


def test_a_register_is_overwritten_in_a_loop() -> None:
    rising = "true -> r . ([v > r.v] -> r)+"
    assert in_language(rising, values(1, 2, 5))
    assert not in_language(rising, values(1, 5, 2))
    assert in_language("true -> r . ([v > r.v])+", values(1, 5, 2))  # here r keeps the first


def test_one_round_reads_what_the_round_before_it_wrote() -> None:
    sawtooth = "([v = 0] -> r | [v > r.v] -> r)*"
    assert in_language(sawtooth, values(0, 1, 2, 0, 5))
    assert not in_language(sawtooth, values(0, 2, 1))
    assert not in_language(sawtooth, values(1, 2))


def test_several_registers_hold_the_same_event() -> None:
    text = "true -> a, b . [v > a.v] -> a . [v > a.v AND v < b.v + 10]"
    assert in_language(text, values(1, 2, 3))
    assert not in_language(text, values(1, 2, 11))


@pytest.mark.parametrize("test", ["r.v = 1", "r.v IS NULL", "NOT r.v = 1", "v = 1 OR r.v = 1", "coalesce(r.v, 1) = 1"])
def test_a_test_on_an_unwritten_register_is_not_satisfied(test: str) -> None:
    assert not in_language(f"([v = 5] -> r)? . [{test}]", values(1))
    assert in_language("([v = 5] -> r)? . [v = 1]", values(1))


def test_nulls_satisfy_no_comparison() -> None:
    assert not in_language("true -> r . [v = r.v]", values(None, None))
    assert not in_language("true -> r . [v != r.v]", values(None, 1))
    assert in_language("true -> r . [r.v IS NULL AND v = 1]", values(None, 1))
    assert not in_language("[v = 1]", [{}])


def test_values_that_do_not_compare_are_named() -> None:
    with pytest.raises(DataError, match=r"`v > r\.v` does not fit"):
        in_language("true -> r . [v > r.v]", [{"v": "a"}, {"v": 1}])


# Detection ------------------------------------------------------------------------------------------------------------


def test_every_start_and_end_is_reported_by_end() -> None:
    assert found(E1, SENSORS) == [(0, 3), (1, 3), (0, 4), (1, 4)]
    assert found("true . true?", values(1, 2, 3)) == [(0, 0), (0, 1), (1, 1), (1, 2), (2, 2)]


def test_empty_segments_are_not_reported() -> None:
    assert found("true*", []) == []
    assert found("[v = 9]*", values(1, 2)) == []


def test_windows() -> None:
    rows = [{"v": 1, "ts": second, "n": second * 10} for second in (0, 1, 5)]
    both = "true . true"
    assert found(f"{both} WITHIN 2 EVENTS", rows) == [(0, 1), (1, 2)]
    assert found(f"{both} WITHIN 1 EVENTS", rows) == []
    assert found(f"{both} WITHIN 1 second", rows, time="ts") == [(0, 1)]
    assert found(f"{both} WITHIN 4 seconds", rows, time="ts") == [(0, 1), (1, 2)]
    assert found(f"{both} WITHIN 39 ON n", rows) == [(0, 1)]
    assert found(f"{both} WITHIN 40 ON n", rows) == [(0, 1), (1, 2)]


def test_times_may_be_timestamps() -> None:
    rows = [{"ts": datetime(2026, 1, 1, 0, minute)} for minute in (0, 1, 3)]
    assert found("true . true WITHIN 1 minute", rows, time="ts") == [(0, 1)]


def test_a_time_window_needs_a_time() -> None:
    with pytest.raises(DataError, match="time column"):
        found("true WITHIN 1 second", values(1))


def test_partitions_have_their_own_neighbours_and_counts() -> None:
    rows = [{"k": key, "v": v} for key, v in [(1, 1), (2, 1), (1, 2), (None, 1), (2, 2), (None, 2)]]
    rise = "true -> r . [v > r.v]"
    assert found(f"{rise} PARTITION BY k", rows) == [(0, 2), (1, 4), (3, 5)]
    assert found(f"{rise} PARTITION BY k WITHIN 2 EVENTS", rows) == [(0, 2), (1, 4), (3, 5)]
    assert found(f"{rise} PARTITION BY k, v", rows) == []


def test_nan_is_one_partition() -> None:
    rows = [{"k": float("nan")}, {"k": float("nan")}]
    assert found("true . true PARTITION BY k", rows) == [(0, 1)]


def test_a_literal_that_is_not_a_truth_value_is_never_satisfied() -> None:
    assert not accepts(Test(Literal(None)), values(1))
