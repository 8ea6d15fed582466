"""Event rules at random: their text says the same, their strata are found, and time is preserved."""

from __future__ import annotations

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ostinato.rules.plan.check import check_program
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.semantics.fixpoint import derived_events, fixpoint
from ostinato.rules.syntax.format import program_text
from ostinato.rules.syntax.nodes import PeriodicTimer
from ostinato.rules.syntax.parse import parse
from support.generators.rules import FUNCTIONS, Strata, cases, events_of, program, programs
from support.generators.terms import Row

pytestmark = pytest.mark.slow

Case = tuple[Strata, list[Row]]


def _periodic(strata: Strata) -> set[str]:
    timers = (timer for rules in strata for rule in rules for timer in rule.timers)
    return {timer.kind for timer in timers if isinstance(timer, PeriodicTimer)}


@settings(max_examples=40)
@given(programs() | programs(nested=True) | cases(functions=True).map(lambda case: case[0]))
def test_random_programs_are_legal_and_can_be_written(strata: Strata) -> None:
    whole = program(strata)
    check_program(whole)
    rules = [rule for each in strata for rule in each]
    assert list(normalise(whole)) == rules
    assert list(normalise(parse(program_text(whole), FUNCTIONS))) == rules


@settings(max_examples=40)
@given(cases() | cases(nested=True))
def test_the_strata_that_are_found_mean_the_same(case: Case) -> None:
    strata, rows = case
    rules = [rule for each in strata for rule in each]
    found = [[rule for group in groups for rule in group.rules] for groups in stratify(rules).strata]
    events = events_of(rows)
    assert fixpoint(found, events, ticks_per_second=1) == fixpoint(strata, events, ticks_per_second=1)


@settings(max_examples=40)
@given(cases() | cases(nested=True))
def test_the_fixpoint_is_a_model(case: Case) -> None:
    """Definition 0.8: it holds what came in, and no rule of any stratum makes anything that it does not hold.

    But for periodic timers, which last as long as what comes in.
    """
    strata, rows = case
    assume(not _periodic(strata))
    events = events_of(rows)
    model = fixpoint(strata, events, ticks_per_second=1)
    assert events <= model
    assert not derived_events([[rule for rules in strata for rule in rules]], model, ticks_per_second=1)


@settings(max_examples=30)
@given(cases() | cases(nested=True), st.integers(0, 70))
def test_temporal_preservation(case: Case, now: int) -> None:
    """Theorem 0.1: what has happened until now follows from what has come in until now.

    That time has come to now is an event too, by which periodic timers go off.
    """
    strata, rows = case
    events = events_of([*rows, {"type": "z", "begin": now, "end": now}])
    until = [event for event in events if event.end <= now]
    early = {event for event in derived_events(strata, until, ticks_per_second=1) if event.end <= now}
    assert {event for event in derived_events(strata, events, ticks_per_second=1) if event.end <= now} == early


@settings(max_examples=40)
@given(cases())
def test_ticks_are_only_a_scale(case: Case) -> None:
    """But where windows end a tick before the next."""
    strata, rows = case
    assume("tumbling" not in _periodic(strata))
    seconds = derived_events(strata, events_of(rows), ticks_per_second=1)
    finer = derived_events(strata, events_of(rows, 1_000), ticks_per_second=1_000)
    assert {(event.begin * 1_000, event.end * 1_000, event.term) for event in seconds} == {
        (event.begin, event.end, event.term) for event in finer
    }
