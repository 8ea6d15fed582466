"""Schemas from sample documents, and what fits them."""

from __future__ import annotations

import pytest

from ostinato.documents.schema.dtd import from_dtd
from ostinato.documents.schema.model import Schema
from ostinato.documents.schema.sample import from_sample
from ostinato.errors import DataError
from ostinato.xseq.semantics.tree import read_xml
from support.nested_words import element_word, letters_of_tree, text_word
from support.schema import allowed_pairs, check_letters


def sample() -> Schema:
    return from_sample([letters_of_tree(read_xml(b'<r><a p="1"/><a>t</a><b><a/></b></r>'))], source="small.xml")


def test_a_sample() -> None:
    schema = sample()
    assert schema.assumed and schema.roots == {"r"}
    assert schema.of("r").children == {"a", "b"} and schema.of("r").many == {"a"}
    assert schema.of("r").first == {"a"} and schema.of("r").follows == {"a": {"a", "b"}}
    assert schema.of("a").attributes == {"p"} and schema.of("a").text and not schema.of("r").text
    assert {("b", "a"), ("a", "text()"), ("a", "@p")} <= allowed_pairs(schema)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (element_word("x"), "`x` stands in the document"),
        (element_word("r", inside=[element_word("c")]), "`c` stands in `r`"),
        (element_word("r", {"p": "1"}), "`r` has an attribute `p`"),
        (element_word("r", inside=[text_word(" ")]), "`r` has text"),
    ],
)
def test_a_document_unlike_the_sample(word: list[object], reason: str) -> None:
    with pytest.raises(DataError) as caught:
        list(check_letters(word, sample()))  # type: ignore[arg-type]
    assert reason in str(caught.value) and "sample small.xml" in str(caught.value) and "fix:" in str(caught.value)


def test_order_is_checked_only_where_it_is_promised() -> None:
    word = element_word("r", inside=[element_word("b"), element_word("a")])
    assert list(check_letters(word, sample())) == word
    dtd = from_dtd("<!ELEMENT r (a, b)><!ELEMENT a EMPTY><!ELEMENT b EMPTY>")
    with pytest.raises(DataError, match="`b` stands first in `r`"):
        list(check_letters(word, dtd))
    with pytest.raises(DataError, match="`b` stands directly after `b`"):
        list(check_letters(element_word("r", inside=[element_word("a"), element_word("b"), element_word("b")]), dtd))
