"""Levels: the states that wait among the children of an element, made as a document needs them."""

from __future__ import annotations

import ostinato
from ostinato.xseq.walk.determinise import OTHER_CLASS, LazyDeterminiser


def determiniser(text: str) -> LazyDeterminiser:
    return LazyDeterminiser(ostinato.xseq(text).compiled.tables)


def test_children_and_descendants() -> None:
    found = determiniser("/a//b")
    inside = found.entry(found.first, found.class_of("a"), 0).inner
    assert found.entry(found.first, found.class_of("b"), 0).inner == frozenset()  # only a root `a` leads on
    assert found.entry(inside, OTHER_CLASS, 0).inner == inside  # a descendant may stand deeper
    assert found.entry(inside, found.class_of("b"), 0).accepts and not found.entry(inside, OTHER_CLASS, 0).accepts


def test_the_next_sibling_waits_once() -> None:
    found = determiniser("/a/b\\c")
    inside = found.entry(found.first, found.class_of("a"), 0).inner
    after = found.entry(inside, found.class_of("b"), 0).after
    assert found.entry(after, found.class_of("c"), 0).accepts
    assert found.entry(after, OTHER_CLASS, 0).after == inside


def test_tests_of_single_nodes_are_bits() -> None:
    found = determiniser("/a[@p > 1]")
    name = found.class_of("a")
    assert found.tests(found.first, name) == 1 and found.tests(found.first, OTHER_CLASS) == 0
    assert found.entry(found.first, name, 1).accepts and not found.entry(found.first, name, 0).accepts


def test_moves_that_bind_begin_runs() -> None:
    found = determiniser("return $X@p from //$X/b")
    assert found.entry(found.first, OTHER_CLASS, 0).spawns == (0,)
