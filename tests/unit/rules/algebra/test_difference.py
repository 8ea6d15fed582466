"""Finite differencing (Figure 11) of each operator."""

from __future__ import annotations

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.difference import difference
from ostinato.rules.algebra.format import format_node
from ostinato.rules.syntax import nodes as n

SCHEMA = cera.RelationSchema(("i",), ("i",), ("X",))
P, Q = cera.Point("p", SCHEMA), cera.Point("q", SCHEMA)
TIMER = cera.TimerStream(n.RelativeTimer("t", "from-end", "i", n.Duration(10**9, "1 sec")))


def test_a_join_has_a_delta_query_for_each_side() -> None:
    assert format_node(difference(cera.Join(P, Q))) == "(Δp ⋈ (◦∪Δ)q) ∪ (◦p ⋈ Δq)"


def test_a_join_with_a_timer_follows_its_event() -> None:
    assert format_node(difference(cera.Join(P, TIMER))) == "Δp ⋈ X[ t: from-end[i, 1 sec] ](E)"


def test_windows_change_only_when_they_end() -> None:
    assert format_node(difference(cera.TemporalJoin("i", "j", P, Q))) == "Δp ⋈_{i⊒j} (◦∪Δ)q"
    assert format_node(difference(cera.AntiJoin("i", "j", P, Q))) == "Δp ▷_{i⊒j} (◦∪Δ)q"


def test_other_operators_pass_it_on() -> None:
    assert format_node(difference(cera.Project((), P))).endswith("Δp)")
    renamed = cera.Rename((("j", "i"),), (), Q)
    assert format_node(difference(cera.Join(P, renamed))) == "(Δp ⋈ ρ[j ← i]((◦∪Δ)q)) ∪ (◦p ⋈ ρ[j ← i](Δq))"
