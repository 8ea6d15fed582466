"""Tests of one element as plain Python, which the paper's automata run: they agree with what evaluates everything."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.query import evaluate
from ostinato.xseq.semantics.tree import read_xml

DOCUMENT = b'<r><a x="1" y="abc" z="1e308" big="1e999"/></r>'


@pytest.mark.parametrize(
    ("condition", "held"),
    [
        ("@x = 1", True),
        ("1 < @y", True),  # a constant is a text
        ("1.0 < 'abc'", True),
        ("@x + 1 < @y", False),  # a computed number has none
        ("@x + 1 = @y", False),
        ("@x + 1 != @y", True),
        ("-@x < @y", False),
        ("@z * 10 > 1", False),  # beyond all floats is NULL
        ("not(@z * 10 > 1)", True),
        ("@big > 1", True),
        ("-@big < 1", False),
        ("@big - @big = @x", False),
        ("@x div 0 = 1", False),
        ("5 mod 2 = @x", True),
        ("@nothing != 1", False),
    ],
)
def test_a_path_that_leads_back_and_one_that_does_not_agree(condition: str, held: bool) -> None:
    assert bool(evaluate(parse_and_check(f"//a[{condition}]"), read_xml(DOCUMENT))) == held
    forward, back = ost.xseq(f"//a[{condition}]"), ost.xseq(f"//a[{condition}]/parent::r")
    assert bool(forward.detect(DOCUMENT).num_rows) == held
    assert bool(back.detect(DOCUMENT).num_rows) == held
    assert back.recognises(DOCUMENT) == held
