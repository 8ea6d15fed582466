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
