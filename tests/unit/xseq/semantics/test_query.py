"""The declarative evaluator of XSeq: definitions of the paper, and what is decided where the paper is silent."""

from __future__ import annotations

import pytest

from ostinato.errors import LimitError
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.query import Matches, Row, columns, evaluate, find_matches, repeating_variables
from ostinato.xseq.semantics.tree import read_json, read_xml

TREE = """<r><a i="1" p="3"/><a i="2" p="1"><c i="c1">x<d i="d1"/>y</c></a><b i="3" p="2"/><a i="4" p="5"><c i="c2"/>
</a></r>"""


def rows(text: str, document: str = TREE, matches: Matches = "all") -> list[Row]:
    return evaluate(parse_and_check(text), read_xml(document.encode()), matches)


def one(text: str, document: str = TREE, matches: Matches = "all") -> list[object]:
    """The answer of a query with one column."""
    found = rows(text, document, matches)
    assert all(len(row) == 1 for row in found)
    return [row[0] for row in found]


def numbers(*values: object) -> str:
    """Siblings with those values of p; None for an element without."""
    elements = ("<a/>" if value is None else f"<a p='{value}'/>" for value in values)
    return f"<r>{''.join(elements)}</r>"


# Definition 5.11 ------------------------------------------------------------------------------------------------------


def test_example_5_12_and_5_15() -> None:
    document = "<a><b n='1'><c/></b><b n='2'/></a>"
    assert one("return $X@n from doc()/a/$X", document) == ["1", "2"]
    assert one("return $X@n from doc()/a/$X[/c]", document) == ["1"]
    assert one("return $X@n from doc()/a/$X[c]", document) == ["1"]
    assert one("/a/b[/c]", document) == ["<b n='1'><c/></b>"]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/r/a", ["1", "2", "4"]),
        ("/a", []),  # the root element is r
        ("//a/c", ["c1", "c2"]),
        ("//d", ["d1"]),
        ("//c//*", ["d1"]),
        ("//c .", ["c1", "c2"]),
        ("//*[@i=2] a", ["4"]),
        ("//*[@i=2] following_sibling::*", ["3", "4"]),
        (r"//*[@i=2] \ *", ["3"]),
        (r"//*[@i=2] \ a", []),  # the next sibling is no a
        (r"//*[@i=4] \ *", []),
        (r"/r /\ *", ["1"]),
        (r"/r /\ b", []),
        (r"//c /\ d", ["d1"]),  # text is no child element
        ("//d/parent::*", ["c1"]),
        ("//d/ancestor::*", ["2", "c1"]),
        ("//d/ancestor::a", ["2"]),
        ("//b/preceding_sibling::a", ["1", "2"]),
        ("//@i/parent::c", ["c1", "c2"]),
        ("//c/text()/parent::*", ["c1"]),
        ("//c/text()/ancestor::a", ["2"]),
        ("//a/self::a", ["1", "2", "4"]),
        ("//a/self::b", []),
        ("a", ["1", "2", "4"]),  # a first step without an axis
        ("(b union c)", ["c1", "3", "c2"]),
        ("./r/b", ["3"]),
        ("//c[d]", ["c1"]),
        (r"//c[/\ d]", ["c1"]),
        ("//a[//d]", ["2"]),
        ("//a[following_sibling::b]", ["1", "2"]),
        ("//a[parent::r][c]", ["2", "4"]),
        ("//a[c[d]]", ["2"]),
    ],
)
def test_axes(path: str, found: list[str]) -> None:
    assert one(f"{path}/@i") == found


def test_the_document_node_is_no_answer_and_has_no_name() -> None:
    assert one("(/zzz)*") == []
    assert one("/r/parent::node()") == []
    assert one("/r/ancestor::node() /r") == []


