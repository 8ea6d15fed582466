"""The evaluator over kept subtrees: what it keeps, what it finds, where it stops."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from ostinato import xseq
from ostinato.documents.xml.tokeniser import XmlSource
from ostinato.errors import LimitError
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.runtime.buffered.evaluator import BufferedEvaluator
from ostinato.xseq.runtime.buffered.tables import build_tree_tables
from ostinato.xseq.runtime.rows import MatchRows, assemble_tables
from ostinato.xseq.semantics.query import evaluate
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax.normal_form import normalise
from ostinato.xseq.syntax.variables import repeating_variables
from ostinato.xseq.walk.program import build_program
from support import paths

VECTORS = json.loads((paths.VECTORS / "xseq.json").read_text(encoding="utf-8"))


def evaluator(text: str, **options: Any) -> BufferedEvaluator:
    query = parse_and_check(text)
    program = build_program(normalise(query), repeating_variables(query))
    return BufferedEvaluator(build_tree_tables(program), **options)


def rows(text: str, document: str, chunk: int = 1 << 16, **options: Any) -> list[list[Any]]:
    made = evaluator(text, **options)
    padding = "<!-- -->" * 512  # more than a source reads at first: the rest comes in pieces
    source = XmlSource((padding + document).encode(), chunk_size=chunk)

    def blocks() -> Iterator[MatchRows]:
        while (tokens := source.read(made.keep_from)) is not None:
            yield from made.push(tokens, source.names)
        yield from made.finish()

    query = parse_and_check(text)
    program = build_program(normalise(query), repeating_variables(query))
    tables = assemble_tables(program, blocks(), made.limits, sort=True, whole=True)
    return [
        list(row) for table in tables for row in zip(*(column.to_pylist() for column in table.columns), strict=True)
    ]


@pytest.mark.parametrize("chunk", [1, 50, 1 << 16])
@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_vectors(case: dict[str, Any], chunk: int) -> None:
    found = rows(case["query"], VECTORS["documents"][case["document"]], chunk)
    if "rows" in case:
        assert found == case["rows"]
    else:
        assert sorted(found) == sorted(case["rows_any_order"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("//b/parent::a/@id", ["1", "2"]),
        ("//c/ancestor::*/@id", ["2"]),
        ("//c/preceding_sibling::b", ["<b>4</b>", "<b>5</b>"]),
        ("//a[b = 3]/@id", ["1"]),
        ("//a[b > c]/@id", []),
        ("//a[c > b]/@id", ["2"]),
        ("//a[not(c)]/@id", ["1"]),
        ("//a[b[text() = '5']]/@id", ["2"]),
        ("(//b intersect /r/a/b)", ["<b>3</b>", "<b>4</b>", "<b>5</b>"]),
        ("//text()", ["3", "4", "5", "x &lt; y".replace("&lt;", "<")]),
        ("return $X@id from //$X[/c]", ["2"]),
        ("return $X, $Y/text() from //$X/parent::$Y where $X = 4 and tag($X) = 'b'", None),
    ],
)
@pytest.mark.parametrize("chunk", [1, 1 << 16])
def test_what_needs_the_tree(query: str, expected: list[str] | None, chunk: int) -> None:
    document = '<r><a id="1"><b>3</b></a><a id="2"><b>4</b><b>5</b><c>x &lt; y</c></a></r>'
    found = rows(query, document, chunk)
    assert found == ([["<b>4</b>", None]] if expected is None else [[value] for value in expected])


def test_rounds_that_come_back_end() -> None:
    found = rows("return $X@n, count($Y) from /r/$X (parent::* /$Y)*", '<r><a n="1"/><a n="2"/></r>')
    # from either: no round; one, to any of both; or one to the other, and from there one more
    assert sorted(found) == sorted([[n, count] for n in "12" for count in (0, 1, 1, 2, 2)])


BOTH = [["1", "2"], ["1", "3"]]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("return $A@i, $X@i as x from //$A (/$X/parent::a)* where count($X) > 0", BOTH),
        ("return $A@i, $X@i as x from //$A ($Z: /$X/parent::a $Z)", BOTH),
        ("return $X@i, $Y@i as y from /a/$X (following_sibling::$Y/preceding_sibling::b)*", [
            ["2", "3"], ["2", None], ["3", None],
        ]),
        ("return count($X) as n from //a (.$X)*", [[0], [1]]),
    ],
)  # fmt: skip
def test_a_round_may_end_where_one_began(query: str, expected: list[list[Any]]) -> None:
    """But none begins there again, as there would be no end."""
    document = '<a i="1"><b i="2"/><b i="3"/></a>'
    assert sorted(rows(query, document), key=str) == expected
    declared = evaluate(parse_and_check(query), read_xml(document.encode()))
    assert sorted(map(list, declared), key=str) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("//a ($Z: /b union /c $Z) /@i", ["3"]),  # c*b: a definition that says how it ends, ends like that
        ("//a ($Z: /c $Z union /b) /@i", ["3"]),
        ("//a/c ($Z: (/b)* union /c $Z) /@i", ["1", "2", "3", "9"]),  # its end may be no step at all
        ("//a ($Z: /c $Z) /@i", ["1", "2", "9"]),  # all ways come back: then any round may be the last
        ("//a ($Z: /c ($Y: /c $Y union $Z)) /@i", ["1", "2", "9"]),
        ("//a ($Z: /c ($Y: /b union /c $Y)) /@i", ["3"]),
        ("return $X@i from //a ($Z: /$X union /c $Z) where tag($X) = 'b'", ["3"]),
        ("//a[($Z: /b union /c $Z)/@i]/c/@i", ["1", "9"]),
        ("//b ($Z: parent::a union parent::c $Z) /c/@i", ["1", "9"]),
    ],
)
def test_how_a_path_variable_ends(query: str, expected: list[str]) -> None:
    document = '<a><c i="1"><c i="2"><b i="3"/></c></c><c i="9"/></a>'
    assert rows(query, document) == [[each] for each in expected]
    assert [list(row) for row in evaluate(parse_and_check(query), read_xml(document.encode()))] == [
        [each] for each in expected
    ]
    found = xseq(query)
    assert found.detect(document.encode()).num_rows == len(expected) and found.recognises(document.encode())


def test_longest() -> None:
    text = "return first($X)@n, last($X)@n from /r/$X (\\ $X)*"
    document = '<r><a n="1"/><a n="2"/><a n="3"/></r>'
    assert len(rows(text, document)) == 6
    assert rows(text, document, matches="longest") == [["3", "3"], ["1", "3"], ["2", "3"]]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("//b/parent::a", "keeps the whole document: a parent may be outside the element"),
        ("/r/a/b/parent::*", "keeps one /r/a element at a time"),
        ("//a[c > b]/@id", "keeps one //a element at a time, the outermost ones"),
        ("//a//b/ancestor::a", "keeps the whole document: an ancestor may be outside the element"),
        ("return $X@id from //a/$X \\ $X", "keeps one //a element at a time"),
        ("return $X@id from //$X \\ $X", "keeps the whole document: the path does not begin with plain steps down"),
    ],
)
def test_what_is_kept(query: str, kept: str) -> None:
    assert evaluator(query).explanation.startswith(kept)


def test_only_the_open_subtree_is_kept() -> None:
    made = evaluator("//a[c > b]/@id")
    item = b"<a id='1'><b>1</b><c>2</c></a>"
    source = XmlSource(b"<r>" + item * 1000 + b"</r>", chunk_size=100)
    found = 0
    while (tokens := source.read(made.keep_from)) is not None:
        found += sum(len(rows.last) for rows in made.push(tokens, source.names))
        assert made.store.size <= len(item)
    assert found == 1000


def test_limits() -> None:
    document = "<r>" + "<a/>" * 100 + "</r>"
    with pytest.raises(LimitError, match="kept in memory"):
        rows("//a/parent::r", document, chunk=10, limits=XSeqLimits(kept_bytes=50))
    with pytest.raises(LimitError, match="too many matches"):
        rows("return tag($X) from /r/$X $X", document, limits=XSeqLimits(matches=100))


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("return $X@i from //$A (/$X/parent::a)* /b", "the axis parent leads back to nodes that have passed"),
        ("return $X@i from //a (.$X)*", "a round of a repetition may end where it began"),
        ("//a[/b]/c", "a predicate with a path, or an intersection, may need nodes that come later"),
    ],
)
def test_why_parts_are_kept(query: str, reason: str) -> None:
    assert xseq(query).compiled.obstacle == reason
