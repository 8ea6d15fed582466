"""The cases of other engines' suites and of the standard, by meaning: see docs/sql.md for the table."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import ostinato as ost
from ostinato.sql.runtime.answer import answer
from ostinato.sql.runtime.source import Source
from ostinato.sql.semantics.rows import evaluate
from ostinato.sql.syntax import nodes as n
from support.spark.sql import Tasks
from support.sql_cases import Case, Cuts, read_cases, rows

CASES = read_cases()
ANSWERED = [case for case in CASES if case.error is None]
# Why the clauses of some cases are none for a stream, and how many there are at most.
NO_STREAM = {
    "has a subquery in an expression": 6,
    "orders by time descending": 4,
    "a stream is ordered by time, and this is string": 3,
    "the order of events needs its value": 2,
}
refused: Counter[str] = Counter()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = {"case": CASES, "answered": ANSWERED, "in_tasks": ANSWERED[::6]}
    if metafunc.config.getoption("all_cases"):
        given["in_tasks"] = ANSWERED
    for name in given.keys() & set(metafunc.fixturenames):
        metafunc.parametrize(name, given[name], ids=lambda case: f"{case.file}: {case.name}")


def test_embedded(case: Case) -> None:
    if case.error is None:
        expected = case.expected if case.ordered else tuple(sorted(case.expected))
        assert rows(ost.sql(case.query).detect(case.tables), case.ordered) == expected
        return
    with pytest.raises(getattr(ost, case.error)) as raised:
        ost.sql(case.query).detect(case.tables)
    for part in case.expected:
        assert part in str(raised.value)


def test_as_declared(answered: Case) -> None:
    def declared(match: n.MatchRecognize, source: Source) -> object:
        return evaluate(match, source.connection, source.text, source.alias, source.joined)

    check(answered, declared)


def test_in_tasks_of_spark(in_tasks: Case) -> None:
    check(in_tasks, Tasks(in_tasks.query))


def test_as_a_stream(answered: Case) -> None:
    try:
        check(answered, Cuts(answered.query))
    except ost.OstinatoError as error:
        (reason,) = (reason for reason in NO_STREAM if reason in error.reason)
        refused[reason] += 1
        assert refused[reason] <= NO_STREAM[reason]


def check(case: Case, evaluate: Any) -> None:
    expected = case.expected if case.ordered else tuple(sorted(case.expected))
    found = answer(ost.sql(case.query).query, case.tables, evaluate)
    assert rows(found, case.ordered) == expected


def test_no_two_cases_share_a_name() -> None:
    names = [(case.file, case.name) for case in CASES]
    assert len(set(names)) == len(names)
