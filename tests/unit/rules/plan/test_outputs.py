"""PRIVATE and output limits: what all rules of a label must agree on, and what a limit may go by."""

from __future__ import annotations

import pytest

import ostinato as ost
from support.query_errors import refusal

ON = "ON event e: b {{ x {{ var X }}, y {{ var Y }} }} END"


def test_private_labels_are_read_and_not_shown() -> None:
    rules = ost.rules(f"PRIVATE DETECT p {{ x {{ var X }} }} {ON} DETECT q {{ }} ON event e: p {{{{ }}}} END")
    assert (rules.derived, rules.private, rules.warnings) == (["q"], ["p"], [])
    answer = rules.detect([{"ts": 1, "type": "b", "x": 1, "y": 2}])
    assert answer.to_pylist() == [{"type": "q", "begin": 1, "end": 1}]
    assert "private: p" in rules.explain()


def test_a_private_label_may_clash_with_shown_ones() -> None:
    """They share no column of the answer."""
    text = f"PRIVATE DETECT p {{ v {{ 'text' }} }} {ON} DETECT q {{ v {{ var X }} }} {ON}"
    assert ost.rules(text).detect([{"ts": 1, "type": "b", "x": 1, "y": 2}])["v"].to_pylist() == [1]


def test_a_program_of_private_rules() -> None:
    rules = ost.rules(f"PRIVATE DETECT p {{ x {{ var X }} }} {ON}")
    assert rules.warnings == ["`p` is private, and no rule reads it"]
    rows = [{"ts": 1, "type": "b", "x": 1, "y": 2}]
    engine = rules.engine()
    assert (len(rules.detect(rows)), len(engine.push(rows)), len(engine.flush())) == (0, 0, 0)


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        (
            f"PRIVATE DETECT p {{ }} {ON} DETECT p {{ 1 }} {ON}",
            "rule 1 says that `p` is private",
            "p { 1 }",
        ),
        (
            f"DETECT p {{ 1 }} {ON} PRIVATE DETECT p {{ }} {ON}",
            "rule 2 says that `p` is private",
            "p { 1 }",
        ),
        (f"PRIVATE DETECT p {{ }} at most 1 per 1 min {ON}", "nothing to limit", "at most 1 per 1 min"),
        (f"DETECT p {{ }} at most 0 per 1 min {ON}", "a whole number of events", "0"),
        (f"DETECT p {{ }} at most 1.5 per 1 min {ON}", "a whole number of events", "1.5"),
        (f"DETECT p {{ }} at most 1 per 0 min {ON}", "needs a duration", "at most 1 per 0 min"),
        (f"DETECT p {{ }} at most 1 per 1 min per var X {ON}", "goes by `var X`", "at most 1 per 1 min per var X"),
        (
            f"DETECT p {{ x {{ var X + 1 }} }} at most 1 per 1 min per var X {ON}",
            "goes by `var X`",
            "at most 1 per 1 min per var X",
        ),
        (f"DETECT p {{ x {{ var X }} }} at most 1 per 1 min per var X, var X {ON}", "listed twice", "var X"),
        (
            f"DETECT p {{ }} at most 1 per 1 min {ON} DETECT p {{ 1 }} {ON}",
            "rules 1 and 2 set different limits",
            "p { 1 }",
        ),
        (
            f"DETECT p {{ 1 }} {ON} DETECT p {{ }} at most 1 per 1 min {ON}",
            "set different limits",
            "at most 1 per 1 min",
        ),
        (
            f"DETECT p {{ x {{ var X }}, y {{ var Y }} }} at most 1 per 1 min per var X {ON} "
            f"DETECT p {{ x {{ var X }}, y {{ var Y }} }} at most 1 per 1 min per var Y {ON}",
            "set different limits",
            "at most 1 per 1 min per var Y",
        ),
    ],
)
def test_refused(text: str, reason: str, place: str) -> None:
    found, where, fix = refusal(lambda: ost.rules(text), text)
    assert reason in found and where == place and fix


def test_rules_of_a_label_may_call_the_key_otherwise() -> None:
    one = f"DETECT p {{ x {{ var X }} }} at most 1 per 1 min per var X {ON}"
    other = f"DETECT p {{ x {{ var Y }} }} at most 1 per 60 sec per var Y {ON}"
    rows = [{"ts": ts, "type": "b", "x": 1, "y": 2} for ts in (0, 30, 60)]
    assert ost.rules(f"{one} {other}").detect(rows).select(["end", "x"]).to_pylist() == [
        {"end": 0, "x": 1},
        {"end": 0, "x": 2},
        {"end": 60, "x": 1},
        {"end": 60, "x": 2},
    ]
