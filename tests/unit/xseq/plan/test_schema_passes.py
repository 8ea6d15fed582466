from __future__ import annotations

import pytest

from ostinato.documents.schema.dtd import from_dtd
from ostinato.documents.schema.model import Schema
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.plan.schema_passes import optimise
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import query_text
from support.nested_words import element_word
from support.schema import check_letters

SIGMOD = from_dtd(
    """<!ELEMENT SigmodRecord (issue)*> <!ELEMENT issue (volume, number, articles)>
    <!ELEMENT volume (#PCDATA)> <!ELEMENT number (#PCDATA)> <!ELEMENT articles (article)*>
    <!ELEMENT article (title, authors)> <!ELEMENT title (#PCDATA)> <!ELEMENT authors (author)*>
    <!ELEMENT author (#PCDATA)> <!ATTLIST author position CDATA #IMPLIED>""",
    source="sigmod.dtd",
)


def smaller(query: str, schema: Schema | None = SIGMOD) -> tuple[str, list[str]]:
    found, notes = optimise(parse_and_check(query), schema)
    return query_text(found), [note.text for note in notes]


def test_the_prefix_of_the_paper() -> None:
    query, notes = smaller("//issue/articles/article/authors/author[text() = 'Alan Turing']")
    assert query == "//author[/text() = 'Alan Turing']"
    assert notes[-1].startswith("the prefix //issue/articles/article/authors was cut: every `author` stands there")
    assert "sigmod.dtd" in notes[-1]


@pytest.mark.parametrize(
    "query",
    [
        "return $I@p from //$I/articles//author where $I@p = 1",
        "//article[@p = '1']/authors/author",
        "return $X@position from //authors/$X partition by //authors/author@position",
    ],
)
def test_what_is_referred_to_is_not_cut(query: str) -> None:
    assert "cut" not in " ".join(smaller(query)[1])


def test_a_prefix_that_another_place_could_miss_is_not_cut() -> None:
    schema = from_dtd("<!ELEMENT r (a | b)*><!ELEMENT a (c)*><!ELEMENT b (c)*><!ELEMENT c EMPTY>")
    assert smaller("/r/a/c", schema)[0] == "//a/c", "only /r is implied"
    assert smaller("/r/*/c", schema)[0] == "//c"
    looped = from_dtd("<!ELEMENT r (a)><!ELEMENT a (a | c)*><!ELEMENT c EMPTY>", root="r")
    assert smaller("/r/a/c", looped)[0] == "/r/a/c", "an a may stand in an a"
    assert smaller("/r//a/c", looped)[0] == "//c"


def test_wildcards_and_descendants() -> None:
    query, notes = optimise(parse_and_check("return $X@position from //authors[author]/$X"), SIGMOD)
    step = query.path.parts[1]  # type: ignore[union-attr]
    assert isinstance(step, n.Step) and step.test == n.NodeTest(n.Kind.NAME, "author") and step.variable == "X"
    assert any("can only be `author`" in note.text for note in notes)
    path = optimise(parse_and_check("//issue[volume]//volume"), SIGMOD)[0].path
    assert path.parts[1].axis is n.Axis.CHILD  # type: ignore[union-attr]
    path = optimise(parse_and_check("//issue[volume]//author"), SIGMOD)[0].path
    assert path.parts[1].axis is n.Axis.DESCENDANT  # type: ignore[union-attr]


def test_branches_that_cannot_be() -> None:
    query, notes = smaller("//article[/title] (/title union /volume)")
    assert query == "//article[/title]/title"
    assert any(
        "`/volume` left out of the union: step `/volume`: from `article` nothing is reached" in note for note in notes
    )
    assert smaller("//article[/title] (/volume)*/title")[0] == "//article[/title]/title"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("//issue/author", "step `/author`: from `issue` nothing is reached"),
        ("//author \\title", "step `\\title`: from `author`"),
        ("//title/\\*", "from `title` nothing is reached"),
        ("//article[volume]", "predicates on it can never hold"),
        ("//author@name", "step `@name`: from `author`"),
        ("//authors title", "from `authors` nothing is reached"),
    ],
)
def test_queries_that_never_match(query: str, reason: str) -> None:
    found, notes = optimise(parse_and_check(query), SIGMOD)
    assert found == parse_and_check(query) and notes[-1].never
    assert reason in notes[-1].text and notes[-1].text.endswith("says sigmod.dtd")


def test_names_in_conditions_need_no_schema() -> None:
    query, notes = optimise(
        parse_and_check("return $X@p from //$X \\$Y where tag($X) = 'a' and 'b' = tag($Y) and $X@p > 1")
    )
    steps = query.path.parts  # type: ignore[union-attr]
    assert [(step.variable, step.test.name) for step in steps] == [("X", "a"), ("Y", "b")]  # type: ignore[union-attr]
    assert query.where == parse_and_check("return $X from //$X where $X@p > 1").where and len(notes) == 2


@pytest.mark.parametrize(
    "condition", ["tag($X) = '1'", "tag(first($X)) = 'a'", "tag($X) != 'a'", "tag($X) = 'a' or $X@p = 1"]
)
def test_conditions_that_stay(condition: str) -> None:
    query = parse_and_check(f"return $X@p from //$X where {condition}")
    assert optimise(query) == (query, ())


def test_attributes_of_namespaces_need_no_declaration() -> None:
    for query in ("//volume@xmlns", "//volume@xml:lang", "//volume@*"):
        assert not any(note.never for note in optimise(parse_and_check(query), SIGMOD)[1])
    word = element_word("SigmodRecord", {"xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance"})
    assert list(check_letters(word, SIGMOD)) == word
