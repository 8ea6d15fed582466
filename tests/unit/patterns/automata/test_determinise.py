"""Steps of the machines, and the tables that hold them."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.errors import LimitError
from ostinato.patterns.automata.determinise import AllMachine, ListMove, MaxMachine, OrderMachine, StrategyMachine
from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.compile import compile_text


def machine(text: str, letters: str = "ABCD") -> StrategyMachine:
    """Code i is an event of the i-th type."""
    compiled = compile_text(text)
    conditions = compiled.conditions
    return compiled.machine(lambda code: tuple(condition.relation in (None, letters[code]) for condition in conditions))


def test_reading_an_event_that_fits_nothing_moves_nothing() -> None:
    found = machine("A AS x ; B AS y")
    assert isinstance(found, AllMachine)
    after = found.step(found.initial, 0).config
    assert found.step(after, 2).config == after
    assert found.step(after, 2).moves == (ListMove(0, 0, 0),)


def test_the_final_state_is_not_kept_but_emitted() -> None:
    found = machine("A AS x ; B AS y")
    step = found.step(found.step(found.initial, 0).config, 1)
    assert step.emits == ((0, 1),) and len(step.config) == 2


def test_one_list_per_shown_output() -> None:
    found = machine("SELECT x WHERE (A AS x OR A AS y) ; B AS z WITHIN 5 EVENTS")
    step = found.step(found.initial, 0)
    assert sorted(move.symbol for move in step.moves) == [1, 2]  # x, and a first event that is not shown


def test_next_prefers_the_older_and_last_the_newer() -> None:
    for strategy, kept in (("NXT", 0), ("LAST", 1)):
        found = machine(f"SELECT {strategy} * WHERE A AS x ; B AS y")
        assert isinstance(found, OrderMachine)
        once = found.step(found.initial, 0).config
        (move,) = found.step(once, 0).moves
        assert move.symbol == kept  # 0: the waiting A stays; 1: the new A takes its place


def test_max_drops_what_is_beaten() -> None:
    found = machine("SELECT MAX * WHERE A AS x ; (B AS y)+ ; C AS z")
    assert isinstance(found, MaxMachine)
    config = found.step(found.initial, 0).config
    for _ in range(3):
        config = found.step(config, 1).config
    assert len(config) == 3  # nothing, A, and A with all B so far; every other set of B is beaten


def test_tables_keep_waiting_lists_in_their_slots() -> None:
    tables = StepTables(machine("A AS x ; B AS y ; C AS z"), max_states=100)
    tables.fill(0, 0)
    tables.fill(1, 1)
    assert tables.placed[1].slots == (0,)
    cell = tables.placed[2].config[1:].index(tables.placed[1].config[1])
    assert tables.placed[2].slots[cell] == 0


def test_tables_grow_with_codes_and_configurations() -> None:
    letters = "ABCDEFGHIJKLMNOP"
    tables = StepTables(machine("A AS x : B AS y : C AS z", letters), max_states=100)
    for code in range(len(letters)):
        for number in range(len(tables.placed)):
            tables.fill(number, code)
    entry = tables.entries[1 * tables.stride + 1]
    assert entry[0] == tables.index[tables.machine.step(tables.placed[1].config, 1).config]


def test_a_machine_that_grows_too_far_is_stopped() -> None:
    bomb = machine("A AS x : " + " : ".join(f"ANY AS a{n}" for n in range(12)) + " : B AS y")
    tables = StepTables(bomb, max_states=50)
    with pytest.raises(LimitError, match="states=50"):
        for number in range(51):
            tables.fill(number, 0)
            tables.fill(number, 1)


def test_the_order_of_matches_depends_on_their_window_only() -> None:
    """Not on the way in which the machine came to its configuration: several threads begin in several places."""
    query = ost.cel("(A AND A+ OR B ; A AND (A AS z FILTER z.v > 0)) WITHIN 4 EVENTS")
    events = [{"type": "A", "v": int(number > 2)} for number in range(8)]
    last = [places for places in query.detect(events)["positions"].to_pylist() if places[0] > 2]
    assert last == [[place + 3 for place in places] for places in query.detect(events[3:])["positions"].to_pylist()]
