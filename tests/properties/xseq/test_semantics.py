"""Laws of XSeq on random documents and queries, by the declarative evaluator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.documents.tree import read_json, read_xml
from ostinato.xseq.plan.check import check
from ostinato.xseq.semantics.query import columns, repeating
from ostinato.xseq.syntax.nodes import Axis, Reference, Star, Union, XSeqQuery, parts, steps
from ostinato.xseq.syntax.variables import repeating as planned
from support.generators.xseq import Tree, answer, forward_queries, queries, to_json, to_xml, trees, xml_documents


@given(st.one_of(forward_queries(), queries()))
def test_generated_queries_are_queries(query: XSeqQuery) -> None:
    check(query)
    assert repeating(query.path) == planned(query)


@given(forward_queries())
def test_forward_queries_have_forward_axes_only(query: XSeqQuery) -> None:
    axes = [step.axis for step in steps(query.path)]
    assert not any(axis.backward for axis in axes)
    assert Axis.ATTRIBUTE not in axes[:-1]


@given(queries(), xml_documents())
@settings(max_examples=30)
def test_a_row_has_a_value_for_some_column(query: XSeqQuery, data: bytes) -> None:
    rows = answer(query, read_xml(data))
    assert all(len(row) == len(columns(query)) and any(value is not None for value in row) for row in rows)


@given(forward_queries(), trees(for_json=True))
@settings(max_examples=30)
def test_one_answer_from_both_formats(query: XSeqQuery, tree: Tree) -> None:
    """Elements are not shown, since they are written differently."""
    if query.items is None:
        return
    items = tuple(item for item in query.items if not (isinstance(item.operand, Reference) and not item.operand.name))
    if items:
        query = replace(query, items=items)
        from_json = answer(query, read_json(to_json(tree), root=tree.name))
        assert from_json == answer(query, read_xml(to_xml(tree)))


@given(queries(), xml_documents())
@settings(max_examples=30)
def test_longest_is_part_of_all(query: XSeqQuery, data: bytes) -> None:
    document = read_xml(data)
    every = answer(query, document)
    longest = answer(query, document, "longest")
    if "Aggregate" not in repr(query.items):
        assert all(longest.count(row) <= every.count(row) for row in longest)


@given(queries(), xml_documents())
@settings(max_examples=30)
def test_a_union_of_the_same_and_a_star_of_a_star_add_nothing(query: XSeqQuery, data: bytes) -> None:
    document = read_xml(data)
    if query.partition is not None or "Aggregate" in repr(query) or "Define" in repr(query):
        return  # what stands twice repeats, and means something else
    twice = replace(query, path=Union((query.path, query.path)))
    assert answer(twice, document) == answer(query, document)
    if isinstance(query.path, Star) or any(isinstance(part, Star) for part in parts(query.path)):
        again = tuple(Star(part) if isinstance(part, Star) else part for part in parts(query.path))
        starred: dict[str, Any] = {"parts": again}
        assert answer(replace(query, path=replace(query.path, **starred)), document) == answer(query, document)
