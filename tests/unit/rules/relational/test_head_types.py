"""Heads that calculate with aggregates: in SQL, in steps and by definition."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato
from ostinato.errors import QueryError
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.semantics.fixpoint import derived_events
from ostinato.rules.syntax.format import program_text
from ostinato.rules.syntax.parse import parse
from support.generators.rules import events_of

ROWS = [
    {"type": "a", "begin": n, "end": n, "k": k, "v": v}
    for n, (k, v) in enumerate((("x", 4), ("x", 10), ("y", 1), ("x", 4), ("y", None)))
] + [{"type": "z", "begin": 9, "end": 9, "k": "z", "v": 100}]
BODY = """ON and { event z: z {{ v {{ var Z }} }}, event i: timer:from-start-backward [event z, 9 sec],
                  while i: collect event w: a {{ k {{ var K }}, optional v {{ var V }} }} } END"""


def _made(head: str) -> list[dict[str, Any]]:
    text = f"DETECT d {{ {head} }} {BODY}"
    program = ostinato.rules(text)
    assert parse(program_text(program.program)) == program.program
    found = program.detect(ROWS)
    engine = program.engine()
    assert [*engine.push(ROWS).to_pylist(), *engine.flush().to_pylist()] == found.to_pylist()
    groups = [group.rules for group in stratify(normalise(program.program)).groups]
    assert len(derived_events(groups, events_of(ROWS), ticks_per_second=1)) == len(found)
    return [
        {name: value for name, value in row.items() if name not in ("type", "begin", "end")}
        for row in found.to_pylist()
    ]


@pytest.mark.parametrize(
    ("head", "made"),
    [
        ("m { sum(all var V) / count(all var V) }", [{"m": 19 / 4}]),
        ("m { max(all var V) - min(all var V) }", [{"m": 9}]),
        ("m { var Z - count(all var K) * 2 }", [{"m": 90}]),
        ("m { -sum(all var V) }", [{"m": -19}]),
        ("m { coalesce(sum(all var V), 0) + 1 }", [{"m": 20}]),
        ("m { sum(all var V) / (count(all var V) - 4) }", [{"m": None}]),
        ("k { var K }, m { round(avg(all var V) * 10, 1) }", [{"k": "x", "m": 60.0}, {"k": "y", "m": 10.0}]),
        (
            "all g { k { var K }, r { max(all var V) - min(all var V) } } group by {var K}",
            [{"g": [{"k": "x", "r": 6}, {"k": "y", "r": 0}]}],
        ),
        ("m { concat(first(all var K), last(all var K)) }", [{"m": "xy"}]),
    ],
)
def test_arithmetic_over_aggregates(head: str, made: list[dict[str, Any]]) -> None:
    assert _made(head) == made


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("m { sum(all var V) + 'x' }", "number"),
        ("m { sum(all var K) + 1 }", "sum needs numbers"),
        ("m { all sum(all var V) + 1 }", "is a single value"),
        ("m { sum(all count(all var V)) + 1 }", "cannot stand in an argument"),
        ("m { var X + sum(all var V) }", "not bound"),
    ],
)
def test_what_cannot_be_calculated(head: str, told: str) -> None:
    with pytest.raises(QueryError, match=told) as error:
        _made(head)
    assert "\0" not in str(error.value)
