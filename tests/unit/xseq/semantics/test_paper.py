"""The queries of the XSeq paper on documents made for them; Queries 1 to 7 are also in the vectors."""

from __future__ import annotations

import re
from collections.abc import Iterable

import pytest

from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.query import Row, evaluate
from ostinato.xseq.semantics.tree import read_xml
from support.xseq_paper import ALL


def rows(name: str, document: str) -> list[Row]:
    return evaluate(parse_and_check(ALL[name]), read_xml(document.encode()))


def stocks(*prices: float, company: str = "A") -> str:
    return "".join(f'<transaction company="{company}" price="{price}"/>' for price in prices)


def of(*values: str) -> list[Row]:
    return [(value,) for value in values]


def test_query_8_alternating_genders() -> None:
    names: Iterable[tuple[str, str]] = zip("ABCDE", ["daughter", "son", "daughter", "son", "son"], strict=True)
    family = "".join(f"<{kind} Cname='{name}'/>" for name, kind in names)
    # AB; AD, ABCD, CD; AE, ABCE, CE
    assert rows("query8", f"<f>{family}</f>") == of(*"A", *"AAC", *"AAC")


def test_query_9_falling() -> None:
    document = f"<stocks>{stocks(3, 5)}{stocks(1, company='B')}{stocks(4, 2)}</stocks>"
    # Z is not compared: 3 5; 3 54, 5 4; 3 542, 5 42, 4 2
    assert rows("query9", document) == of("5", "4", "4", "2", "2", "2")


def test_query_10_v_shape() -> None:
    # Y = 3; then Y = 3 4 after 5, Y = 4 after 5 and X = 3, Y = 4 after 3
    assert rows("query10", f"<stocks>{stocks(5, 3, 4)}</stocks>") == of("3", "4", "4", "4")


def test_query_11_falling_wedge() -> None:
    assert rows("query11", f"<stocks>{stocks(10, 8, 7, 5, 6, 9)}</stocks>") == [("10", "9"), ("8", "9")]
    assert rows("query11", f"<stocks>{stocks(10, 5, 9)}</stocks>") == []  # nothing for S and T


def test_query_12_active_users() -> None:
    tweets = [f"<tweet userid='u' date='{1.9 * number}'/>" for number in range(19)]
    others = [f"<tweet userid='v' date='{3 * number}'/>" for number in range(19)]
    document = "".join(one + other for one, other in zip(tweets, others, strict=True))
    # seventeen tweets span 30.4 days: 2nd to 18th, 2nd to 19th, 3rd to 19th
    assert rows("query12", f"<twitter>{document}</twitter>") == of("u", "u", "u")


def test_query_13_theft() -> None:
    happened = [
        ("1", "removed from shelf"),
        ("2", "removed from shelf"),
        ("1", "moved"),
        ("2", "paid at register"),
        ("1", "removed from store"),
        ("2", "removed from store"),
    ]
    document = "".join(f"<event itemid='{item}' eventtype='{what}'/>" for item, what in happened)
    assert rows("query13", f"<events>{document}</events>") == of("1")
    # as it is printed, the last one is no event, and so outside of every partition
    printed = ALL["query13"].replace("tag($X) = 'event'", "tag($X) = 'transaction'")
    last = "<transaction itemid='1' eventtype='removed from store'/>"
    assert evaluate(parse_and_check(printed), read_xml(f"<events>{document}{last}</events>".encode())) == []


def test_query_14_reachable_files() -> None:
    hidden = "<folder hidden='true'><file n='2'/></folder>"
    shown = "<folder hidden='false'><file n='3' ></file></folder>"
    document = f"<folder hidden='false'><file n='1'/>{hidden}{shown}</folder>"
    assert rows("query14", document) == of("<file n='1'/>", "<file n='3' ></file>")


def test_query_15_even_distance() -> None:
    document = (
        """<p Cname="A" haemophilia="true"><p Cname="B"><p Cname="C"><p Cname="D"><p Cname="E"/></p></p></p></p>"""
    )
    assert rows("query15", document) == of("C", "E")


def test_query_16_beta_meander() -> None:
    strand, helix = "<feature type='beta-strand'/>", "<feature type='helix'/>"
    one = f"<protein><fullName>one</fullName>{strand * 3}{helix}</protein>"
    two = f"<protein><fullName>two</fullName>{strand}{helix}{strand}</protein>"
    assert rows("query16", f"<uniprot>{one}{two}</uniprot>") == of("one", "one", "one")