def test_text_is_reached_by_text_and_node_only() -> None:
    document = "<r>u<a>v</a><!-- c -->w <b/></r>"
    assert one("/r/text()", document) == ["u", "w "]
    assert one("//text()", document) == ["u", "v", "w "]
    assert one("/r/node()", document) == ["u", "<a>v</a>", "w ", "<b/>"]
    assert one("/r/*", document) == ["<a>v</a>", "<b/>"]
    assert one("//a node()", document) == ["<b/>"]
    assert one("//node() following_sibling::*", "<r>u<a/>v<b/></r>") == ["<b/>"]  # text has no siblings
    assert one("//text()/self::text()", document) == ["u", "v", "w "]


def test_attributes() -> None:
    document = "<r p='0'><a p='1' k='2'><b p='3'/></a></r>"
    assert one("//a/@p", document) == ["1"]
    assert one("//a @p", document) == ["1"]
    assert one("//a/@*", document) == ["1", "2"]
    assert one("//a//@p", document) == ["3"]  # of descendants, not of a itself
    assert one("/r//@p", document) == ["1", "3"]
    assert one("return $X from //a/@$X", document) == ["1", "2"]
    assert one("return tag($X) from //a/@$X", document) == ["p", "k"]


def test_a_bare_path_gives_each_node_once_in_document_order() -> None:
    assert one("(//c union //a[c] union //a/c)/@i") == ["2", "c1", "4", "c2"]
    assert one("//d/parent::* /d/@i") == ["d1"]
    assert one("//$X /ancestor::r/b/@i where $X@p > 0") == ["3"]
    assert columns(parse_and_check("//a")) == ["node"]


def test_star_is_any_number_of_rounds() -> None:
    assert one("//a[@i=1] (\\ a)* /@i") == ["1", "2"]
    assert one("//a[@i=2] (/c /d)* /@i") == ["2", "d1"]
    assert one("return count($X) from /r/a[@i=1] (\\ $X)*") == [0, 1, 2, 3]
    assert one("//d (parent::*)* /@i") == ["2", "c1", "d1"]


def test_a_round_that_comes_back_is_the_last() -> None:
    assert one("return count($X) from //a[@i=2] (self::$X)*") == [0, 1]
    assert one("return count($X) from //a[@i=2] (/$X parent::$Y)*") == [0, 1]
    down = [(0, 0), (1, 0), (2, 0), (2, 1), (1, 1)]  # to c1, d1 and back up to c1; to c1 and back up to a2
    up = [(0, 1), *[(1, 1)] * 4]  # to r, and down to a1, a2, b3, a4
    further = [*[(1, 2)] * 3, (2, 1), (2, 2)]  # from a1, b3 and a4 up to r; from a4 down to c2, and back up
    found = rows("return count($X), count($Y) from //a[@i=2] (/$X union parent::$Y)*")
    assert sorted(found) == sorted(down + up + further)


def test_union_and_intersect() -> None:
    assert one("(//a intersect /r/*)/@i") == ["1", "2", "4"]
    assert one("/r (//* intersect /a/c)/@i") == ["c1", "c2"]
    assert rows("return $X@i, $Y@i from /r (/a//$X intersect //c/$Y)") == [("d1", "d1")]
    assert rows("return $X@i, $Y@i from /r (/$X[@i=3] union /$Y[@i=4])") == [("3", None), (None, "4")]


# Matches --------------------------------------------------------------------------------------------------------------


def test_walks_that_bind_the_same_are_one_match() -> None:
    assert one("return $X@i from //* //$X[@i='d1']") == ["d1"]  # below r, a and c
    assert one("return $X@i from (//$X[@i=3] union /r/$X[@i=3])") == ["3"]
    assert one("return $X@i from ((//a)* //$X[@i='d1'])") == ["d1"]


def test_a_match_is_a_sequence_of_bindings() -> None:
    document = read_xml(b"<r><a/><b/></r>")
    bindings = find_matches(parse_and_check(r"//$X[@$N] \ $Y"), read_xml(b"<r><a p='1' q='2'/><b/></r>"))
    assert [[(variable, node.name) for variable, node in match] for match in bindings] == [
        [("X", "a"), ("N", "p"), ("Y", "b")],
        [("X", "a"), ("N", "q"), ("Y", "b")],
    ]
    assert [len(match) for match in find_matches(parse_and_check(r"//a (\$X)*"), document)] == [0, 1]


