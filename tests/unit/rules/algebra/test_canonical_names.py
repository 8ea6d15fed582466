"""Nodes that are equal up to names have one canonical form."""

from __future__ import annotations

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.canonical_names import canonicalise
from ostinato.rules.syntax import nodes as n


def match(ident: str, variable: str, value: n.Scalar = 1) -> cera.Match:
    term = n.Element("a", (n.Element("k", (n.Bind(variable),)), n.Element("v", (n.Const(value),))))
    return cera.Match(ident, term, "a")


def test_names_do_not_matter() -> None:
    (one, names), (other, _) = canonicalise(match("i", "X")), canonicalise(match("j", "Y"))
    assert one == other
    assert (names.events, names.data) == (["i"], ["X"])


def test_values_that_python_takes_for_equal_differ() -> None:
    forms = [canonicalise(match("i", "X", value))[0] for value in (1, 1.0, True, "1")]
    assert len(set(forms)) == 4


def test_which_names_are_shared_matters() -> None:
    same = cera.Join(match("i", "X"), match("j", "X"))
    different = cera.Join(match("i", "X"), match("j", "Y"))
    assert canonicalise(same)[0] != canonicalise(different)[0]
