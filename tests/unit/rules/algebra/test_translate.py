"""Rules as CERA expressions (Figure 8): what is matched, in which order, under which names."""

from __future__ import annotations

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.translate import translate
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.syntax.parse import parse


def translated(body: str) -> cera.Construct:
    (rule,) = normalise(parse(f"DETECT x {{ k {{ var K }} }} ON {body} END"))
    return translate(rule)


def matches(node: cera.Node) -> list[cera.Match]:
    return [each for each in cera.walk(node) if isinstance(each, cera.Match)]


def test_a_cel_query_is_a_stream_of_its_own() -> None:
    (match,) = matches(translated('event p: cel "SELECT a.k AS k WHERE A AS a" {{ k {{ var K }} }}'))
    assert match.stream == cera.CelStream("SELECT a.k AS k WHERE A AS a")


def test_a_label_that_looks_like_a_cel_query_is_a_label() -> None:
    (match,) = matches(translated("event i: `cel A AS a` {{ k {{ var K }} }}"))
    assert match.stream == "cel A AS a"


def test_what_while_collects_gets_a_fresh_name() -> None:
    body = (
        "and { event i: a {{ k {{ var K }} }}, event t: timer:from-end [event i, 1 sec],"
        " while t: collect a {{ v {{ var V }} }}, while t: not a {{ w {{ 1 }} }} }"
    )
    assert [match.ident for match in matches(translated(body))] == ["i", "a'", "a''"]


def test_events_bind_variables_of_the_trace_and_collections_do_not() -> None:
    body = (
        "and { event i: a {{ k {{ var K }} }}, event t: timer:from-end [event i, 1 sec],"
        " while t: collect event w: b {{ v {{ var V }} }} }"
    )
    node = translated(body)
    assert node.trace == {"K"}
    assert node.collected == (cera.Collected("w", True, frozenset({"V"})),)
    assert node.events == ("i", "t")