def test_predicates_bind_before_what_follows() -> None:
    document = "<r><a><n>1</n><n>2</n></a><b/><b/></r>"
    found = rows("return $N/text(), tag($B) from //a[$N] $B", document)
    assert found == [("1", "b"), ("2", "b"), ("1", "b"), ("2", "b")]


def test_order_is_by_the_last_bound_node_then_by_the_earlier_ones() -> None:
    document = "<r><a n='1'/><a n='2'/><a n='3'/></r>"
    found = rows("return first($X)@n, count($X) from /r /$X ($X)*", document)
    # 1; 2, 12; then what ends at 3: before it nothing, 1, 12, 2
    assert found == [("1", 1), ("2", 1), ("1", 2), ("3", 1), ("1", 2), ("1", 3), ("2", 2)]


def test_rows_without_any_value_are_left_out() -> None:
    assert rows(r"return last($X)@i, last($X)@zzz from //a[@i=2] (\$X)*") == [("3", None), ("4", None)]
    assert rows(r"return last($X)@i, count($X) from //b (\$X)*") == [(None, 0), ("4", 1)]


def test_longest_drops_proper_prefixes_only() -> None:
    text = r"return $Z@p, last($X)@p from /r /$Z (\$X)* where $X@p < prev($X)@p and first($X)@p < $Z@p"
    document = numbers(5, 4, 3, 6)
    assert rows(text, document) == [("5", "4"), ("5", "3"), ("4", "3")]
    assert rows(text, document, "longest") == [("5", "3"), ("4", "3")]
    # a longer walk that is no match drops nothing
    short = r"return count($X) from /r /\ $Z (\$X)* where count($X) < 2"
    assert one(short, document) == [0, 1]
    assert one(short, document, "longest") == [1]
    # groups are made of what is left
    assert one(r"return count(last($X)@p) from /r /\ $Z (\$X)*", document) == [3]
    assert one(r"return count(last($X)@p) from /r /\ $Z (\$X)*", document, "longest") == [1]


# Path variables -------------------------------------------------------------------------------------------------------


def test_a_recursive_path_variable_has_at_least_one_round() -> None:
    document = numbers(1, 2, 3)
    assert one(r"return count($X) from /r/\ a ($Z: \$X $Z)", document) == [1, 2]
    assert one(r"return count($X) from /r/\ a (($Z: \$X))*", document) == [0, 1, 2]


def test_a_call_elsewhere_is_a_copy() -> None:
    document = numbers(1, 2, 3, 4)
    assert one(r"return last($X)@p from /r/\ a ($Z: \$X) $Z", document) == ["3"]
    assert one(r"return last($X)@p from /r/\ a ($Z: \$X $Z) $Z", document) == ["3", "4"]


def test_the_axis_before_a_definition_is_that_of_its_first_round() -> None:
    document = "<r><a n='1'><a n='2'/><a n='3'/></a></r>"
    assert rows("return first($X)@n, count($X) from //($Z: $X $Z) where tag($X) = 'a'", document) == [
        ("1", 1),
        ("2", 1),
        ("3", 1),
        ("2", 2),
    ]


def test_rounds() -> None:
    document = numbers(1, 2, 3, 4, 5)
    text = r"from /r/\ a ($Z: \$X \$Y $Z)"
    assert rows(f"return first($Z) $X@p, last($Z) $X@p, last($Z) $Y@p {text}", document) == [
        ("2", "2", "3"),
        ("2", "4", "5"),
    ]
    # the X of a round against that of the round before it; in the first round there is nothing to hold
    rising = "where $X@p > prev($Z) $X@p"
    falling = "where $X@p < prev($Z) $X@p"
    assert one(f"return count($X) {text} {rising}", document) == [1, 2]
    assert one(f"return count($X) {text} {falling}", document) == [1]


