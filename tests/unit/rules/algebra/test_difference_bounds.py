"""What the conditions of a rule imply about the distance of its times."""

from __future__ import annotations

from math import inf

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.difference_bounds import DifferenceBounds, annotate_joins
from ostinato.rules.algebra.time_relations import SECOND
from ostinato.rules.algebra.translate import translate
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.syntax.parse import parse


def bounded(body: str, longest: float = inf) -> tuple[cera.Construct, DifferenceBounds]:
    (rule,) = normalise(parse(f"DETECT x {{ }} ON {body} END"))
    node = translate(rule)
    return node, DifferenceBounds(node, rule.where, lambda _: longest)


PAIR = "and { event i: a {{ }}, event j: b {{ }} }"


def test_within_bounds_both_ways() -> None:
    _, bounds = bounded(f"{PAIR} where {{ {{i, j}} within 5 sec }}")
    assert bounds.most(("j", "end"), ("i", "begin")) == 5 * SECOND
    assert bounds.most(("i", "end"), ("j", "begin")) == 5 * SECOND
    assert bounds.longest(cera.Merge(("i", "j"), cera.Point("p", cera.RelationSchema((), (), ())))) == 5 * SECOND


def test_only_what_must_hold_bounds() -> None:
    _, bounds = bounded(f"{PAIR} where {{ i before j or {{i, j}} within 5 sec }}")
    assert bounds.most(("j", "end"), ("i", "begin")) == inf


def test_bounds_add_up_over_timers() -> None:
    body = (
        "and { event i: a {{ }}, event t: timer:from-end [event i, 3 sec],"
        " event u: timer:shift-forward [event t, 2 sec] }"
    )
    _, bounds = bounded(body)
    assert bounds.most(("u", "end"), ("i", "end")) == 5 * SECOND
    assert bounds.most(("u", "end"), ("i", "begin")) == inf
    _, bounds = bounded(body, longest=SECOND)
    assert bounds.most(("u", "end"), ("i", "begin")) == 6 * SECOND


def test_contradictions_are_found() -> None:
    assert bounded(f"{PAIR} where {{ i before j, j before i }}")[1].contradictory
    assert not bounded(f"{PAIR} where {{ i before j }}")[1].contradictory


def test_joins_are_annotated_with_the_nearest_times() -> None:
    node, bounds = bounded(f"{PAIR} where {{ i meets j, {{j}} within 4 sec }}")
    (join,) = [each for each in cera.walk(annotate_joins(node, bounds)) if isinstance(each, cera.Join)]
    assert join.near == cera.Near(("i", "end"), ("j", "begin"), 0, 0)
    assert join.keep_left == (cera.RelevanceBound("j", ((("i", "end"), 4 * SECOND),)),)