def test_query_17_rising() -> None:
    periods = [(1, 0, 2, 10), (2, 0, 3, 5), (1, 2, 5, 12), (1, 5, 9, 14), (2, 3, 4, 9)]
    document = "".join(
        f"<employee id='{who}' tstart='{start}' tend='{end}'><salary>{salary}</salary></employee>"
        for who, start, end, salary in periods
    )
    assert rows("query17", f"<employees>{document}</employees>") == [(7.0,), (1.0,)]


def test_query_18_quick_rise() -> None:
    document = "".join(
        f"<employee id='{who}' b='?'><salary>100</salary><dept>x</dept><salary>120</salary><salary>{last}</salary>"
        f"<dept>{dept}</dept></employee>"
        for who, last, dept in [(7, 150, "y"), (8, 130, "y"), (9, 150, "x")]
    )
    assert rows("query18", f"<employees>{document}</employees>") == of("7")


def test_query_19_trace() -> None:
    calls = "<fibonacci input='500'><fibonacci input='499'><exception msg='overflow'/></fibonacci></fibonacci>"
    assert rows("query19", f"<main>{calls}</main>") == [("499", 2)]
    assert rows("query19", "<main><exception/></main>") == [(None, 0)]


# Other queries of the paper -------------------------------------------------------------------------------------------

FAMILY = "<f>{}</f>".format("".join(f"<{kind} Cname='{name}'/>" for name, kind in zip("ABCDE", "dsdss", strict=True)))
FAMILY = FAMILY.replace("<d ", "<daughter ").replace("<s ", "<son ")


def test_path_variables() -> None:
    assert rows("called_again", FAMILY) == of("A", "A")  # ABCD, ABCE
    assert rows("not_recursive", FAMILY) == rows("query8", FAMILY)  # "is equivalent to ($Z: $X $Y)*", says Example 2.8
    assert rows("in_turn", "<a><b><c><c><b n='1'/></c></c></b></a>") == of("<b n='1'/>")
    assert rows("in_turn", "<a><b><c/></b></a>") == []


def test_shapes() -> None:
    assert rows("shape2", f"<stocks>{stocks(5, 4, 3, 6)}</stocks>") == [
        ("A", "5", "4"),
        ("A", "5", "3"),
        ("A", "4", "3"),
    ]
    assert rows("shape1", f"<stocks>{stocks(5, 3, 6, 7)}</stocks>") == [("A", "5", "6"), ("A", "5", "7")]
    assert rows("shape3", f"<stocks>{stocks(5, 3, 4, 2, 6)}</stocks>") == [("A", "5", "6")]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("regular1", ["n4", "n6", "n2"]),
        ("regular2", ["s1", "s2"]),
        ("regular3", ["v5", "v3", "v2"]),
        ("regular4", ["n1", "n3"]),
        ("regular1_printed", ["n7"]),
        ("regular2_printed", ["s2"]),
        ("regular3_printed", ["v2"]),
        ("regular4_printed", ["n7"]),
    ],
)
def test_regular_paths(name: str, found: list[str]) -> None:
    document = (
        "<FILE><EMPTY><NP u='n4'/><VP u='v5'><NP u='n6'/></VP><S u='s1'><NP u='n1'/></S><NP u='n2'/></EMPTY>"
        "<S u='s2'><VP u='v3'><NP u='n3'/></VP></S><VP u='v2'/><NP u='n7'/></FILE>"
    )
    written = [str(row[0]) for row in rows(name, document)]
    assert [re.search("u='(..)'", element)[1] for element in written] == found  # type: ignore[index]


def test_auctions() -> None:
    person = "<person id='{}'><name>{}</name></person>"
    assert rows("flat", f"<site><people>{person.format('p', 1)}{person.format('person0', 2)}</people></site>") == of(
        "2"
    )
    inner = "<parlist><listitem n='2'/></parlist>"
    assert len(rows("recursive", f"<x><parlist><listitem>{inner}</listitem></parlist></x>")) == 2
    sold = [f"<closed_auction price='{price}'/>" for price in (5, 4, 6)]
    assert rows("monotonic", f"<s><closed_auctions>{''.join(sold)}</closed_auctions></s>") == of(*sold)


@pytest.mark.parametrize("name", ["example5.4", "example5.4_normalised"])
def test_example_5_4(name: str) -> None:
    document = "<a><c><d>{}</d></c><c><d>2</d></c><e><f>3</f></e><b/></a>"
    assert rows(name, document.format(5)) == of("<b/>")
    assert rows(name, document.format(1)) == []
