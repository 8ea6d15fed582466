"""The automata of XSeq accept exactly the documents in which the declarative semantics finds a match."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from generators_xseq_paths import documents, paths
from ostinato.automata.vpa import accepts, accepts_prefix, with_rest
from ostinato.automata.xseq_vpa import construct
from ostinato.plan.xseq import Path, XSeqQuery
from ostinato.semantics.xseq import evaluate
from ostinato.tree.document import read_xml
from ostinato.tree.words import from_tree


@settings(max_examples=30, deadline=None)
@given(paths(), st.lists(documents(), min_size=1, max_size=4))
def test_forward_fragment(path: Path, written: list[bytes]) -> None:
    automaton = construct(path)
    for document in map(read_xml, written):
        word = list(from_tree(document))
        matches = bool(evaluate(XSeqQuery(path), document))
        assert accepts_prefix(automaton, word) == matches
        assert accepts(with_rest(automaton), word) == matches
