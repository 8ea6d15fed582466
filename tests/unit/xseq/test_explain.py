"""`explain` shows the walk that runs and how documents are evaluated; `diagram` draws the paper's automaton."""

from __future__ import annotations

import pytest

import ostinato
from ostinato.errors import QueryError

FALLING = r"""
return $Z@price, last($X)@price from /s/$Z \$X (\$X)*
where tag($X) = 't' and first($X)@price < $Z@price and $X@price < prev($X)@price partition by /s/*@company
"""


def stages(query: str, **options: object) -> dict[str, str]:
    """The parts of an explanation by their first lines."""
    parts = ostinato.xseq(query, **options).explain().split("\n\n")  # type: ignore[arg-type]
    return {title: rest for title, _, rest in (part.partition("\n") for part in parts)}


def test_one_pass() -> None:
    found = stages(FALLING)
    assert list(found) == [
        "query",
        "after the passes",
        "passes",
        "walk: 5 states, 5 moves, from state 0 to 3, 4",
        "walk of `partition by`: 3 states, 2 moves, from state 0 to 2",
        "evaluation",
    ]
    walk = r"""
  from  move      to
  0     /s        1
  1     /* as $Z  2   keeps $Z@price
  2     \t as $X  3   keeps $X@price; tests first($X)@price < $Z@price
  3     \t as $X  4   keeps $X@price; tests $X@price < prev($X)@price
  4     \t as $X  4   keeps $X@price; tests $X@price < prev($X)@price"""
    assert found["walk: 5 states, 5 moves, from state 0 to 3, 4"] == walk.removeprefix("\n")
    assert "one pass" in found["evaluation"] and "partitioned by @company" in found["evaluation"]


def test_parts_that_are_kept() -> None:
    """A path in a predicate is a walk of its own."""
    found = stages("//a[/b[@p = 1]/c]/d/@e")
    assert "//a[/b[@p = 1]/c]" in found["walk: 4 states, 3 moves, from state 0 to 3"]
    assert "/b[@p = 1]" in found["walk of a path in a condition: 3 states, 2 moves, from state 0 to 2"]
    assert "keeps one //a element at a time" in found["evaluation"]
    assert "`recognises` keeps a stack alone" in found["evaluation"]


def test_conditions_that_hold_a_path() -> None:
    assert "//a[/b >= '' or not(/c = /c)]" in ostinato.xseq("//a[b or not(c = c)]").explain().partition("walk")[2]


def test_moves_that_stay_at_a_node() -> None:
    assert "remember this node as #0" in ostinato.xseq("//a (/b intersect //b[@p])").explain()
    found = ostinato.xseq("return $X@p from //a (/$X/parent::a)*").explain()
    assert "rounds begin here (#0)" in found and "another round, if none began here (#0)" in found


def test_rounds_of_a_path_variable() -> None:
    found = ostinato.xseq("return first($Z) $X@p from // ($Z: $X $Y $Z)").explain()
    assert "a round of $Z begins" in found and "round($Z), first($Z) $X@p" in found


def test_the_picture_is_the_papers_automaton() -> None:
    assert ostinato.xseq("//a/b").diagram().svg().startswith("<svg")
    with pytest.raises(QueryError, match="forward fragment"):
        ostinato.xseq("//a/parent::b").diagram()
