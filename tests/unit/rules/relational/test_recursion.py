"""Recursion runs in rounds to its fixpoint, each over what the last one derived."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unittest.mock import patch

import pytest

import ostinato
from ostinato import RuleLimits
from ostinato.errors import LimitError, OstinatoError
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.strata import stratify
from ostinato.rules.relational.recursion import _Rounds
from ostinato.rules.semantics.fixpoint import derived_events
from ostinato.rules.syntax.parse import parse
from support.generators.rules import events_of


def detect(text: str, rows: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ostinato.rules(text).detect(rows, **options).to_pylist()
    return found


def test_a_recursion_without_end_is_stopped() -> None:
    text = """DETECT n { v { var V } } ON event i: a {{ v {{ var V }} }} END
    DETECT n { v { var V + 1 } } ON event i: n {{ v {{ var V }} }} END"""
    said = r"recursion of n goes on making new events, 6 so far \(limit rounds=5\)\nfix: .*RuleLimits"
    with pytest.raises(LimitError, match=said):
        detect(text, [{"type": "a", "ts": 1, "v": 1}], limits=RuleLimits(rounds=5))


def test_a_recursion_that_passes_values_on_has_no_limit() -> None:
    chain = [{"type": "edge", "ts": n, "x": n, "y": n + 1} for n in range(40)]
    text = """DETECT far { x { var Y } } ON event e: edge {{ x { 0 }, y {{ var Y }} }} END
    DETECT far { x { var Y } }
    ON and { event f: far {{ x {{ var X }} }}, event e: edge {{ x {{ var X }}, y {{ var Y }} }} } END"""
    assert len(detect(text, chain, limits=RuleLimits(rounds=5))) == 40


def test_nor_has_one_live() -> None:
    text = """DETECT far { x { var Y } } ON event e: edge {{ x { 0 }, y {{ var Y }} }} END
    DETECT far { x { var %s } }
    ON and { event f: far {{ x {{ var X }} }}, event e: edge {{ x {{ var X }}, y {{ var Y }} }} } END"""
    chain = [{"type": "edge", "ts": 1, "x": n, "y": n + 1} for n in range(12)]
    engine = ostinato.rules(text % "Y").engine(limits=RuleLimits(rounds=5))
    engine.push(chain)
    assert len(engine.flush()) == 12
    engine = ostinato.rules(text % "X + 1").engine(limits=RuleLimits(rounds=5))
    engine.push(chain)
    with pytest.raises(LimitError, match=r"(?s)goes on making new events.*limit rounds=5.*RuleLimits"):
        engine.flush()
    with pytest.raises(OstinatoError, match="RuleLimits"):
        ostinato.rules(text % "Y").engine(limits=5)  # type: ignore[arg-type]


RECURSIONS = {
    "two labels": """
        DETECT odd { x { var Y } } ON event e: edge {{ x { 0 }, y {{ var Y }} }} END
        DETECT even { x { var Y } }
        ON and { event o: odd {{ x {{ var X }} }}, event e: edge {{ x {{ var X }}, y {{ var Y }} }} } END
        DETECT odd { x { var Y } }
        ON and { event o: even {{ x {{ var X }} }}, event e: edge {{ x {{ var X }}, y {{ var Y }} }} } END""",
    "with itself": """
        DETECT path { x { var X }, y { var Y } } ON event e: edge {{ x {{ var X }}, y {{ var Y }} }} END
        DETECT path { x { var X }, y { var Z } }
        ON and { event p: path {{ x {{ var X }}, y {{ var Y }} }}, event q: path {{ x {{ var Y }}, y {{ var Z }} }} }
        END""",
    "by two rules, and more that is complete": """
        DETECT seen { x { var Y } } ON event e: edge {{ x { 0 }, y {{ var Y }} }} END
        DETECT seen { x { var Y } }
        ON and { event s: seen {{ x {{ var X }} }}, event e: edge {{ x {{ var X }}, y {{ var Y }} }},
                 event t: timer:absolute [0, 99], while t: not edge {{ x {{ var X }}, y { 4 } }} } END
        DETECT seen { x { var X } }
        ON and { event s: seen {{ x {{ var Y }} }}, event e: edge {{ x {{ var X }}, y {{ var Y }} }} }
           where { {s, e} within 3 sec } END
        DETECT seen { x { var Y } }
        ON and { event s: seen {{ x {{ var X }} }}, event t: timer:absolute [0, 99],
                 while t: collect edge {{ x {{ var X }}, y {{ var Y }} }} } where { var X > 2 } END""",
    "of events that come in too": """
        DETECT edge { x { var X }, y { var Z } }
        ON and { event d: edge {{ x {{ var X }}, y {{ var Y }} }}, event t: step {{ x {{ var Y }}, y {{ var Z }} }} }
        END
        DETECT step { x { var Y }, y { var X } } ON event e: hop {{ x {{ var X }}, y {{ var Y }} }} END""",
    "collected": """
        DETECT path { x { var X }, y { var Y } } ON event e: edge {{ x {{ var X }}, y {{ var Y }} }} END
        DETECT path { x { var X }, y { var Z } }
        ON and { event e: edge {{ x {{ var X }}, y {{ var Y }} }}, event t: timer:absolute [0, 99],
                 while t: collect path {{ x {{ var Y }}, y {{ var Z }} }} } END""",
    "elements": """
        DETECT box { in { var E } } ON event e: edge {{ x { 0 }, var E -> y {{ }} }} END
        DETECT box { in { var E } }
        ON and { event b: box {{ desc y {{ var Y }} }}, event e: edge {{ x {{ var Y }}, var E -> y {{ }} }} } END""",
    "read afterwards": """
        DETECT path { x { var X }, y { var Y } } ON event e: edge {{ x {{ var X }}, y {{ var Y }} }} END
        DETECT path { x { var X }, y { var Z } }
        ON and { event p: path {{ x {{ var X }}, y {{ var Y }} }}, event e: edge {{ x {{ var Y }}, y {{ var Z }} }} }
        END
        DETECT ends { y { var Y } } ON event p: path {{ x { 0 }, y {{ var Y }} }} END
        DETECT count { n { count(all var Y) } }
        ON and { event t: timer:absolute [0, 99], while t: collect path {{ x {{ var X }}, y {{ var Y }} }} } END""",
}


@pytest.mark.parametrize("text", RECURSIONS.values(), ids=RECURSIONS)
def test_rounds_give_what_the_definitions_mean(text: str) -> None:
    pairs = [(0, 1), (1, 2), (2, 3), (3, 1), (2, 4), (7, 8)]
    rows = [{"type": "edge", "begin": n, "end": n, "x": x, "y": y} for n, (x, y) in enumerate(pairs)]
    rows += [{**row, "type": "hop"} for row in rows]
    groups = [group.rules for group in stratify(normalise(parse(text))).groups]
    meant = derived_events(groups, events_of(rows), ticks_per_second=1)
    shown = Counter((event.begin, event.end, event.term.label) for event in meant)
    for natively in (True, False):
        with patch("ostinato.rules.relational.recursion._Rounds.is_linear", natively and _Rounds.is_linear):
            found = detect(text, rows)
        known = {(row["begin"], row["end"], row["x"], row["y"]) for row in rows if row["type"] == "edge"}
        new = [row for row in found if (row["begin"], row["end"], row.get("x"), row.get("y")) not in known]
        assert (
            Counter((row["begin"], row["end"], row["type"]) for row in (found if "hop" not in text else new)) == shown
        )


def test_what_rules_derive_tells_more_than_a_column_without_values() -> None:
    text = """DETECT p { n { var X + 1 } } ON event r: q {{ n {{ var X }} }} where { var X < 3 } END
    DETECT p { n { var X } } ON event s: s {{ x {{ var X }} }} END
    DETECT q { n { var X } } ON event r: p {{ n {{ var X }} }} END"""
    found = detect(text, [{"type": "s", "ts": 1, "x": 1, "n": None}])
    assert sorted((each["type"], each["n"]) for each in found) == [(label, n) for label in "pq" for n in (1, 2, 3)]
