"""The cases of other engines' suites and of the standard, by meaning: see docs/sql.md for the table."""

from __future__ import annotations

import pytest

import ostinato as ost
from ostinato.sql.runtime.answer import answer
from ostinato.sql.runtime.source import Source
from ostinato.sql.semantics.rows import evaluate
from ostinato.sql.syntax import nodes as n
from support.sql_cases import Case, read_cases, rows

CASES = read_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}: {case.name}")
def test_embedded(case: Case) -> None:
    if case.error is None:
        expected = case.expected if case.ordered else tuple(sorted(case.expected))
        assert rows(ost.sql(case.query).detect(case.tables), case.ordered) == expected
        return
    with pytest.raises(getattr(ost, case.error)) as raised:
        ost.sql(case.query).detect(case.tables)
    for part in case.expected:
        assert part in str(raised.value)


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.error is None], ids=lambda case: f"{case.file}: {case.name}"
)
def test_as_declared(case: Case) -> None:
    def declared(match: n.MatchRecognize, source: Source) -> object:
        return evaluate(match, source.connection, source.text, source.alias, source.joined)

    expected = case.expected if case.ordered else tuple(sorted(case.expected))
    found = answer(ost.sql(case.query).query, case.tables, declared)
    assert rows(found, case.ordered) == expected


def test_no_two_cases_share_a_name() -> None:
    names = [(case.file, case.name) for case in CASES]
    assert len(set(names)) == len(names)
