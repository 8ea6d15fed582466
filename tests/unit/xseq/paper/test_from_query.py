from __future__ import annotations

from itertools import pairwise

import pytest

from ostinato.errors import LimitError, QueryError
from ostinato.xseq.paper.from_query import construct
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.tree import read_xml
from support.nested_words import letters_of_tree
from support.vpa import accepts_prefix

FIGURE_5A = """\
start E /son; accepts in @ @Bdate
  from    reads          to
  E /son  text()         E /son
  E /son  <*> +E /son    skip
  E /son  <son> +O /son  O /son
  O /son  @*             A /son
  O /son  @Bdate         @ @Bdate
  A /son  @*             A /son
  A /son  @Bdate         @ @Bdate
  skip    </*> -E /son   E /son
  skip    @*             skip
  skip    text()         skip
  skip    <*> +skip      skip
  skip    </*> -skip     skip
"""

FIGURE_5B = """\
start E /daughter; accepts in O son A son
  from         reads                    to
  E /daughter  text()                   E /daughter
  E /daughter  <*> +E /daughter         skip
  E /daughter  <daughter> +O /daughter  O /daughter
  O /daughter  @*                       A /daughter
  O /daughter  text()                   E1 son
  O /daughter  <*> +E1 son              skip
  O /daughter  </*> -O /daughter        C son
  A /daughter  @*                       A /daughter
  A /daughter  text()                   E1 son
  A /daughter  <*> +E1 son              skip
  A /daughter  </*> -O /daughter        C son
  E1 son       text()                   E1 son
  E1 son       <*> +E1 son              skip
  E1 son       </*> -O /daughter        C son
  C son        text()                   E2 son
  C son        <*> +E2 son              skip
  C son        <son> +O son             O son
  E2 son       text()                   E2 son
  E2 son       <*> +E2 son              skip
  E2 son       <son> +O son             O son
  O son        @*                       A son
  A son        @*                       A son
  skip         </*> -E /daughter        E /daughter
  skip         </*> -E1 son             E1 son
  skip         </*> -E2 son             E2 son
  skip         @*                       skip
  skip         text()                   skip
  skip         <*> +skip                skip
  skip         </*> -skip               skip
"""

FIGURE_7 = """\
start E //book; accepts in T /text()
  from       reads             to
  E //book   @*                E //book
  E //book   text()            E //book
  E //book   <*> +E //book     E //book
  E //book   </*> -E //book    E //book
  E //book   <book> +O //book  O //book
  O //book   @*                A //book
  O //book   text()            E /year
  O //book   <*> +E /year      skip
  O //book   <year> +O /year   O /year
  A //book   @*                A //book
  A //book   text()            E /year
  A //book   <*> +E /year      skip
  A //book   <year> +O /year   O /year
  E /year    text()            E /year
  E /year    <*> +E /year      skip
  E /year    <year> +O /year   O /year
  O /year    @*                A /year
  O /year    text()            E /text()
  O /year    <*> +E /text()    skip
  O /year    text()            T /text()
  A /year    @*                A /year
  A /year    text()            E /text()
  A /year    <*> +E /text()    skip
  A /year    text()            T /text()
  E /text()  text()            E /text()
  E /text()  <*> +E /text()    skip
  E /text()  text()            T /text()
  skip       </*> -E /year     E /year
  skip       </*> -E /text()   E /text()
  skip       @*                skip
  skip       text()            skip
  skip       <*> +skip         skip
  skip       </*> -skip        skip
"""


@pytest.mark.parametrize(
    ("query", "table"),
    [("/son@Bdate", FIGURE_5A), ("/daughter son", FIGURE_5B), ("//book/year/text()", FIGURE_7)],
)
def test_figures(query: str, table: str) -> None:
    assert construct(parse_and_check(query)).explain() == table


def test_sizes_grow_with_the_steps() -> None:
    sizes = [len(construct(parse_and_check("//a" + "/b" * length)).states) for length in range(1, 6)]
    assert [after - before for before, after in pairwise(sizes)] == [3] * 4


@pytest.mark.parametrize(
    ("query", "document", "found"),
    [
        ("/a \\b", b"<a/>", False),
        ("/r/a \\b", b"<r><a><b/></a> <b/></r>", True),
        ("/r/a \\b", b"<r><a/><c/><b/></r>", False),
        ("/r/\\b", b"<r>text<b/></r>", True),
        ("/r/a b", b"<r><a><b/></a></r>", False),
        ("//a[@p='1'] (/b)* c", b"<r><a p='1'><b><x/></b><c/></a></r>", True),
        ("//a[@p='1'] (/b)* c", b"<r><a p='2'><b/><c/></a></r>", False),
        ("//($Z: $X \\$Y $Z)", b"<r><a/></r>", False),
        ("//($Z: $X \\$Y $Z)", b"<r><a/><b/></r>", True),
    ],
)
def test_what_is_found(query: str, document: bytes, found: bool) -> None:
    assert accepts_prefix(construct(parse_and_check(query)), letters_of_tree(read_xml(document))) == found


def test_a_partition_is_told_in_guards() -> None:
    query = parse_and_check("return $X@p from /s/$Z (\\$X)* partition by /s/t@company")
    table = construct(query).explain()
    assert "[@company is the same]" in table and "[@company is another]" in table


@pytest.mark.parametrize("query", ["//a/parent::b", "//a[b]", "//a/self::b"])
def test_what_is_not_forward(query: str) -> None:
    with pytest.raises(QueryError, match="forward fragment") as caught:
        construct(parse_and_check(query))
    assert "the walk" in str(caught.value)


def test_intersections_are_bounded() -> None:
    long = "/a" * 60
    with pytest.raises(LimitError, match="intersection grows too large"):
        construct(parse_and_check(f"({long}) intersect ({long})"))
