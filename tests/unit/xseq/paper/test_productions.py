from __future__ import annotations

import pytest

from ostinato.errors import LimitError, QueryError
from ostinato.xseq.paper.path_productions import productions
from ostinato.xseq.paper.productions import (
    Both,
    CXSeq,
    Direction,
    LabelTest,
    Sort,
    Starred,
    VStep,
    chain_steps,
    dv,
    halve_steps,
    is_safe,
    merge_productions,
    reachable,
    remove_stars,
    to_basic,
    va,
    vsteps,
)
from ostinato.xseq.paper.recognise import Recogniser, to_basic_or_none
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.tree import read_xml
from support.cxseq_fixpoint import pairs
from support.nested_words import element_word, letters_of_tree
from support.vpa import recognises

TREE = b"<a><b><c/><c/></b><b/></a>"


def size(query: CXSeq) -> int:
    """How many variables, but one, follow a step at most."""
    return max((len(step.then) - 1 for _, walk in query.productions for step in vsteps(walk)), default=0)


def named(name: str) -> LabelTest:
    return LabelTest(frozenset({Sort.ELEMENT}), frozenset({name}))


def down(name: str, *then: str, predicate: str | None = None) -> VStep:
    return VStep(Direction.FIRST, named(name), predicate, then)


def test_the_example_of_section_6() -> None:
    """(X, ↑::a X), (X, ↑::a) is (↑::a)+."""
    up = VStep(Direction.PARENT, named("a"))
    query = CXSeq("X", (("X", VStep(Direction.PARENT, named("a"), then=("X",))), ("X", up)))
    plus = CXSeq("Y", (("Y", VStep(Direction.PARENT, named("a"), then=("Z",))), ("Z", Starred(up))))
    tree = read_xml(b"<a><a><a><b/></a></a></a>")
    assert pairs(query, tree) == pairs(plus, tree) and len(pairs(query, tree)) == 6


def test_safety() -> None:
    """X := ↓::a X Y, Y := ↓::b would count: aⁿbⁿ."""
    query = CXSeq("X", (("X", down("a", "X", "Y")), ("Y", down("b"))))
    assert not is_safe(query)
    with pytest.raises(QueryError, match="not safe"):
        to_basic(query)
    assert is_safe(CXSeq("X", (("X", down("a", "Y", "X")), ("Y", down("b")))))
    assert is_safe(CXSeq("X", (("X", down("a", predicate="X")),))), "predicates may come back (B.2.2)"
    assert reachable(query, "X") == {"X", "Y"} and dv(down("a", "X", "Y")) == ("X",) and va(down("a", "X")) == ("X",)


def test_each_pass_does_what_it_says() -> None:
    query = productions(parse_and_check("(//a/b)*/c/parent::b").path)
    assert any(isinstance(walk, Starred) for _, walk in query.productions)
    query = remove_stars(query)
    assert not any(isinstance(walk, Starred) for _, walk in query.productions) and size(query) > 1
    query = halve_steps(merge_productions(query))
    assert size(query) == 1
    assert size(chain_steps(query)) == 0


def test_intersections_of_steps_are_one_step() -> None:
    both = CXSeq("X", (("X", Both(down("a"), VStep(Direction.FIRST, LabelTest(frozenset({Sort.ELEMENT}))))),))
    assert merge_productions(both).productions == (("X", down("a")),)
    apart = CXSeq("X", (("X", Both(down("a"), VStep(Direction.NEXT))),))
    assert merge_productions(apart).productions == ()


def test_what_follows_an_intersection_needs_one_end() -> None:
    """Lemma B.3 would let the sides end on different nodes: b's first child and b's second child, then c's parent."""
    path = parse_and_check("/a ((/b/c) intersect (/b/d))/parent::b").path
    with pytest.raises(QueryError, match="intersection of longer paths"):
        to_basic(productions(path))
    assert to_basic_or_none(path) is None


def test_productions_are_readable() -> None:
    assert (
        str(productions(parse_and_check("/a[@p = '1']/parent::b").path)).splitlines()[-1] == "path1 := ⊙::_ step1 at2"
    )


@pytest.mark.parametrize(
    ("query", "document", "found"),
    [
        ("//c/parent::b", TREE, True),
        ("//c/parent::a", TREE, False),
        ("//c/ancestor::a", TREE, True),
        ("//b[/c]/preceding_sibling::b", TREE, False),
        ("//b/preceding_sibling::b[/c]", TREE, True),
        ("//b[following_sibling::b[not(@p)]]", TREE, True),
        # b and its parent support each other in a circle; nothing else does, so nothing is found.
        ("/a ($Z: /b/parent::a $Z)/d", TREE, False),
        ("(//c) intersect (//b/c)", TREE, True),
    ],
)
def test_recognition(query: str, document: bytes, found: bool) -> None:
    assert recognises(parse_and_check(query), letters_of_tree(read_xml(document))) == found


def test_circles_support_nothing() -> None:
    """X := ↓::a Y, Y := ↑::_ X: the automaton of the paper's proof would accept."""
    circle = CXSeq("X", (("X", down("a", "Y")), ("Y", VStep(Direction.PARENT, then=("X",)))))
    word = element_word("a", inside=[element_word("a")])
    assert not Recogniser(circle).run(word)
    ends = CXSeq("X", (*circle.productions, ("Y", down("a"))))
    assert Recogniser(ends).run(word)


def test_states_do_not_grow_with_the_document() -> None:
    query = to_basic_or_none(parse_and_check("//c[preceding_sibling::b/parent::a]").path)
    assert query is not None
    few, many = Recogniser(query), Recogniser(query)
    row = [element_word("b"), element_word("c"), element_word("d", inside=[element_word("c")])]
    assert few.run(element_word("r", inside=row * 3)) is many.run(element_word("r", inside=row * 300)) is False
    assert few.states == many.states


def test_limits_and_refusals() -> None:
    word = element_word("a", inside=[element_word("b")])
    with pytest.raises(LimitError, match="states=1"):
        recognises(parse_and_check("//a[b]"), word, limit=1)
    with pytest.raises(QueryError, match="no part of the navigation"):
        recognises(parse_and_check("return $X from //$X where $X@p = 1"), word)
    with pytest.raises(QueryError, match="not in the forward fragment"):
        recognises(parse_and_check("//a[b/c = d]"), word)
