"""The general construction: productions mean what the path means, each pass keeps that, and one pass decides it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.errors import QueryError
from ostinato.xseq.paper.path_productions import productions
from ostinato.xseq.paper.productions import PASSES, is_safe
from ostinato.xseq.semantics.query import evaluate
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax import nodes as n
from support.cxseq_fixpoint import pairs
from support.generators.paths import BACKWARD, FORWARD, documents, local_predicates, paths, steps
from support.nested_words import letters_of_tree
from support.vpa import recognises

AXES = FORWARD + BACKWARD
inner = paths(AXES, intersect=False, variables=False)
predicates = st.one_of(local_predicates(), steps(AXES, local_predicates()).map(n.Exists), inner.map(n.Exists))


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(paths(AXES, predicates, intersect=False), documents())
def test_one_pass_decides(path: n.Path, written: bytes) -> None:
    tree = read_xml(written)
    assert recognises(path, letters_of_tree(tree)) == bool(evaluate(n.Query(path), tree))


@settings(max_examples=30, deadline=None)
@given(paths(AXES, predicates), documents())
def test_passes_keep_the_pairs(path: n.Path, written: bytes) -> None:
    tree = read_xml(written)
    query = productions(path)
    expected = pairs(query, tree)
    assert is_safe(query)
    ends = {end for start, end in expected if start is tree and end is not tree}
    assert len(ends) == len(evaluate(n.Query(path), tree))
    for each in PASSES:
        try:
            query = each(query)
        except QueryError as error:
            assert "intersection of longer paths" in str(error)
            return
        assert pairs(query, tree) == expected, each.__name__
