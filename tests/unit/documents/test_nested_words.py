from __future__ import annotations

import pytest

from ostinato.documents.nested_words import Letter, Mark, letters_of_source
from ostinato.documents.xml.tokeniser import XmlSource
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.plan.local_tests import holds, is_local, predicate_text
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax.nodes import Predicate, Step
from support.nested_words import element_word, letters_of_tree, text_word

DOCUMENT = b'<a p="1" q="&lt;"><b/> t<!-- c -->u<c r="2"><b>\xc3\xa4</b></c></a>'


@pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
def test_tokens_and_trees_give_the_same_letters(chunk: int) -> None:
    tree = list(letters_of_tree(read_xml(DOCUMENT)))
    tokens = list(letters_of_source(XmlSource(DOCUMENT, chunk_size=chunk)))
    assert tokens == tree
    assert [letter.attributes for letter in tokens] == [letter.attributes for letter in tree]


def test_letters_show_themselves() -> None:
    word = element_word("a", {"p": "1"}, [text_word("t")])
    assert [str(letter) for letter in word] == ["<a>", "@p", "text()", "</a>"]
    assert Mark.TEXT.internal and not Mark.OPEN.internal
    assert Letter(Mark.OPEN, "a") == Letter(Mark.OPEN, "a", attributes={"p": "1"})


def predicate(written: str) -> Predicate:
    step = parse_and_check(f"//a[{written}]").path
    assert isinstance(step, Step)
    return step.predicates[0]


@pytest.mark.parametrize(
    ("written", "holding"),
    [
        ("@p = 1", True),
        ("@p = '1.0'", True),
        ("@p < @q", True),
        ("@q < '9'", False),
        ("@p + 1 = 2 and not(@p = 2)", True),
        ("@p * 2 > 5 or -@p < 0", True),
        ("@p div 0 = 1", False),
        ("@missing != 1", False),
        ("not(@missing = 1)", True),
        ("tag(.) = 'a'", True),
        ("@p", True),
        ("@*", True),
        ("@missing", False),
    ],
)
def test_local_predicates(written: str, holding: bool) -> None:
    asked = predicate(written)
    assert is_local(asked)
    assert holds(asked, "a", {"p": "1", "q": "10"}) == holding


@pytest.mark.parametrize("written", ["b", "text() = 'x'", "b/@p = 1", "@p = b", "@* = 1"])
def test_predicates_on_other_nodes(written: str) -> None:
    assert not is_local(predicate(written))


def test_predicates_as_they_are_written() -> None:
    assert predicate_text(predicate("@p='1' and @q>2")) == "@p = '1' and @q > 2"
    assert predicate_text(predicate("@p")) == "@p"