def test_a_round_without_the_variable_gives_null() -> None:
    text = r"return first($Z) $X@p, last($Z) $X@p from /r/\ a ($Z: (\$X[@p=2] union \$Y) $Z) where $Y@p != 2"
    assert rows(text, numbers(1, 2, 3)) == [("2", "2"), ("2", None)]


def test_rounds_are_told_apart_only_where_they_are_spoken_of() -> None:
    assert one("return $X@p from /r (/$X union ($Z: /$X))", numbers(1)) == ["1"]
    path = r"from /r/\ a ($Z: \$X (\$X)* $Z)"
    assert one(f"return count($X) {path}", numbers(1, 2, 3)) == [1, 2]
    # 2 and 3 in one round, or each in its own
    assert sorted(rows(f"return count($X), last($Z) $X@p {path}", numbers(1, 2, 3))) == [(1, "2"), (2, "2"), (2, "3")]


# Where ----------------------------------------------------------------------------------------------------------------


def test_a_conjunct_holds_for_every_binding() -> None:
    document = numbers(1, 2, 3)
    assert one(r"return count($X) from /r /\ a (\$X)* where $X@p < 3", document) == [0, 1]
    assert one(r"return count($X) from /r /\ a (\$X)* where $X@p = 2 or $X@p = 3", document) == [0, 1, 2]
    # for all pairs, not for one
    assert one(r"return count($X) from /r /$Y (\$X)* where $X@p > $Y@p + 1", document) == [0, 0, 0]
    # nothing is bound, so nothing is asked
    assert one("return $X@p from /r (/$X[@p=1] union /$Y) where $Y@p > 9", document) == ["1"]


def test_the_first_has_no_previous() -> None:
    text = r"return last($X)@p from /r /$Z (\$X)* where {}"
    assert one(text.format("$X@p < prev($X)@p"), numbers(1, 3, 2)) == ["3", "2", "2"]
    # the whole conjunct is not applied to the first, so that its other half asks nothing there
    assert one(text.format("$X@p < prev($X)@p and $X@p < 3"), numbers(1, 3, 2)) == ["2"]
    assert one(text.format("not($X@p >= prev($X)@p)"), numbers(1, 3, 2)) == ["3", "2", "2"]


def test_prev_speaks_of_the_variable_in_all_its_places() -> None:
    text = r"return count($X) from /r /$X (\$X)* where $X@p > prev($X)@p"
    assert one(text, numbers(1, 2, 1)) == [1, 1, 2, 1]


def test_first_and_last_are_of_the_whole_match() -> None:
    text = r"return first($X)@p, last($X)@p from /r/\ $Z (\$X)* where first($X)@p < last($X)@p"
    assert rows(text, numbers(0, 1, 5, 3)) == [("1", "5"), ("1", "3")]


def test_aggregates_of_a_match() -> None:
    text = r"return count($X), count($X@p), sum($X@p), avg($X@p), min($X@p), max($X@p) from /r/\ $Z (\$X)*"
    found = rows(text, numbers(0, 4, "x", None, 2))
    assert found == [
        (0, 0, None, None, None, None),
        (1, 1, 4.0, 4.0, 4.0, 4.0),
        (2, 2, 4.0, 4.0, 4.0, 4.0),
        (3, 2, 4.0, 4.0, 4.0, 4.0),
        (4, 3, 6.0, 3.0, 2.0, 4.0),
    ]
    assert [type(value) for value in found[1]] == [int, int, float, float, float, float]
    assert one(r"return count($X) from /r/$Z (\$X)* where sum($X@p) > $Z@p", numbers(2, 1, 2)) == [2, 1]
    assert one(r"return sum($X@p * 2 + 1) from /r/\ $Z (\$X)*", numbers(0, 1, 2)) == [3.0, 8.0]


