"""The automata of XSeq accept exactly the documents in which the declarative semantics finds a match."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.xseq.paper.from_query import construct
from ostinato.xseq.semantics.query import evaluate
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax import nodes as n
from support.generators.paths import documents, paths
from support.nested_words import letters_of_tree
from support.vpa import accepts, accepts_prefix, with_rest


@settings(max_examples=30, deadline=None)
@given(paths(), st.lists(documents(), min_size=1, max_size=4))
def test_forward_fragment(path: n.Path, written: list[bytes]) -> None:
    automaton = construct(path)
    for document in map(read_xml, written):
        word = list(letters_of_tree(document))
        matches = bool(evaluate(n.Query(path), document))
        assert accepts_prefix(automaton, word) == matches
        assert accepts(with_rest(automaton), word) == matches
