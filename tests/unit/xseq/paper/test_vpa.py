from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.documents.nested_words import Letter, Mark
from ostinato.errors import LimitError, QueryError
from ostinato.xseq.paper.from_query import construct
from ostinato.xseq.paper.vpa import BOTTOM, OTHER, VPA, Guard, VPAMove
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax.nodes import Path
from support.generators.paths import documents, paths
from support.nested_words import element_word, letters_of_tree, text_word
from support.vpa import VPARun, accepts, accepts_prefix, with_rest
from support.vpa_algebra import complement, counterexample, intersection, is_empty, union, witness
from support.vpa_algebra import documents as all_documents
from support.vpa_determinise import determinise

A, B = (Letter(Mark.OPEN, name) for name in "ab")
END_A, END_B = (Letter(Mark.CLOSE, name) for name in "ab")


def balanced() -> VPA:
    """Any number of a's inside each other around one b."""
    moves = (
        VPAMove("down", Mark.OPEN, "a", "down", "A"),
        VPAMove("down", Mark.OPEN, "b", "up", "B"),
        VPAMove("up", Mark.CLOSE, "b", "up", "B"),
        VPAMove("up", Mark.CLOSE, "a", "up", "A"),
    )
    return VPA(("down", "up"), frozenset({"down"}), moves, frozenset({"up"}))


def test_runs_share_stacks_and_pop_what_was_pushed() -> None:
    assert accepts(balanced(), [A, A, B, END_B, END_A, END_A])
    assert not accepts(balanced(), [A, B, END_A])  # not the symbol on top
    assert not accepts(balanced(), [A, B, END_B, END_A, END_A])  # nothing to pop
    assert accepts(balanced(), [A, B]), "elements may still be open"


def test_bottom_is_read_but_not_popped() -> None:
    move = VPAMove("q", Mark.CLOSE, None, "q", BOTTOM)
    assert accepts(VPA(("q",), frozenset({"q"}), (move,), frozenset({"q"})), [END_A, END_B])


def test_other_names_are_those_no_move_names() -> None:
    moves = (VPAMove("q", Mark.OPEN, "a", "q", "A"), VPAMove("q", Mark.OPEN, OTHER, "other", "O"))
    automaton = VPA(("q", "other"), frozenset({"q"}), moves, frozenset({"other"}))
    assert accepts(automaton, [A, B]) and not accepts(automaton, [A, A])


def test_a_guard_without_values_cannot_be_tested() -> None:
    move = VPAMove("q", Mark.OPEN, None, "q", "A", Guard("@k is the same"))
    automaton = VPA(("q",), frozenset({"q"}), (move,), frozenset({"q"}))
    with pytest.raises(QueryError, match="cannot test"):
        accepts(automaton, [A])
    assert move.label == "<*> +A [@k is the same]"


def test_moves_are_checked() -> None:
    with pytest.raises(AssertionError, match="unknown state"):
        VPA(("q",), frozenset({"q"}), (VPAMove("q", Mark.TEXT, None, "r"),), frozenset())
    with pytest.raises(AssertionError, match="only tags touch the stack"):
        VPA(("q",), frozenset({"q"}), (VPAMove("q", Mark.TEXT, None, "q", "A"),), frozenset())


def test_runs_take_polynomial_time() -> None:
    """Every open tag may be pushed in two ways: 2^200 runs, two states."""
    moves = tuple(VPAMove("q", Mark.OPEN, None, "q", symbol) for symbol in "XY")
    moves += tuple(VPAMove("q", Mark.CLOSE, None, "q", symbol) for symbol in "XY")
    run = VPARun(VPA(("q",), frozenset({"q"}), moves, frozenset({"q"})))
    for letter in [A] * 200 + [END_A] * 200:
        run.read(letter)
    assert run.accepting and not run.dead


def test_witness() -> None:
    assert [str(letter) for letter in witness(construct(parse_and_check("//a[@p='1'] \\ b/text()"))) or ()] == [
        "<a>",
        "</a>",
        "<b>",
        "text()",
    ]
    assert is_empty(construct(parse_and_check("/a intersect /b")))


def test_words() -> None:
    tree = read_xml(b'<a p="1">t<b/></a>')
    assert list(letters_of_tree(tree)) == element_word("a", {"p": "1"}, [text_word("t"), element_word("b")])


def test_limits_of_determinising() -> None:
    with pytest.raises(LimitError, match="states=3"):
        determinise(construct(parse_and_check("//a//b c")), limit=3)
    with pytest.raises(QueryError, match="tests on its moves"):
        determinise(construct(parse_and_check("//a[@p]")))


def test_containment_of_queries() -> None:
    narrow, wide = (with_rest(construct(parse_and_check(query))) for query in ("/a/b", "//b"))
    assert counterexample(narrow, wide) is None
    found = counterexample(wide, narrow)
    assert found is not None and accepts(wide, found) and not accepts(narrow, found) and accepts(all_documents(), found)


simple = paths(predicates=st.nothing(), intersect=False, variables=False)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(simple, simple, st.lists(documents(), min_size=1, max_size=4))
def test_closure(left: Path, right: Path, written: list[bytes]) -> None:
    one, two = construct(left), construct(right)
    for word in (list(letters_of_tree(read_xml(each))) for each in written):
        in_one, in_two = accepts_prefix(one, word), accepts_prefix(two, word)
        whole = with_rest(one), with_rest(two)
        assert accepts(union(*whole), word) == (in_one or in_two)
        assert accepts(intersection(*whole), word) == (in_one and in_two)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(simple, st.lists(documents(), min_size=1, max_size=4))
def test_determinised(path: Path, written: list[bytes]) -> None:
    automaton = construct(path)
    try:
        whole, opposite = determinise(automaton, limit=60), complement(automaton, limit=60)
    except LimitError:
        return
    for word in (list(letters_of_tree(read_xml(each))) for each in written):
        for end in range(len(word) + 1):
            expected = accepts(automaton, word[:end])
            assert accepts(whole, word[:end]) == expected
            assert accepts(opposite, word[:end]) != expected


@settings(max_examples=25, deadline=None)
@given(simple)
def test_witnesses_are_accepted(path: Path) -> None:
    automaton = intersection(all_documents(), with_rest(construct(path)))
    found = witness(automaton)
    assert found is None or accepts(automaton, found)
