"""Laws of XSeq on random documents and queries, by the declarative evaluator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.xseq.plan.check import check
from ostinato.xseq.semantics.query import columns, repeating_variables
from ostinato.xseq.semantics.tree import read_json, read_xml
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import repeating_variables as planned
from support.generators.xseq import Tree, answer, forward_queries, queries, to_json, to_xml, trees, xml_documents


@given(st.one_of(forward_queries(), queries()))
def test_generated_queries_are_queries(query: n.Query) -> None:
    check(query)
    assert repeating_variables(query.path) == planned(query)


@given(forward_queries())
def test_forward_queries_have_forward_axes_only(query: n.Query) -> None:
    axes = [step.axis for step in n.steps(query.path)]
    assert not any(axis.backward for axis in axes)
    assert n.Axis.ATTRIBUTE not in axes[:-1]


@given(queries(), xml_documents())
@settings(max_examples=30)
def test_a_row_has_a_value_for_some_column(query: n.Query, data: bytes) -> None:
    rows = answer(query, read_xml(data))
    assert all(len(row) == len(columns(query)) and any(value is not None for value in row) for row in rows)


@given(forward_queries(), trees(for_json=True))
@settings(max_examples=30)
def test_one_answer_from_both_formats(query: n.Query, tree: Tree) -> None:
    """Elements are not shown, since they are written differently."""
    if query.items is None:
        return
    items = tuple(item for item in query.items if not (isinstance(item.operand, n.Reference) and not item.operand.name))
    if items:
        query = replace(query, items=items)
        from_json = answer(query, read_json(to_json(tree), root=tree.name))
        assert from_json == answer(query, read_xml(to_xml(tree)))


@given(queries(), xml_documents())
@settings(max_examples=30)
def test_longest_is_part_of_all(query: n.Query, data: bytes) -> None:
    document = read_xml(data)
    every = answer(query, document)
    longest = answer(query, document, "longest")
    if "Aggregate" not in repr(query.items):
        assert all(longest.count(row) <= every.count(row) for row in longest)


@given(queries(), xml_documents())
@settings(max_examples=30)
def test_a_union_of_the_same_and_a_star_of_a_star_add_nothing(query: n.Query, data: bytes) -> None:
    document = read_xml(data)
    if query.partition is not None or "Aggregate" in repr(query) or "Define" in repr(query):
        return  # what stands twice repeats, and means something else
    twice = replace(query, path=n.Union((query.path, query.path)))
    assert answer(twice, document) == answer(query, document)
    if isinstance(query.path, n.Star) or any(isinstance(part, n.Star) for part in n.parts(query.path)):
        again = tuple(n.Star(part) if isinstance(part, n.Star) else part for part in n.parts(query.path))
        starred: dict[str, Any] = {"parts": again}
        assert answer(replace(query, path=replace(query.path, **starred)), document) == answer(query, document)
