from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.documents.schema.dtd import from_dtd
from ostinato.documents.schema.sample import from_sample
from ostinato.xseq.paper.from_query import construct
from ostinato.xseq.paper.schema import restrict_to_schema
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax.nodes import Path
from support.generators.paths import documents, paths
from support.nested_words import letters_of_tree
from support.vpa import accepts_prefix

FIGURE_7 = """\
start E //book; accepts in T /text()
  from       reads             to
  E //book   text()            E //book
  E //book   <*> +E //book     E //book
  E //book   </*> -E //book    E //book
  E //book   <book> +O //book  O //book
  O //book   text()            E /year
  O //book   <*> +E /year      skip
  O //book   <year> +O /year   O /year
  E /year    text()            E /year
  E /year    <*> +E /year      skip
  E /year    <year> +O /year   O /year
  O /year    text()            E /text()
  O /year    text()            T /text()
  E /text()  text()            E /text()
  E /text()  text()            T /text()
  skip       </*> -E /year     E /year
  skip       text()            skip
"""


def test_figure_7_with_a_schema() -> None:
    """Years have no subelements, nothing has attributes: A goes everywhere, and E in a year does not skip."""
    schema = from_dtd(
        "<!ELEMENT bib (book)*><!ELEMENT book (title, year)><!ELEMENT title (#PCDATA)><!ELEMENT year (#PCDATA)>"
    )
    assert restrict_to_schema(construct(parse_and_check("//book/year/text()")), schema).explain() == FIGURE_7


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(paths(), st.lists(documents(), min_size=1, max_size=3))
def test_same_answers(path: Path, written: list[bytes]) -> None:
    words = [list(letters_of_tree(read_xml(each))) for each in written]
    automaton = construct(path)
    smaller = restrict_to_schema(automaton, from_sample(words))
    assert len(smaller.moves) <= len(automaton.moves)
    for word in words:
        assert accepts_prefix(smaller, word) == accepts_prefix(automaton, word)
