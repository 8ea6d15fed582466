"""The evaluator over kept subtrees: what it keeps, what it finds, where it stops."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ostinato.automata.walk_program import program_of
from ostinato.errors import LimitError
from ostinato.lang.xseq import parse
from ostinato.plan.xseq_check import normalised, repeating
from ostinato.runtime.xseq.buffered import Buffered
from ostinato.runtime.xseq.limits import XSeqLimits
from ostinato.runtime.xseq.rows import assemble
from ostinato.tree.xml import XmlSource

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "xseq.json").read_text(encoding="utf-8"))


def evaluator(text: str, **options: Any) -> Buffered:
    query = parse(text)
    return Buffered(program_of(normalised(query), repeating(query)), **options)


def rows(text: str, document: str, chunk: int = 1 << 16, **options: Any) -> list[list[Any]]:
    made = evaluator(text, **options)
    padding = "<!-- -->" * 512  # more than a source reads at first: the rest comes in pieces
    source = XmlSource((padding + document).encode(), chunk_size=chunk)
    blocks = []
    while (tokens := source.read(made.keep_from)) is not None:
        blocks.append(made.push(tokens, source.names))
    blocks.append(made.finish())
    query = parse(text)
    program = program_of(normalised(query), repeating(query))
    tables = assemble(program, blocks, sort=True)
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
    assert found == [["1", 0], ["2", 1], ["2", 0], ["1", 1]]


def test_longest() -> None:
    text = "return first($X)@n, last($X)@n from /r/$X (\\ $X)*"
    document = '<r><a n="1"/><a n="2"/><a n="3"/></r>'
    assert len(rows(text, document)) == 6
    assert rows(text, document, matches="longest") == [["3", "3"], ["1", "3"], ["2", "3"]]


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("//b/parent::a", "keeps the whole document: a parent may be outside of the element"),
        ("/r/a/b/parent::*", "keeps one /r/a element at a time"),
        ("//a[c > b]/@id", "keeps one //a element at a time, the outermost ones"),
        ("//a//b/ancestor::a", "keeps the whole document: an ancestor may be outside of the element"),
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
        found += len(made.push(tokens, source.names).last)
        assert made.store.size <= len(item)
    assert found == 1000


def test_limits() -> None:
    document = "<r>" + "<a/>" * 100 + "</r>"
    with pytest.raises(LimitError, match="kept in memory"):
        rows("//a/parent::r", document, chunk=10, limits=XSeqLimits(kept_bytes=50))
    with pytest.raises(LimitError, match="too many matches"):
        rows("return tag($X) from /r/$X $X", document, limits=XSeqLimits(matches=100))
