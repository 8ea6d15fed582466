"""From expressions to automata and back: Theorems 5.1 and 5.6, Lemmas 5.3 and 5.5, Examples 5.2 and 5.14."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ostinato.core.expressions import CURRENT, FALSE, TRUE, Attribute, Call, Literal
from ostinato.errors import LimitError
from ostinato.patterns.sra import explore
from ostinato.patterns.sra.automaton import Automaton, SraRule
from ostinato.patterns.sra.definite_registers import make_registers_definite
from ostinato.patterns.sra.epsilon import eliminate_epsilon
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.sra.live_registers import drop_idle_writes, live_registers
from ostinato.patterns.sra.single_write import after_writing, free_register, single_register
from ostinato.patterns.sra.to_srem import concat, either, star
from ostinato.patterns.sra.trim import trim
from ostinato.patterns.syntax.srem import nodes as n
from ostinato.patterns.syntax.srem.parse import parse

Row = dict[str, Any]

E1 = "[type = 'T'] -> r1 . true* . [type = 'H' AND id = r1.id]"
E2 = "([type = 'T' AND value < -40] -> r1 | [type = 'T' AND value > 50] -> r1) . [type = 'T' AND id = r1.id]"


def built(text: str, window: int | None = None) -> Automaton:
    return build_sra(parse(text).expression, window)


def values(*numbers: int | None) -> list[Row]:
    return [{"v": number} for number in numbers]


# Theorem 5.1 and Lemma 5.3 --------------------------------------------------------------------------------------------


def test_figure_1() -> None:
    assert str(eliminate_epsilon(built(E1))) == (
        "states 0 … 2, start 0, final [2], registers r1\n"
        "  0 --[type = 'T'] ↓ r1--> 1\n"
        "  1 --[TRUE]--> 1\n"
        "  1 --[type = 'H' AND id = r1.id]--> 2"
    )


def test_figure_3_basic_automata_joined_by_epsilons() -> None:
    automaton = built(E2)
    assert [(rule.source, rule.target) for rule in automaton.rules] == [(2, 3), (4, 5), (6, 7)]
    assert set(automaton.epsilons) == {(0, 2), (0, 4), (3, 1), (5, 1), (1, 6)}
    assert automaton.registers == {"r1"}
    assert (automaton.start, automaton.final) == (0, frozenset({7}))


def test_example_5_2_without_epsilons() -> None:
    assert str(eliminate_epsilon(built(E2))) == (
        "states 0 … 2, start 0, final [2], registers r1\n"
        "  0 --[type = 'T' AND value < -40] ↓ r1--> 1\n"
        "  0 --[type = 'T' AND value > 50] ↓ r1--> 1\n"
        "  1 --[type = 'T' AND id = r1.id]--> 2"
    )


def test_figure_4a() -> None:
    assert [str(rule) for rule in eliminate_epsilon(built(f"true* . {E1}", 3)).rules] == [
        "0 --[TRUE]--> 0",
        "0 --[type = 'T'] ↓ r1--> 1",
        "1 --[TRUE]--> 1",
        "1 --[type = 'H' AND id = r1.id]--> 2",
    ]


def test_a_window_is_kept() -> None:
    for form in (eliminate_epsilon, make_registers_definite, single_register):
        assert form(built("true -> r, s . [r.v = s.v]", 7)).window == 7


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("true{2}", {2}),
        ("true{2,}", {2, 3, 4, 5, 6}),
        ("true{,2}", {0, 1, 2}),
        ("true{2,4}", {2, 3, 4}),
        ("(true{2}){1,2}", {2, 4}),
        ("(true?){2,3}", {0, 1, 2, 3}),
        ("(true . true){2,}", {4, 6}),
    ],
)
def test_counted_rounds(text: str, lengths: set[int]) -> None:
    automaton = built(text)
    assert {length for length in range(7) if automaton.accepts(values(*[None] * length))} == lengths


def test_a_counted_loop_costs_what_its_rounds_cost() -> None:
    automaton = make_registers_definite(built("true{1,2000}"))
    assert (automaton.states, len(automaton.rules)) == (2_001, 2_000)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("(true?){2,90}", "true{0,90}"),
        ("((true?){0,3}){4,5}", "(true{1,3}){0,5}"),
        ("([v = 1]* | [v = 2] | ()){3}", "([v = 1]+ | [v = 2]){0,3}"),
        ("(()){2,}", "()"),
        ("([v = 1]+?){2,}", "[v = 1]*"),
        ("([v = 1]? . [v = 2]?){2,90}", "([v = 1] . [v = 2]? | [v = 2]){0,90}"),
    ],
)
def test_empty_rounds_are_not_built(text: str, same: str) -> None:
    assert str(eliminate_epsilon(built(text))) == str(eliminate_epsilon(built(same)))


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("((true{1,200}){1,200}){1,200}", "automaton_states=100,000"),
        ("true{1,999999999999}", "automaton_states=100,000"),
        ("true{1,25000}", "automaton_transitions=20,000"),
        (" . ".join(["true?"] * 3000), "automaton_steps=3,000,000"),
    ],
)
def test_counted_loops_too_large_are_refused(text: str, limit: str) -> None:
    with pytest.raises(LimitError, match=f"too large .limit {limit}") as refused:
        make_registers_definite(built(text))
    assert refused.value.fix == "let loops count to less, or use + or * and bound it by WITHIN … EVENTS"


def test_epsilon_loops_end() -> None:
    automaton = eliminate_epsilon(built("((()*)*)* . (true*)*"))
    assert str(automaton) == "states 0 … 0, start 0, final [0]\n  0 --[TRUE]--> 0"


# Smaller automata -----------------------------------------------------------------------------------------------------


def test_useless_states_and_rules_go() -> None:
    rules = (SraRule(2, 1), SraRule(2, 3), SraRule(0, 1), SraRule(1, 1, FALSE), SraRule(3, 3))
    assert trim(Automaton(4, 2, frozenset({1}), rules)) == Automaton(2, 0, frozenset({1}), (SraRule(0, 1),))


def test_only_states_that_behave_alike_are_merged() -> None:
    same = Automaton(4, 0, frozenset({3}), (SraRule(0, 1), SraRule(0, 2), SraRule(1, 3), SraRule(2, 3)))
    assert trim(same).states == 3
    writes = replace(same, rules=(*same.rules[:3], SraRule(2, 3, TRUE, ("r",))))
    assert trim(writes).states == 4


def test_long_chains_are_merged_quickly() -> None:
    width = 3_000
    one = [SraRule(state, state + 1) for state in range(width)]
    other = [SraRule(0, width + 1), *(SraRule(state, state + 1) for state in range(width + 1, 2 * width - 1))]
    both = Automaton(2 * width, 0, frozenset({width, 2 * width - 1}), (*one, *other))
    assert trim(both).states == width + 1


def test_registers_live_until_their_last_read() -> None:
    automaton = eliminate_epsilon(built("true -> r . true -> s . [v = r.v] . [v = s.v] -> r . true"))
    assert live_registers(automaton) == tuple(map(frozenset, ("", "r", "rs", "s", "", "")))
    assert [rule.writes for rule in drop_idle_writes(automaton).rules] == [("r",), ("s",), (), (), ()]


def test_a_register_that_is_overwritten_first_is_not_live() -> None:
    automaton = eliminate_epsilon(built("true -> r . true -> r . [v = r.v]"))
    assert [rule.writes for rule in drop_idle_writes(automaton).rules] == [(), ("r",), ()]


def test_definite_states_know_what_is_written() -> None:
    assert str(make_registers_definite(built("([v = 1] -> r | [v = 2] -> s) . ([v = r.v] | [v = s.v])"))) == (
        "states 0 … 3, start 0, final [3], registers r, s\n"
        "  0 --[v = 1] ↓ r--> 1\n"
        "  0 --[v = 2] ↓ s--> 2\n"
        "  1 --[v = r.v]--> 3\n"
        "  2 --[v = s.v]--> 3"
    )


def test_growth_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "MAX_STATES", 1_000)
    registers = [f"r{index}" for index in range(12)]
    writes = " | ".join(f"[v = {index}] -> {name}" for index, name in enumerate(registers))
    reads = " AND ".join(f"{name}.v = 1" for name in registers)
    with pytest.raises(LimitError, match="states=1,000"):
        make_registers_definite(built(f"({writes})* . [{reads}]"))


# Lemma 5.5 ------------------------------------------------------------------------------------------------------------


def test_appendix_10_3_partitions() -> None:
    partition = (frozenset({"r1", "r3"}), frozenset({"r2"}), frozenset({"r4"}), frozenset[str]())
    writes = frozenset({"r1", "r2", "r3"})
    assert free_register(partition, writes) == 0
    assert after_writing(partition, 0, writes) == (writes, frozenset(), frozenset({"r4"}), frozenset())


def test_one_write_per_rule() -> None:
    automaton = built("true -> a, b . [v > a.v] -> a . [v > a.v AND v < b.v + 10]")
    single = automaton.single_register()
    assert [len(rule.writes) for rule in single.rules] == [1, 1, 0]
    assert len(single.registers) == 2
    for numbers in [(1, 2, 3), (1, 2, 11), (2, 1, 3), (1, None, 3)]:
        assert single.accepts(values(*numbers)) == automaton.accepts(values(*numbers))


def test_registers_that_hold_nothing_stay_empty() -> None:
    automaton = built("([v = 1] -> a, b | [v = 2] -> a) . [v = b.v]")
    single = automaton.single_register()
    assert single.accepts(values(1, 1))
    assert not single.accepts(values(2, 2))


def test_a_single_register_automaton_stays_as_it_is() -> None:
    automaton = built(E1)
    assert automaton.single_register() is automaton


# Theorem 5.6 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        E1,
        E2,
        f"true* . {E1}",
        "true -> r . ([value > r.value] -> r)+",
        "[a = 1]*",
        "[a = 1]+",
        "[a = 1]?",
        "()",
        "[FALSE]",
        "([a = 1] . [b = 2])*",
        "true -> r, s . [r.v = s.v]",
    ],
)
def test_small_expressions_come_back_as_they_were(text: str) -> None:
    assert n.to_text(built(text).to_srem()) == text


def test_a_window_becomes_lengths() -> None:
    back = built("[a = 1]*", 2).to_srem()
    assert n.to_text(back) == "([a = 1] . [a = 1]?)?"


def test_what_is_never_read_is_not_stored() -> None:
    rise = built("true -> r . ([v > r.v] -> r)+", 3)
    assert n.to_text(rise.to_srem()) == "true -> r . [v > r.v] -> r . [v > r.v]?"
    assert n.to_text(rise.determinise().to_srem()) == "true -> e1 . [v > e1.v] -> e1 . [v > e1.v]?"
    assert n.to_text(built("true -> r . true -> s . [v = s.v]").to_srem()) == "true . true -> s . [v = s.v]"


def test_no_branch_reads_what_it_has_not_written() -> None:
    """Only then is the text of the expression a pattern."""
    back = n.to_text(built("([v > 1]+ | [v > 2] -> r) . [v = r.v]").to_srem())
    assert back == "[v > 2] -> r . [v = r.v]"
    parse(back)


def test_expressions_too_long_to_read_are_refused() -> None:
    with pytest.raises(LimitError, match="expression of this automaton is too long"):
        built("([a = 1] . [b = 1])* | [c = 1]*", 500).to_srem()


A, B = (
    n.Test(Call("=", (Attribute(CURRENT, "v"), Literal(1)))),
    n.Test(Call("=", (Attribute(CURRENT, "v"), Literal(2)))),
)


def test_simplifications() -> None:
    assert concat(A, n.EPSILON, concat(B, A)) == n.Concat((A, B, A))
    assert concat(A, n.EMPTY) == n.EMPTY
    assert concat() == n.EPSILON
    assert concat(A, n.Star(A)) == n.Plus(A)
    assert concat(B, n.Star(A)) == n.Concat((B, n.Star(A)))
    assert either(A, n.EMPTY, A) == A
    assert either(n.EPSILON, A) == n.Either((A, n.EPSILON))
    assert either(n.Plus(A), n.EPSILON) == n.Star(A)
    assert either(n.EPSILON, n.Star(A), B) == n.Either((n.Star(A), B))
    assert either(n.EMPTY, n.EMPTY) == n.EMPTY
    assert star(n.EMPTY) == star(n.EPSILON) == n.EPSILON
    assert star(n.Either((n.Star(A), n.EPSILON, n.Plus(B)))) == n.Star(n.Either((A, B)))
