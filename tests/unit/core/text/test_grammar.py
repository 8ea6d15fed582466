"""Parsers of query languages."""

from __future__ import annotations

import pytest
from lark.exceptions import UnexpectedInput

from ostinato.core.text.grammar import MAX_DEPTH, load_parser, token_span
from ostinato.errors import QueryError, Span
from ostinato.patterns.syntax.languages import CEL, SREM


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