def test_a_variable_in_two_places_repeats() -> None:
    assert one(r"return sum($X@p) from /r /\ $X \ $X", numbers(1, 2, 4)) == [3.0]
    assert repeating_variables(parse_and_check(r"/$V (\$X)* \$Y[$W] ($Z: \$A) $Z ($Q: \$B $Q) \$Y").path) == set("XYAB")
    assert repeating_variables(parse_and_check(r"($Z: /$X $Q) ($Q: /$Y $Z)").path) == {"X", "Y"}


def test_aggregates_over_all_matches() -> None:
    document = "<r><a k='1' p='5'/><a k='2' p='1'/><a k='1' p='3'/><b k='1' p='9'/></r>"
    assert rows("return tag($X), sum($X@p), count($X) from /r/$X", document) == [("a", 9.0, 3), ("b", 9.0, 1)]
    # the partition is part of the group, though it is not shown
    assert rows("return sum($X@p) from /r/$X partition by /r/*@k", document) == [(17.0,), (1.0,)]
    assert rows("return max($X@p) - min($X@p) from /r/a union /r/$X", document) == [(8.0,)]
    assert rows("return count($X) from /r/zzz/$X", document) == []
    assert rows(r"return max(last($X)@p - first($X)@p) from /r/\ a (\$X)*", numbers(0, 1, 2, 9)) == [(8.0,)]


def test_a_group_is_where_its_first_match_is() -> None:
    document = "<r><a k='2'/><a k='1'/><a k='2'/></r>"
    assert rows("return $X@k, count($X) from /r/$X", document) == [("2", 2), ("1", 1)]


# Partition ------------------------------------------------------------------------------------------------------------

KEYED = "<r><a k='1' n='1'/><b n='2'/><a k='2' n='3'/><a n='4'/><a k='1' n='5'/><b n='6'/><a n='7'/></r>"


@pytest.mark.parametrize(
    ("path", "pairs"),
    [
        (r"/r /$X \ $Y", ["15", "26", "47"]),  # unkeyed with unkeyed, null with null
        ("/r /$X $Y", ["15", "26", "47"]),
        ("/r /$X /preceding_sibling::$Y", ["51", "62", "74"]),
    ],
)
def test_siblings_have_the_same_key(path: str, pairs: list[str]) -> None:
    found = rows(f"return $X@n, $Y@n from {path} partition by /r/a@k", KEYED)
    assert sorted(map("".join, found)) == sorted(pairs)  # type: ignore[arg-type]


def test_other_axes_do_not_look_at_keys() -> None:
    assert one(r"return $X@n from /r /b /parent::r /\ $X partition by /r/b@k", KEYED) == ["1"]
    assert len(rows("return $X@n from /r /$X partition by /r/a@k", KEYED)) == 7


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "comparison", "right", "holds"),
    [
        ("10", ">", "9", True),  # as numbers
        ("10", "<", "9x", True),  # as strings
        ("1.0", "=", "1", True),
        (" 1\t", "=", "+1e0", True),
        (".5", "=", "0.50", True),
        ("5.", "=", "5", True),
        ("", "=", "", True),
        ("", "<", "0", True),
        ("inf", "=", "Inf", False),
        ("nan", "=", "nan", True),
        ("0x10", "=", "16", False),
        ("1_0", "=", "10", False),
        ("é", ">", "z", True),
        ("𝒳", ">", "ￗ", True),  # code points, not UTF-16
        ("٣", "=", "3", False),
    ],
)
def test_comparisons(left: str, comparison: str, right: str, holds: bool) -> None:
    document = f"<r><a p='{left}' q='{right}'/></r>"
    assert bool(rows(f"//a[@p {comparison} @q]", document)) is holds
    assert bool(rows(f"return $X@p, 1 from //$X where tag($X) = 'a' and $X@p {comparison} $X@q", document)) is holds


