"""What events do to the youngest runs of a pattern, and the automaton of these outcomes."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.errors import LimitError
from ostinato.forecast.symbols.outcomes import NO_RUN, AgeTable, OutcomeTable, explore_outcomes

# Two states; a run begins in the first, moves on to the second, and expires there when it is older than 2.
BEFORE = np.array([[NO_RUN, NO_RUN], [0, NO_RUN], [NO_RUN, 1], [NO_RUN, 2]], np.int64)
AFTER = np.array([[0, NO_RUN], [NO_RUN, 1], [NO_RUN, 2], [NO_RUN, NO_RUN]], np.int64)
COMPLETES = np.array([False, False, True, False])
STEPS = np.ones(4, np.int32)


def table() -> OutcomeTable:
    found = OutcomeTable()
    assert found.encode(BEFORE, AFTER, COMPLETES, STEPS, 2).tolist() == [0, 1, 2, 3]
    return found


def test_the_same_outcome_has_the_same_number() -> None:
    known = table().known
    again = OutcomeTable(known)
    assert again.encode(BEFORE[::-1], AFTER[::-1], COMPLETES[::-1], STEPS, 2).tolist() == [3, 2, 1, 0]
    assert again.known == known


def test_the_automaton_follows_the_ages() -> None:
    found = explore_outcomes(table().known, 2, 2, 10)
    assert found.state_by_ages is not None
    state = found.start
    for outcome, ages in enumerate(AFTER.tolist()):
        assert bool(found.completes[state, outcome]) == COMPLETES[outcome]
        state = int(found.next[state, outcome])
        assert found.state_by_ages[tuple(ages)] == state
    assert state == found.start, "the run has expired"
    assert found.next[found.start].tolist()[1:] == [-1, -1, -1], "without a run these outcomes are impossible"


def test_what_was_never_observed_leads_nowhere() -> None:
    found = explore_outcomes([*table().known, None], 2, 2, 10)
    assert (found.next[:, -1] == -1).all() and not found.completes[:, -1].any()


def test_too_many_ages_are_refused() -> None:
    with pytest.raises(LimitError, match="2 parts of the pattern"):
        explore_outcomes(table().known, 2, 2, 2)


def test_ages_are_numbered() -> None:
    ages = AgeTable()
    assert ages.encode(AFTER).tolist() == [0, 1, 2, 3] and ages.encode(AFTER[2:]).tolist() == [2, 3]
    assert ages.known == [tuple(row) for row in AFTER.tolist()]
