"""How many events ahead the next completion is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ostinato
from ostinato.errors import LimitError
from ostinato.forecast.chain.product import product
from ostinato.forecast.chain.state_tracking import track
from ostinato.forecast.chain.waiting import waiting_times
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.symbols.automaton import SymbolAutomaton
from support.forecast import exact_waiting_times

A, B = 0, 1
# Figure 5a: a·b anywhere; Figure 5b, with the probabilities the text gives for aa and b.
AB = SymbolAutomaton(np.array([[1, 0], [1, 2], [1, 0]], np.int32), np.array([[0, 0], [0, 1], [0, 0]], bool))
FIGURE = SuffixTree(
    ((), (A,), (B,), (A, A), (B, A)),
    np.array([[0.6, 0.4], [0.7, 0.3], [0.5, 0.5], [0.75, 0.25], [0.1, 0.9]]),
    np.ones(5),
)


def test_the_worked_example_of_figure_5() -> None:
    found = product(AB, FIGURE, max_states=100)
    state = track(found.next, np.array([A, A], np.int32), None, np.zeros(1, np.int32))[-1]
    assert found.pattern[state] == 1
    assert waiting_times(found, 2)[state].tolist() == [0.25, 0.1875]


def test_one_symbol_that_completes_is_geometric() -> None:
    coin = product(
        SymbolAutomaton(np.zeros((1, 2), np.int32), np.array([[False, True]])),
        SuffixTree(((),), np.array([[0.9, 0.1]]), np.ones(1)),
        max_states=1,
    )
    expected = 0.1 * 0.9 ** np.arange(100)
    assert exact_waiting_times(coin, 100)[0] == pytest.approx(expected, rel=1e-12)
    stored = waiting_times(coin, 100)[0]
    assert stored == pytest.approx(expected, rel=2e-7) and (stored <= expected).all()


def test_a_shorter_horizon_is_a_beginning_of_a_longer_one() -> None:
    found = product(AB, FIGURE, max_states=100)
    longest = waiting_times(found, 50)
    for horizon in (1, 15, 16, 17, 33):
        assert (waiting_times(found, horizon) == longest[:, :horizon]).all()


def test_what_cannot_complete_waits_for_ever() -> None:
    never = SymbolAutomaton(np.zeros((1, 2), np.int32), np.zeros((1, 2), bool))
    assert not waiting_times(product(never, FIGURE, max_states=100), 20).any()


def test_too_much_memory_is_an_error_that_says_what_to_lower() -> None:
    found = product(AB, FIGURE, max_states=100)
    with pytest.raises(
        LimitError, match=r"6 states up to 1,000 events ahead take 24,000 bytes(.|\n)*lower the horizon"
    ):
        waiting_times(found, 1000, max_bytes=23_999)
    assert found.states == 6 and len(waiting_times(found, 1000, max_bytes=24_000)) == 6


@pytest.mark.slow
def test_the_kernels_do_the_same_without_compiling() -> None:
    paths = {"PYTHONPATH": str(Path(ostinato.__file__).parents[1]), "NUMBA_DISABLE_JIT": "1"}
    names = [f"{Path(__file__)}::{name}" for name in ("test_the_worked_example_of_figure_5",)]
    seconds = str(Path(__file__).parent / "test_completion_times.py") + "::test_constant_gaps_are_exact"
    run = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *names, seconds]
    done = subprocess.run(run, env=os.environ | paths, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
