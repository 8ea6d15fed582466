"""The kernel that joins two halves of a window: eviction, flips, reclaimed nodes, and the same without compilation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ostinato
from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.compile import compile_text
from ostinato.patterns.kernels import protocol
from ostinato.patterns.kernels import window_events as window
from ostinato.patterns.kernels import window_halves as halves
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.batches import Events
from ostinato.patterns.runtime.matcher import Matcher, Scope
from ostinato.patterns.runtime.ranked import Ranked
from ostinato.patterns.runtime.replay import Replayed

LETTERS = "ABCDE"
NONE = np.zeros(0, np.int64)


def matcher(text: str, width: int, kind: type[Matcher] = Ranked) -> Matcher:
    """Code i is an event of the i-th type."""
    compiled = compile_text(f"{text} WITHIN {width} EVENTS")
    conditions = compiled.conditions
    machine = compiled.machine(lambda code: tuple(c.relation in (None, LETTERS[code]) for c in conditions))
    tables = StepTables(machine, max_states=1000)
    scope = Scope(protocol.EVENT_WINDOW, width, protocol.CONSUME_NONE, Limits())
    if kind is Ranked:
        return Ranked(tables, scope, latest=compiled.query.strategy == "LAST")
    return Replayed(tables, scope)


def read(reader: Matcher, text: str, keys: list[int] | None = None, at: int = 0) -> list[tuple[int, ...]]:
    """The positions of all matches; one event per letter."""
    codes = np.array([LETTERS.index(letter) for letter in text], np.int32)
    of_keys = np.array(keys or [], np.int32)
    events = Events(codes, of_keys, max(keys or [0]) + 1, NONE, at, NONE, NONE)
    return [
        tuple((chunk.values[begin:end] >> protocol.SYMBOL_BITS).tolist())
        for chunk in reader.run(events)
        for begin, end in zip(chunk.offsets[:-1], chunk.offsets[1:], strict=True)
    ]


def some_letters(seed: int, count: int) -> str:
    return "".join(np.random.default_rng(seed).choice(list(LETTERS), count).tolist())


def test_a_window_is_flipped_only_when_something_may_complete() -> None:
    reader = matcher("SELECT NXT * WHERE A AS x ; B AS y", 4)
    assert isinstance(reader, Ranked)
    assert read(reader, "AAAA") == [] and reader.state.key_config[0] > 0
    assert read(reader, "A", at=4) == [] and reader.state.key_config[0] == halves.STALE
    assert read(reader, "B", at=5) == [(2, 5)] and reader.state.key_config[0] != halves.STALE
    state = reader.state
    openings = [state.records[record, halves.OPENING] for record in (int(state.heads[0]), int(state.tails[0]))]
    assert openings[0] != protocol.NIL and openings[1] == protocol.NIL


def test_a_window_that_empties_starts_afresh() -> None:
    reader = matcher("SELECT LAST * WHERE A AS x ; B AS y", 3)
    assert isinstance(reader, Ranked)
    assert read(reader, "ADDDD") == []
    assert read(reader, "B", at=5) == []
    assert reader.state.heads[0] == reader.state.tails[0] and reader.live == 1


@pytest.mark.parametrize("strategy", ["NXT", "LAST"])
@pytest.mark.parametrize(
    "pattern", ["A AS x ; B AS y ; C AS z", "((A AS x)+ ; B AS y)+ ; C AS z", "(ANY AS x)+ : A AS y"]
)
def test_room_runs_out_at_any_moment(strategy: str, pattern: str) -> None:
    """With the smallest arrays every request of the kernel comes up; what it found must not change."""
    text = f"SELECT {strategy} * WHERE {pattern}"
    letters = some_letters(3, 400)
    small, large = matcher(text, 23), matcher(text, 23, Replayed)
    assert isinstance(small, Ranked)
    state = small.state
    state.update(nodes=state.nodes[:4].copy(), marks=state.marks[:1].copy(), records=state.records[:1].copy())
    keys = np.random.default_rng(4).integers(0, 3, 400).tolist()
    assert read(small, letters, keys) == read(large, letters, keys) != []


@pytest.mark.parametrize("strategy", ["NXT", "LAST"])
def test_collecting_keeps_exactly_what_lists_hold(strategy: str) -> None:
    reader = matcher(f"SELECT {strategy} * WHERE (A AS x)+ ; (B AS y)+ ; C AS z", 50)
    assert isinstance(reader, Ranked) and reader.joins is not None
    read(reader, some_letters(5, 1000))
    reader.compact(protocol.FOREVER)
    slots = reader.joins.back.placed[reader.state.key_config[0]].slots
    held = {int(node) for node in reader.state.back.slots[0][list(slots)]}
    record = int(reader.state.heads[0])
    while record >= 0 and reader.state.records[record, halves.OPENING] != protocol.NIL:
        held |= {int(node) for node in reader.state.records[record, halves.LISTS :] if node >= 0}
        record = int(reader.state.records[record, window.NEXT])
    reached = set(held)
    for node in sorted(held, reverse=True):
        while node >= 0:
            reached.add(node)
            node = int(reader.state.nodes[4 * node + 1])
    assert reached == set(range(int(reader.state.cursor[protocol.USED])))
    again = reader.state.cursor[protocol.USED]
    reader.compact(protocol.FOREVER)
    assert reader.state.cursor[protocol.USED] == again


@pytest.mark.slow
def test_without_compilation_the_answer_is_the_same() -> None:
    text, letters = "SELECT LAST * WHERE (A AS x)+ ; B AS y ; C AS z", some_letters(6, 120)
    script = (
        f"import sys; sys.path[:0] = [{str(Path(__file__).parent)!r}]\n"
        f"from test_ranked import matcher, read\nprint(read(matcher({text!r}, 17), {letters!r}))"
    )
    paths = {"PYTHONPATH": str(Path(ostinato.__file__).parents[1]), "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | paths, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(read(matcher(text, 17), letters)) != "[]"
