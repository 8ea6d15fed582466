"""Forecasts by the clock, against exact cases and against chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ostinato.forecast.chain.completion_times import completion_times, seconds_ahead
from ostinato.forecast.chain.intervals import forecasts
from ostinato.forecast.chain.product import Product, product
from ostinato.forecast.chain.waiting import waiting_times
from ostinato.forecast.learn.gaps import Gaps, count_gaps
from ostinato.forecast.learn.suffix_tree import SuffixTree
from ostinato.forecast.symbols.automaton import SymbolAutomaton

HORIZON = 40
AB = SymbolAutomaton(np.array([[1, 0], [1, 0]], np.int32), np.array([[0, 0], [0, 1]], bool))
TREE = SuffixTree(
    ((), (0,), (1,), (0, 0), (1, 0)),
    np.array([[0.3, 0.7], [0.6, 0.4], [0.3, 0.7], [0.75, 0.25], [0.1, 0.9]]),
    np.ones(5),
)
CHAIN = product(AB, TREE, max_states=100)
ONE = np.ones(CHAIN.states, np.float32)  # the horizon leaves nothing out

Draw = Callable[[np.random.Generator, np.ndarray], np.ndarray]


def learned(draw: Draw, events: int = 50_000) -> Gaps:
    rng = np.random.default_rng(3)
    symbols = rng.integers(0, 2, events).astype(np.int32)
    return count_gaps(symbols, None, np.cumsum(draw(rng, symbols)), 2)


def simulated(chain: Product, start: int, draw: Draw, runs: int = 4000) -> np.ndarray:
    """Times of the next completion, by chance."""
    rng = np.random.default_rng(start)
    state, clock, done = np.full(runs, start), np.zeros(runs), np.full(runs, np.inf)
    running = np.arange(runs)
    while len(running):
        symbol = (rng.random(len(running)) >= chain.probability[state[running], 0]).astype(np.int32)
        clock[running] += draw(rng, symbol)
        ends = chain.completes[state[running], symbol]
        done[running[ends]] = clock[running[ends]]
        state[running] = chain.next[state[running], symbol]
        running = running[~ends]
    return done


@pytest.mark.parametrize("gap", [0.25, 1.0, 7.3])
@pytest.mark.parametrize("max_bytes", [1 << 27, 4 * CHAIN.states * (HORIZON + 5)])
def test_constant_gaps_are_exact(gap: float, max_bytes: int) -> None:
    """Seconds are events times the gap, in a fine grid as in a coarse one."""
    ticks = 1.7e9 + np.arange(100, dtype=np.float64) * gap
    gaps = count_gaps(np.arange(100, dtype=np.int32) % 2, None, ticks, 2)
    waiting = waiting_times(CHAIN, HORIZON)
    times = completion_times(CHAIN, gaps, HORIZON, max_bytes=max_bytes)
    for threshold in (0.3, 0.5, 0.9):
        events = forecasts(waiting, threshold)
        seconds = seconds_ahead(times, events.probability, threshold)
        assert seconds.earliest == pytest.approx(events.earliest * gap, rel=1e-6)
        assert seconds.latest == pytest.approx(events.latest * gap, rel=1e-6)
        assert seconds.mass == pytest.approx(events.mass, rel=1e-5)
    median = (np.cumsum(waiting, axis=1) < waiting.sum(axis=1, keepdims=True) / 2).sum(axis=1) + 1
    assert seconds.point == pytest.approx(median * gap, rel=1e-6)


CLOCKS: dict[str, Draw] = {
    "exponential, by symbol": lambda rng, symbols: rng.exponential(np.where(symbols == 0, 1.0, 4.0)),
    "lognormal": lambda rng, symbols: rng.lognormal(np.where(symbols == 0, 0.0, 1.0), 1.0),
    "many at once": lambda rng, symbols: np.where(
        rng.random(len(symbols)) < 0.4, 0.0, rng.exponential(5.0, len(symbols))
    ),
    "sessions": lambda rng, symbols: rng.exponential(np.where(rng.random(len(symbols)) < 0.03, 3600.0, 5.0)),
}


@pytest.mark.parametrize("clock", CLOCKS)
def test_times_are_those_of_a_simulation(clock: str) -> None:
    draw = CLOCKS[clock]
    found = completion_times(CHAIN, learned(draw), 50)
    assert (np.diff(found.times) > 0).all()
    spans = {threshold: seconds_ahead(found, ONE, threshold) for threshold in (0.5, 0.9)}
    for state in range(CHAIN.states):
        times = np.sort(simulated(CHAIN, state, draw))
        below = np.searchsorted(times, found.times + found.slack, side="right") / len(times)
        assert np.abs(np.cumsum(found.mass[state]) - below).max() < 0.03
        for threshold, span in spans.items():
            inside = (span.earliest[state] <= times) & (times <= span.latest[state])
            assert threshold - 0.03 < inside.mean() < threshold + 0.06
            assert np.mean(times <= span.point[state]) == pytest.approx(0.5, abs=0.06)


def test_rare_long_gaps_do_not_blur_the_near_future() -> None:
    """A mean gap of two minutes, but half of the completions are within half a minute."""
    found = completion_times(CHAIN, learned(CLOCKS["sessions"]), 50)
    assert found.slack[0] < 1 and found.times[-1] > 3600
    assert np.nanmax(seconds_ahead(found, ONE, 0.5).latest) < 60


def test_probabilities_stay_within_1() -> None:
    for draw in CLOCKS.values():
        found = completion_times(CHAIN, learned(draw, 2000), 300)
        assert found.mass.min() >= 0 and found.mass.sum(axis=1, dtype=np.float64).max() <= 1


def test_where_all_comes_at_once_it_takes_no_time() -> None:
    gaps = count_gaps(np.zeros(10, np.int32), None, np.full(10, 3.0), 2)
    seconds = seconds_ahead(completion_times(CHAIN, gaps, HORIZON), ONE, 0.5)
    assert not seconds.point.any() and not seconds.earliest.any() and not seconds.latest.any()


def test_without_gaps_there_is_no_forecast() -> None:
    gaps = count_gaps(np.zeros(1, np.int32), None, np.zeros(1), 2)
    seconds = seconds_ahead(completion_times(CHAIN, gaps, HORIZON), ONE, 0.5)
    assert np.isnan(seconds.point).all() and np.isnan(seconds.earliest).all()


def test_what_is_not_likely_enough_in_time_is_no_forecast() -> None:
    gaps = learned(CLOCKS["lognormal"], 2000)
    seconds = seconds_ahead(completion_times(CHAIN, gaps, 2), ONE, 0.9)
    assert np.isnan(seconds.earliest).any() and not np.isnan(seconds.point).any()


def test_what_lies_beyond_the_horizon_is_left_out() -> None:
    """Of what comes after 2 events nothing is promised, however long the time looked at is."""
    gaps = count_gaps(np.arange(100, dtype=np.int32) % 2, None, np.arange(100.0), 2)
    times = completion_times(CHAIN, gaps, HORIZON)
    near = forecasts(waiting_times(CHAIN, 2), 0.5)
    seconds = seconds_ahead(times, near.probability, 0.5)
    assert np.isnan(seconds.earliest).tolist() == (near.earliest == 0).tolist()
    made = near.earliest > 0
    assert made.any() and not made.all()
    assert (seconds.latest[made] <= 2).all() and (seconds.point <= 2).all()
    assert seconds.mass[made] == pytest.approx(near.mass[made], rel=1e-5)


def test_a_gap_may_depend_on_the_symbol_before_it() -> None:
    """After `a` the next event takes 100 seconds, after `b` 1, whatever it is."""
    rng = np.random.default_rng(5)
    symbols = rng.integers(0, 2, 5000).astype(np.int32)
    ticks = np.cumsum(np.where(np.concatenate([[1], symbols[:-1]]) == 0, 100.0, 1.0))
    gaps = count_gaps(symbols, None, ticks, 2)
    assert gaps.kinds.remembered == (0,)  # the rest is after `b`
    coin = SuffixTree(((),), np.array([[0.5, 0.5]]), np.ones(1))  # knows no context, but states tell the last symbol
    chain = product(AB, coin, max_states=10, remembered=gaps.kinds.remembered)
    times = completion_times(chain, gaps, 10)
    seconds = seconds_ahead(times, np.ones(chain.states, np.float32), 0.45)
    for last, soonest in ((0, 100.0), (-1, 101.0)):
        place = int(np.flatnonzero(chain.last == last)[0])
        slack = times.slack[np.searchsorted(times.times, soonest)]
        assert seconds.earliest[place] >= soonest - 3 * slack and seconds.latest[place] <= soonest + 4 + 3 * slack
        before = times.times < soonest - 3 * slack
        assert times.mass[place][before].sum() < 0.01
