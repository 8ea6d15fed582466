from __future__ import annotations

import numpy as np
import pytest

from ostinato.forecast.learn.ground_truth import Truth, completions, seconds_until, waits
from ostinato.forecast.score.scores import count_outcomes


def test_a_key_waits_for_its_own_next_completion() -> None:
    completes = np.array([0, 0, 1, 1, 0, 0], np.bool_)
    keys = np.array([0, 1, 0, 1, 0, 1], np.int32)
    wait, later, length = waits(completes, keys)
    assert wait.tolist() == [1, 1, 0, 0, 0, 0]
    assert later.tolist() == [2, 2, 1, 1, 0, 0] and length.tolist() == [3, 3]


def test_an_event_that_completes_waits_for_the_one_after_it() -> None:
    wait, later, _ = waits(np.array([1, 0, 1, 0], np.bool_), None)
    assert wait.tolist() == [2, 1, 0, 0] and later.tolist() == [3, 2, 1, 0]


def test_no_events() -> None:
    wait, later, _ = waits(np.empty(0, np.bool_), np.empty(0, np.int32))
    assert len(wait) == len(later) == 0
    assert Truth(wait, later).weights(3).tolist() == [[1, 1, 1, 1]]


def test_completions_by_the_tables_of_an_automaton_go_on_with_the_next_batch() -> None:
    after = np.array([[1, 0], [1, 0]], np.int32)  # a then b
    completes = np.array([[0, 0], [0, 1]], np.bool_)
    symbols = np.array([0, 0, 1, 1, 1, 0], np.int32)
    keys = np.array([0, 1, 0, 1, 1, 0], np.int32)
    states = np.zeros(2, np.int32)
    whole = completions(after, completes, symbols, keys, states)
    assert whole.tolist() == [False, False, True, True, False, False] and states.tolist() == [1, 0]
    states = np.zeros(2, np.int32)
    parts = [completions(after, completes, symbols[part], keys[part], states) for part in (slice(2), slice(2, None))]
    assert np.concatenate(parts).tolist() == whole.tolist()


def test_where_no_key_ends_early_every_event_counts_once() -> None:
    truth = Truth(np.array([3, 2, 1, 0], np.int32), np.array([9, 8, 7, 6], np.int32))
    assert truth.weights(5).tolist() == [[1] * 6]


def test_known_events_count_for_those_that_are_not() -> None:
    # Four events: one ends unseen at once, one completes 1 ahead, one ends after 1, one goes on for 5.
    truth = Truth(np.array([0, 1, 0, 0], np.int32), np.array([0, 4, 1, 5], np.int32))
    # 3 of 4 go on for 1 event; of the 2 that are left after it, 1 goes on.
    assert truth.weights(3)[0] == pytest.approx([1, 4 / 3, 8 / 3, 8 / 3])
    assert truth.weights(7)[0, 6:].tolist() == [0, 0]


@pytest.mark.parametrize("length", [8, 40, 2000])
def test_the_rate_is_right_even_when_keys_are_short(length: int) -> None:
    rng = np.random.default_rng(1)
    events, rate, within = 400_000, 0.1, 7
    keys = (np.arange(events) // length).astype(np.int32)
    truth = Truth.of(rng.random(events) < rate, keys)
    found = count_outcomes(np.ones(1), np.zeros(events, np.int32), truth, within)
    assert found.rate == pytest.approx(1 - (1 - rate) ** within, abs=0.01)


def test_events_that_are_near_the_end_of_their_key_by_their_nature_are_not_stood_for_by_others() -> None:
    """Early in a key nothing completes, late in it much: who is followed to the end is not like who is not."""
    rng = np.random.default_rng(2)
    keys, places = np.repeat(np.arange(20_000, dtype=np.int32), 12), np.tile(np.arange(12), 20_000)
    truth = Truth.of((rng.random(len(keys)) < 0.4) & (places > 3), keys)
    states = np.minimum(places, 4).astype(np.int32)
    found = count_outcomes(np.linspace(0, 1, 5), states, truth, 3)
    rates = found.positives / (found.positives + found.negatives)
    assert rates == pytest.approx([0, 0.4, 0.64, 0.784, 0.784], abs=0.015)
    assert found.total == pytest.approx(9 * 20_000)  # of the last three events of a key nothing is known


def test_strata_go_by_the_number_of_events_before() -> None:
    truth = Truth.of(np.zeros(100, np.bool_))
    assert truth.strata[:33].tolist() == list(range(33)) and (np.diff(truth.strata.astype(int)) >= 0).all()
    assert truth.strata.max() < 40
    later = Truth.of(np.zeros(60, np.bool_), None, np.array([40], np.int32))
    assert later.strata.tolist() == truth.strata[40:].tolist()
    assert truth.part(40, 100).later.tolist() == later.later.tolist()


def test_nothing_is_told_where_hardly_any_key_goes_on_so_long() -> None:
    # 100 keys of 2 events, and 3 of 9.
    lengths = np.array([2] * 100 + [9] * 3)
    truth = Truth.of(np.zeros(lengths.sum(), np.bool_), np.repeat(np.arange(103, dtype=np.int32), lengths))
    weights = truth.weights(8)
    assert weights[0, 1] == 1 and weights[0, 2] == 0 and weights[2, 6] == 1 and weights[2, 7] == 0
    many = Truth(truth.wait, truth.later, np.full(len(truth), 100), truth.strata)
    assert many.weights(8)[0, 2] == pytest.approx(103 / 3)


def test_a_key_that_ends_with_its_completion_is_known_to_the_end() -> None:
    completes = np.zeros(30, np.bool_)
    completes[9::10] = True
    truth = Truth.of(completes, (np.arange(30) // 10).astype(np.int32))
    # Only the completing events themselves, after which nothing is known, are left out.
    assert truth.weights(5).tolist() == [[1] * 6] * 9 + [[1] + [0] * 5]
    assert truth.completions == 3


def test_seconds_until_the_completion_of_a_key() -> None:
    completes, keys = np.array([0, 0, 1, 1, 0], np.bool_), np.array([0, 1, 0, 1, 0], np.int32)
    found = seconds_until(completes, keys, np.array([1.0, 2.0, 4.0, 8.0, 16.0]))
    assert found.tolist()[:2] == [3.0, 6.0] and np.isnan(found[2:]).all()
