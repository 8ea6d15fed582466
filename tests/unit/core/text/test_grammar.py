"""Parsers of query languages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from lark.exceptions import UnexpectedInput

from ostinato.core.text import grammar
from ostinato.core.text.grammar import (
    MAX_DEPTH,
    Words,
    build_parser,
    load_parser,
    parse_tables,
    tables_name,
    token_span,
)
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax.languages import CEL, SREM
from support.grammars import GRAMMARS, make_tables, tables_path

TEXTS = {
    (
        "ostinato.patterns.syntax.cel",
        "query",
    ): "SELECT MAX x, y.v AS v WHERE (T AS x ; H+) FILTER x.v IN (1, 2)",
    ("ostinato.patterns.syntax.cel", "expr"): "NOT a BETWEEN 1 AND f(b.c, -2)",
    ("ostinato.patterns.syntax.srem", "pattern"): "[v > 3] -> r, s . (true* | [v < r.v]?) PARTITION BY k",
    ("ostinato.rules.syntax", "program"): "DETECT a { b { var B } } ON event c: d {{ b {{ var B }} }} END",
    ("ostinato.xseq.syntax", "query"): "return $X@p, count($X) from //a[b > 2] (\\ $X)* where $X@p > 3",
    ("ostinato.sql.syntax", "clause"): "MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS x PATTERN (A B+) DEFINE A AS x > 3)",
}


def test_a_parser_is_made_once() -> None:
    assert load_parser(CEL.package, CEL.start) is load_parser(CEL.package, CEL.start)


def test_each_language_has_its_own_rules_on_top_of_the_shared_ones() -> None:
    cel, srem = (load_parser(each.package, each.start) for each in (CEL, SREM))
    cel.parse("T AS x FILTER x.v > 3 AND x.w IN (1, 2)")
    srem.parse("[v > 3 AND w IN (1, 2)] . true*")
    with pytest.raises(UnexpectedInput):
        cel.parse("[v > 3] . true*")


def test_tokens_know_their_place() -> None:
    (token,) = load_parser(CEL.package, CEL.start).parse("  Temperature").scan_values(lambda value: value is not None)
    assert (str(token), token_span(token)) == ("Temperature", Span(2, 13))


def test_brackets_nest_only_so_deep() -> None:
    parser = load_parser(CEL.package, CEL.start)
    parser.parse("(" * MAX_DEPTH + "T" + ")" * MAX_DEPTH)
    with pytest.raises(QueryError, match=f"more than {MAX_DEPTH} levels") as caught:
        parser.parse("(" * (MAX_DEPTH + 1) + "T" + ")" * (MAX_DEPTH + 1))
    assert caught.value.span == Span(MAX_DEPTH, MAX_DEPTH + 1)


@pytest.mark.parametrize(("package", "start", "words"), GRAMMARS)
def test_tables_are_those_of_the_grammar(package: str, start: str, words: Words | None) -> None:
    tables = parse_tables(tables_path(package, start).read_bytes())
    assert tables is not None
    made = parse_tables(make_tables(package, start, words))
    assert tables == made, "they are of another grammar, or another lark: run `make grammars`"
    built, text = build_parser(package, start, words), TEXTS[package, start]
    assert load_parser(package, start, words).parse(text) == built.parse(text)


def test_tables_of_another_grammar_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(package: str, file: str) -> bytes:
        content = read_as_is(package, file)
        return content + b'\n_SEMICOLON_TOO: "~"' if file == "grammar.lark" else content

    read_as_is = grammar._read
    monkeypatch.setattr(grammar, "_read", read)
    loaded = load_parser.__wrapped__(CEL.package, CEL.start)  # past its cache
    assert "~" in loaded.source_grammar


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-100], lambda data: data[:3000] + b"\0" + data[3001:]]
)
def test_damaged_tables_are_not_used(damage: Callable[[bytes], bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    read_as_is = grammar._read
    broken = damage(read_as_is(CEL.package, tables_name(CEL.start)))
    monkeypatch.setattr(grammar, "_read", lambda *place: broken if "tables" in place[1] else read_as_is(*place))
    loaded = load_parser.__wrapped__(CEL.package, CEL.start)  # past its cache
    text = TEXTS[CEL.package, CEL.start]
    assert loaded.parse(text) == load_parser(CEL.package, CEL.start).parse(text)
