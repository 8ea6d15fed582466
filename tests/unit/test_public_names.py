"""The names of `ostinato` itself."""

from __future__ import annotations

import inspect
import subprocess
import sys

import pytest

import ostinato as ost


@pytest.mark.parametrize("name", ost.__all__)
def test_every_public_name_is_there_is_listed_and_says_what_it_is(name: str) -> None:
    assert name in dir(ost)
    assert inspect.getdoc(getattr(ost, name))


def test_what_is_not_public_is_not_there() -> None:
    with pytest.raises(AttributeError, match="no attribute 'celery'"):
        _ = ost.celery


def test_functions_are_not_replaced_by_the_packages_of_their_names() -> None:
    """Importing a package sets its name in the parent; here functions have these names."""
    script = (
        "import ostinato, ostinato.rules.program, ostinato.sql.query, ostinato.xseq.query\n"
        "from ostinato.rules import syntax\nfrom ostinato import xseq, rules, sql\n"
        "assert all(map(callable, (ostinato.rules, ostinato.sql, ostinato.xseq, xseq, rules, sql)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


QUERY = ost.cel("A AS x")
CLAUSE = "MATCH_RECOGNIZE (ORDER BY ts MEASURES 1 AS n PATTERN (A))"


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (QUERY, "CelQuery"),
        (ost.srem("[type = 'A']"), "SremQuery"),
        (ost.sql(f"SELECT * FROM t {CLAUSE}"), "SqlQuery"),
        (ost.xseq("//a"), "XSeqQuery"),
        (ost.rules("DETECT y { n { 1 } } ON event e: a {{ }} END"), "RuleProgram"),
        (ost.funnel(["a", "b"]), "Funnel"),
        (ost.engine(QUERY).push([]), "LiveMatches"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_functions_return_has_a_public_type(value: object, kind: str) -> None:
    assert type(value) is getattr(ost, kind)
