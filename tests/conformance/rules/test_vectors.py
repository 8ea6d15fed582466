"""The paper's program on the paper's stream (CERA paper, Figure 1 and section 4.2), by the declarative evaluator."""

from __future__ import annotations

import json

from ostinato.rules.plan.check import check_program
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.semantics.fixpoint import derived_events, fixpoint
from ostinato.rules.syntax.parse import parse
from support import paths
from support.generators.rules import events_of

VECTOR = json.loads((paths.VECTORS / "rules.json").read_text())


def test_the_intended_model_is_the_papers() -> None:
    program = parse(VECTOR["program"])
    check_program(program)
    strata = [[rule for group in groups for rule in group.rules] for groups in stratify(normalise(program)).strata]
    incoming, expected = events_of(VECTOR["events"]), events_of(VECTOR["derived"])
    assert derived_events(strata, incoming, ticks_per_second=1) == expected
    assert fixpoint(strata, incoming, ticks_per_second=1) == incoming | expected  # M1
