"""The general construction: productions mean what the path means, each pass keeps that, and one pass decides it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from generators_xseq_paths import BACKWARD, FORWARD, documents, local_predicates, paths, steps
from ostinato.automata.cxseq import PASSES, is_safe
from ostinato.automata.cxseq_paths import productions
from ostinato.automata.cxseq_vpa import recognises
from ostinato.errors import QueryError
from ostinato.plan.xseq import Exists, Path, XSeqQuery
from ostinato.semantics.cxseq import pairs
from ostinato.semantics.xseq import evaluate
from ostinato.tree.document import read_xml
from ostinato.tree.words import from_tree

AXES = FORWARD + BACKWARD
inner = paths(AXES, intersect=False, variables=False)
predicates = st.one_of(local_predicates(), steps(AXES, local_predicates()).map(Exists), inner.map(Exists))


@settings(max_examples=40, deadline=None)
@given(paths(AXES, predicates, intersect=False), documents())
def test_one_pass_decides(path: Path, written: bytes) -> None:
    tree = read_xml(written)
    assert recognises(path, from_tree(tree)) == bool(evaluate(XSeqQuery(path), tree))


@settings(max_examples=30, deadline=None)
@given(paths(AXES, predicates), documents())
def test_passes_keep_the_pairs(path: Path, written: bytes) -> None:
    tree = read_xml(written)
    query = productions(path)
    expected = pairs(query, tree)
    assert is_safe(query)
    ends = {end for start, end in expected if start is tree and end is not tree}
    assert len(ends) == len(evaluate(XSeqQuery(path), tree))
    for each in PASSES:
        try:
            query = each(query)
        except QueryError as error:
            assert "intersection of longer paths" in str(error)
            return
        assert pairs(query, tree) == expected, each.__name__
