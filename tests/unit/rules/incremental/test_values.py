"""Values at the edges of 64 bits in every role: what the live engine codes alike must be equal, and nothing else."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.kernels.layout import FIRST_NULL
from ostinato.rules.plan.check import check_program
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.semantics.fixpoint import derived_events
from ostinato.rules.syntax.parse import parse
from ostinato.rules.terms.event import IntervalEvent
from support.derived import comparable_events, events_in
from support.generators.rules import events_of

LEAST, MOST, EXACT = -(2**63), 2**63 - 1, 2**53
WHOLE = [FIRST_NULL, FIRST_NULL - 1, LEAST, LEAST + 1, MOST, -1, 0, 1, EXACT, EXACT + 1, -EXACT - 1]
FLOATS = [float(FIRST_NULL), float(LEAST), -0.0, 0.0, 2.0**63, float(EXACT), 1.5, float("nan"), None]
SCHEMA = pa.schema([("type", pa.string()), ("begin", pa.int64()), ("end", pa.int64())])
SCHEMA = SCHEMA.append(pa.field("x", pa.int64())).append(pa.field("f", pa.float64()))
TICKS = 1_000_000  # of a second

PROGRAMS = {
    "heads": "DETECT d { x { var X }, f { var F } } ON event e: a {{ x { var X }, f { var F } }} END",
    "arithmetic": "DETECT d { p { var X + 1 }, m { var X - 1 }, n { -var X }, q { abs(var X) }, r { var X % 3 }, "
    "s { var X % 0 }, t { -7 % var X }, u { var X * -1 } } ON event e: a {{ x { var X } }} END",
    "rounding": "DETECT d { p { floor(var F) }, m { ceil(var F) }, n { round(var F) }, q { -var F } } "
    "ON event e: a {{ f { var F } }} END",
    "conditions": "DETECT d { x { var X }, f { var F } } ON and { event e: a {{ x { var X }, f { var F } }} } "
    "where { var X = var F or var X > 9223372036854775000 or var X <= -9223372036854775807 } END",
    "comparisons with constants": "DETECT d { x { var X } } ON event e: a {{ x { var X } }} "
    f"where {{ var X < 5, var X >= {FIRST_NULL} }} END",
    "join": "DETECT d { x { var X } } ON and { event e: a {{ x { var X } }}, event g: b {{ x { var X } }} } END",
    "join of floats": "DETECT d { f { var F } } "
    "ON and { event e: a {{ f { var F } }}, event g: b {{ f { var F } }} } END",
    "join of both": "DETECT d { x { var X } } "
    "ON and { event e: a {{ x { var X } }}, event g: b {{ f { var X } }} } END",
    "join of elements": "DETECT d { x { var X } } "
    "ON and { event e: a {{ x { var X } }}, event g: var B -> b {{ x { var X } }} } where { var B is not null } END",
    "missing": "DETECT d { f { var F } } ON event e: a {{ f { var F }, without x {{ }} }} END",
    "absence": "DETECT d { x { var X } } ON and { event e: a {{ x { var X } }}, "
    "event t: timer:from-end [ event e, 9 sec ], while t: not b {{ x { var X } }} } END",
    "collected": "DETECT d { n { count(all var X) }, s { sum(all var X) }, a { min(all var X) }, z { max(all var X) }, "
    "v { last(all var X) } } ON and { event e: b {{ }}, event t: timer:from-end-backward [ event e, 5 sec ], "
    "while t: collect a {{ x { var X } }} } END",
    "groups": "DETECT d { x { var X }, n { count(all var F) } } ON and { event e: b {{ x { var X } }}, "
    "event t: timer:from-end-backward [ event e, 9 sec ], while t: collect a {{ x { var X }, f { var F } }} } END",
    "choices": "DETECT d { x { coalesce(var X, 7) }, y { case when var X < 0 then var X else 0 - var X end } } "
    "ON event e: a {{ optional x { var X } }} END",
    **{
        f"constant {value}": f"DETECT d {{ f {{ var F }} }} ON event e: a {{{{ x {{ {value} }}, f {{ var F }} }}}} END"
        for value in (FIRST_NULL, LEAST + 1, MOST)
    },
}


def _rows(values: list[Any], floats: list[Any]) -> list[dict[str, Any]]:
    """Each value on both sides, the second ones in the other order."""
    count = len(values)
    made = [{"type": "a", "x": value, "f": floats[place % len(floats)]} for place, value in enumerate(values)]
    made += [{"type": "b", "x": value, "f": floats[-place % len(floats)]} for place, value in enumerate(values[::-1])]
    return [{"begin": 1 + place, "end": 1 + place, **row} for place, row in enumerate(made)] + [
        {"type": "a", "begin": 2 * count + 2, "end": 2 * count + 2, "x": None, "f": 1.0}
    ]


def _declared(text: str, rows: list[dict[str, Any]]) -> set[Any]:
    program = parse(text)
    check_program(program)
    strata = [[rule for group in groups for rule in group.rules] for groups in stratify(normalise(program)).strata]
    incoming = events_of([{name: row[name] for name in SCHEMA.names} for row in rows], TICKS)
    found = derived_events(strata, incoming, ticks_per_second=TICKS)
    return comparable_events(IntervalEvent(each.begin // TICKS, each.end // TICKS, each.term) for each in found)


def _live(text: str, rows: list[dict[str, Any]], size: int) -> set[Any]:
    engine = ostinato.rules(text).engine(schema=SCHEMA)
    found = []
    for first in range(0, len(rows), size):
        found.append(engine.push(rows[first : first + size]))
        engine = RuleEngine.restore(engine.snapshot())
    return comparable_events(events_in(pa.concat_tables([*found, engine.flush()])))


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_in_every_role(name: str) -> None:
    text = PROGRAMS[name]
    assert _declared(text, _rows(WHOLE, FLOATS)), "the case has answers"
    for rows in (_rows(WHOLE, FLOATS), _rows(WHOLE[:3], FLOATS[:2])):
        expected = _declared(text, rows)
        for size in (1, 5, len(rows)):
            assert _live(text, rows, size) == expected


MOMENT = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=FIRST_NULL)


@pytest.mark.parametrize("kind", [datetime, date], ids=lambda kind: kind.__name__)
def test_a_moment_in_1913_is_not_missing(kind: type) -> None:
    """FIRST_NULL microseconds before 1970."""
    at: date = MOMENT if kind is datetime else MOMENT.date()
    events = [
        {"type": "a", "ts": MOMENT, "at": at},
        {"type": "b", "ts": MOMENT + timedelta(seconds=1), "at": at},
        {"type": "b", "ts": MOMENT + timedelta(seconds=2), "at": None},
    ]
    rules = ostinato.rules(
        "DETECT same { at { var T }, first { begin(e) } } "
        "ON and { event e: a {{ at { var T } }}, event g: b {{ at { var T } }} } where { {e, g} within 1 second } END "
        "DETECT waited { n { count(all var T) } } ON and { event e: a {{ at { var T } }}, "
        "event t: timer:from-end [ event e, 1 second ], while t: collect b {{ at { var T } }} } END"
    )
    answers = [rules.detect(events)]
    for batches in ([events], [[event] for event in events]):
        engine = rules.engine()
        found = [engine.push(batch) for batch in batches]
        restored = RuleEngine.restore(engine.snapshot())
        answers.append(pa.concat_tables([*found, restored.flush()], promote_options="permissive"))
    assert [len(answer) for answer in answers] == [2, 2, 2]
    assert answers[0].to_pylist() == answers[1].to_pylist() == answers[2].to_pylist()


def test_null_has_another_code_whenever_a_value_has_it() -> None:
    engine = ostinato.rules(PROGRAMS["join"]).engine(schema=SCHEMA)
    for place in range(5):
        taken = engine._steps.interned.null
        row = {"begin": place, "end": place, "x": taken, "f": None}
        engine.push([{**row, "type": "a"}, {**row, "type": "b"}])
        assert engine._steps.interned.null != taken
    engine.flush()
    assert engine.stats().derived == 5
