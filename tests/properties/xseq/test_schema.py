"""Queries made smaller by a schema give the same answers on every document that fits it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ostinato.documents.schema.sample import from_sample
from ostinato.xseq.plan.schema_passes import optimise, rebuild_path
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax import nodes as n
from support.generators.paths import BACKWARD, FORWARD, NAMES, documents, local_predicates, paths, steps
from support.generators.xseq import answer
from support.nested_words import letters_of_tree

AXES = FORWARD + BACKWARD


def all_paths() -> st.SearchStrategy[n.Path]:
    return paths(AXES, st.one_of(local_predicates(), steps(AXES, local_predicates()).map(n.Exists)))


@st.composite
def queries(draw: Any) -> n.Query:
    """Queries with some steps bound to X or Y, and conditions on their names."""
    path = draw(all_paths())
    named = draw(st.lists(st.sampled_from((None, "X", "Y")), min_size=3, max_size=3))
    taken = iter(named * 20)

    def bound(step: n.Step) -> n.Step:
        variable = next(taken)
        return (
            step
            if step.axis in (n.Axis.ATTRIBUTE, n.Axis.SELF) or step.test.kind is not n.Kind.ANY
            else replace(step, variable=variable)
        )

    path = rebuild_path(path, bound)
    known = {name for name in "XY" if f"variable='{name}'" in repr(path)}
    if not known:
        return n.Query(path)
    tags = tuple(
        n.Comparison("=", n.Reference(name, leaf=n.Leaf.TAG), n.Constant(draw(st.sampled_from(NAMES))))
        for name in sorted(known)
        if draw(st.booleans())
    )
    where = None if not tags else tags[0] if len(tags) == 1 else n.And(tags)
    items = tuple(n.Item(n.Reference(name, leaf=n.Leaf.ATTRIBUTE, name="p"), name) for name in sorted(known))
    return n.Query(path, items if draw(st.booleans()) else None, where)


@given(queries(), st.lists(documents(), min_size=1, max_size=3), st.booleans())
def test_same_answers(query: n.Query, written: list[bytes], promised: bool) -> None:
    trees = [read_xml(each) for each in written]
    schema = replace(from_sample(map(letters_of_tree, trees)), assumed=not promised)
    smaller, notes = optimise(query, schema)
    for tree in trees:
        expected = answer(query, tree)
        assert answer(smaller, tree) == expected
        assert not (expected and any(note.never for note in notes))
