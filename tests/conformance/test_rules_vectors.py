"""The paper's program on the paper's stream (CERA paper, Figure 1 and section 4.2), by the declarative evaluator."""

from __future__ import annotations

import json
from pathlib import Path

from generators_rules import events_of
from ostinato.lang.rules import parse
from ostinato.plan.rules_check import check
from ostinato.plan.rules_normal import normalise
from ostinato.plan.rules_strata import stratify
from ostinato.semantics.rules import derived, fixpoint

VECTOR = json.loads((Path(__file__).parents[1] / "vectors" / "rules.json").read_text())


def test_the_intended_model_is_the_papers() -> None:
    program = parse(VECTOR["program"])
    check(program)
    strata = [[rule for group in groups for rule in group.rules] for groups in stratify(normalise(program)).strata]
    incoming, expected = events_of(VECTOR["events"]), events_of(VECTOR["derived"])
    assert derived(strata, incoming, ticks_per_second=1) == expected
    assert fixpoint(strata, incoming, ticks_per_second=1) == incoming | expected  # M1