def test_what_is_missing_is_in_no_relation() -> None:
    document = "<r><a/></r>"
    for comparison in ("=", "!=", "<", ">=", "<>"):
        assert one(f"//a[@p {comparison} 1]", document) == []
        assert one(f"//a[not(@p {comparison} 1)]", document) == ["<a/>"]
        assert one(f"return tag($X) from //$X where $X@p {comparison} 1", document) == []
        assert one(f"return tag($X) from /r/$X where not($X@p {comparison} 1)", document) == ["a"]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("$X@p + 1", 6.0),
        ("$X@p - $X@q", 3.0),
        ("$X@p * $X@q", 10.0),
        ("$X@p div $X@q", 2.5),
        ("$X@p mod $X@q", 1.0),
        ("(0 - $X@p) mod $X@q", -1.0),
        ("-$X@p", -5.0),
        ("$X@p div $X@zero", None),
        ("$X@p mod $X@zero", None),
        ("$X@p + $X@text", None),
        ("$X@p + $X@none", None),
    ],
)
def test_arithmetic(value: str, found: float | None) -> None:
    document = "<r p='5' q='2' zero='0' text='x'/>"
    assert rows(f"return tag($X), {value} from /$X", document) == [("r", found)]


def test_references() -> None:
    document = "<r><a><b/><b p='1'>2<c>3</c>4</b></a></r>"
    found = rows("return $X/b/text(), $X//c/text(), $X/b@p, $X/zzz@p, tag($X), $X/b from //a/$Y/parent::$X", document)
    # the first b has neither text nor attribute
    assert found[0] == (None, "3", None, None, "a", "<b/>")
    assert one("return $X/text() from //$X[@p]", document) == ["2"]
    assert one("return $X from //$X[@p]", document) == ["<b p='1'>2<c>3</c>4</b>"]
    assert one("return tag($X) from //$X where $X = 234", document) == ["r", "a", "b"]


def test_a_plain_reference_to_a_repeated_variable_returns_its_last_binding() -> None:
    assert rows(r"return $X@p, prev($X)@p from /r/\ a (\$X)*", numbers(1, 2, 3)) == [("2", None), ("3", "2")]


def test_relative_paths_hold_for_some_nodes() -> None:
    document = (
        "<r><a n='1'><c><d>5</d></c><c><d>1</d></c><e><f>3</f></e></a><a n='2'><c><d>1</d></c><e><f>3</f></e></a></r>"
    )
    assert one("//a[c/d > e/f]/@n", document) == ["1"]
    assert one("//a[c/d < e/f]/@n", document) == ["1", "2"]
    assert one("//a[not(c/d > e/f)]/@n", document) == ["2"]
    assert one("//a[c/d + 1 > 5]/@n", document) == ["1"]
    assert one("//d[text() = '5']", document) == ["<d>5</d>"]
    assert one("//a[@n = '2' or c/d = 5]/@n", document) == ["1", "2"]
    assert one("//a[@n and not(@m)]/@n", document) == ["1", "2"]


def test_a_predicate_that_speaks_of_variables_speaks_of_the_match() -> None:
    assert one(r"return count($X) from /r/\ $Z (\$X[@p > $Z@p])*", numbers(1, 2, 1)) == [0, 1]
    assert one(r"return count($X) from /r/\ a (\$X[@p > prev($X)@p])*", numbers(1, 2, 3, 1)) == [0, 1, 2]
    # of a variable that is bound later, and of all its bindings
    assert one(r"return $Z@p from /r/$Z[@p < $X@p] \$X \$X", numbers(2, 3, 4, 1)) == ["2"]


def test_column_names() -> None:
    query = parse_and_check("return $X@p as price, $X@k from //$X")
    assert columns(query) == ["price", "$X@k"]


def test_json() -> None:
    document = read_json('{"t": [{"p": 3}, {"p": 2.50}, {"p": 4}]}')
    found = evaluate(parse_and_check(r"return last($X)@p from /json/$Z (\$X)* where last($X)@p < $Z@p"), document)
    assert found == [("2.50",)]


def test_limit() -> None:
    document = read_xml(numbers(*range(12)).encode())
    with pytest.raises(LimitError):
        evaluate(parse_and_check("return $X@p from /r/$X ($X)*"), document, limit=100)
