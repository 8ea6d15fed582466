"""XSeq queries as canonical text."""

from __future__ import annotations

import pytest

from ostinato.xseq.syntax.format import query_text
from ostinato.xseq.syntax.parse import parse


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a", "//a"),
        ("doc() / a / b", "/a/b"),
        ("/a b\\c/\\d@e", "/a b \\c/\\d@e"),
        ("/a following_sibling::union", "/a following_sibling::union"),
        ("/a following_sibling::*", "/a following_sibling::*"),
        ("//a[b]", "//a[/b]"),
        ("//a[.]", "//a[.]"),
        ("//a[./b]", "//a[self::node()/b]"),
        ("//a[self::b]", "//a[self::b]"),
        ("//@id", "//*@id"),
        ("(/a)* b", "(/a)* following_sibling::b"),
        ("(/a)* @b", "(/a)*/@b"),
        ("((/a))*", "(/a)*"),
        ("(/a union /b) intersect /c", "(/a union /b) intersect /c"),
        ("// ($Z: $X $Y $Z) $Z", "//($Z: $X $Y $Z) $Z"),
        ("/a / ($Z: $X $Y)* (\\b)*", "/a/($Z: $X $Y)* (\\b)*"),
        ("((a)* b)*", "//((a)* following_sibling::b)*"),
        ("($Z: /a)*", "($Z: /a)*"),
        ("($Z: * $Z)", "//($Z: * $Z)"),
        ("//a[not(@b)]", "//a[not(@b >= '')]"),
        ("//$X where ($X@a = 1 or $X@b = 2) and $X@c = 3", "//$X where ($X@a = 1 or $X@b = 2) and $X@c = 3"),
        ("//$X where 1 - (2 - 3) = (1 - 2) - 3", "//$X where 1 - (2 - 3) = 1 - 2 - 3"),
        ("//$X where -(1 + 2) = 2 * (3 + 4)", "//$X where -(1 + 2) = 2 * (3 + 4)"),
        ("//a[(b + c) * d > 1]", "//a[(/b + /c) × /d > 1]"),
        ('//a[@b = "it\'s"]', "//a[@b = 'it''s']"),
        ("return $X@a as b, $X from //$X", "return $X@a as b, $X from //$X"),
        ("//$X partition by (//a) @id", "//$X partition by //a@id"),
        ("//a following_sibling::'b c'[@'d e' = 1]", "//a following_sibling::'b c'[@'d e' = 1]"),
        ("//a/'it''s'/\"x\"", "//a/'it''s'/x"),
        ("return $X/'b c'/d@'e f' from //$X", "return $X child::'b c'/d@'e f' from //$X"),
        ("//$X partition by //a@'b c'", "//$X partition by //a@'b c'"),
        ("return $X following_sibling::b@c from //$X", "return $X following_sibling::b@c from //$X"),
    ],
)
def test_canonical_text(text: str, canonical: str) -> None:
    query = parse(text)
    assert query_text(query) == canonical
    assert parse(canonical) == query
