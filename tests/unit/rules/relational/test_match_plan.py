"""Which query terms are projections, and which need the matcher of terms."""

from __future__ import annotations

import pyarrow as pa
import pytest

from ostinato.errors import QueryError
from ostinato.rules.algebra.nodes import Match
from ostinato.rules.relational.kinds import DOCUMENT, TERM, Attributes
from ostinato.rules.relational.match_plan import MatchPlan, plan_match
from ostinato.rules.syntax.nodes import EventQuery
from ostinato.rules.syntax.parse import parse

TYPES = Attributes.of(
    {"k": pa.string(), "n": pa.int64(), "tags": pa.list_(pa.string()), "src": pa.struct({"ip": pa.string()})}
)


def planned(term: str, attributes: Attributes = TYPES) -> MatchPlan:
    query = parse(f"DETECT x {{ }} ON event i: {term} END").rules[0].body
    assert isinstance(query, EventQuery)
    return plan_match(Match("i", query.term, query.term.label, query.bound), attributes)


@pytest.mark.parametrize(
    "term",
    ["a {{ k {{ var K }}, n {{ 3 }} }}", "a {{ src {{ ip {{ var I }} }} }}", "a [[ k {{ var K }}, n {{ var N }} ]]"],
)
def test_columns_and_fields_are_projections(term: str) -> None:
    found = planned(term)
    assert found.flat is not None and not found.referenced


@pytest.mark.parametrize(
    "term",
    [
        "a {{ tags {{ var T }} }}",
        "a {{ desc ip {{ var I }} }}",
        "var X -> a {{ }}",
        "a { k { var K } }",  # an empty list is absent too
        "a [[ n {{ var N }}, k {{ var K }} ]]",
    ],
)
def test_other_terms_need_the_matcher(term: str) -> None:
    assert planned(term).flat is None


def test_what_is_read_and_bound() -> None:
    found = planned("a {{ k {{ var K }}, n {{ 3 }}, src {{ ip {{ }} }} }}")
    assert found.reads == {"k", "n"}
    assert found.kinds == {"K": pa.string()}
    assert found.flat is not None
    assert set(found.flat.paths) == {("k",), ("n",), ("src",), ("src", "ip")}
    assert planned("a {{ var X -> tags {{ var T }} }}").kinds == {"X": TERM, "T": pa.string()}


def test_documents_hold_anything() -> None:
    documents = Attributes({DOCUMENT: TERM}, {DOCUMENT: "c0"})
    assert planned("a {{ nothing {{ var N }} }}", documents).kinds == {"N": TERM}


@pytest.mark.parametrize(
    ("term", "reason"),
    [
        ("a {{ kk {{ }} }}", "have no `kk`"),
        ("a {{ desc nobody {{ }} }}", "nothing in the events `a` has the label `nobody`"),
        ("a {{ n {{ k {{ }} }} }}", "`n` is a number: it has no `k` in it"),
        ('a {{ n {{ "3" }} }}', "`n` is a number, and '3' is not"),
        ("a {{ k {{ var X }}, n {{ var X }} }}", "`var X` would have to be a string and a number at once"),
    ],
)
def test_terms_that_can_match_nothing(term: str, reason: str) -> None:
    with pytest.raises(QueryError, match=reason):
        planned(term)
