"""The cases of tests/vectors/sql through Spark: some of them, or all with `--all-cases`."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import ostinato as ost
from ostinato.spark.failures import unwrap_errors
from support.sql_cases import Case, read_cases, rows

CASES = read_cases()
# What the query around a clause, or what the clause reads, is called in Spark SQL; None: there is no such thing.
IN_SPARK_SQL: dict[str, dict[str, str] | None] = {
    "names: fields of nested columns": {"{'v': 10}": "struct(10 AS v)", "{'v': 20}": "struct(20 AS v)"},
    "names: dots in quotes": {"{'y': 20}": "struct(20 AS y)", 't("x.y", x)': "t(`x.y`, x)"},
    "names: a table function": {"FROM range(3)": "FROM range(3) AS r(range)"},
    "lambdas: their own parameters": {"([1, 2], 100)": "(array(1, 2), 100)"},
    "usecases: tries within an hour of the first one": {"INTERVAL (i * 14) MINUTE": "make_dt_interval(0, 0, i * 14)"},
    "review: what comes out is a table like any other": None,
    "testSimplePatternWithNulls": {"AS VARCHAR": "AS STRING"},
    "testCodeSplitsAreProperlyGenerated: keys of several columns": {"id // 5": "id div 5"},
    "testMatchRecognizeAppliedToWindowedGrouping": {
        "time_bucket(INTERVAL '3' SECOND, ts)": "to_timestamp_ntz(window(ts, '3 seconds').start)"
    },
    "testWindowedGroupingAppliedToMatchRecognize": {
        "time_bucket(INTERVAL '3' SECOND, moment)": "to_timestamp_ntz(window(moment, '3 seconds').start)"
    },
}
# Errors that Spark SQL puts otherwise.
ITS_OWN_WORDS = {"review: too many names for the columns": "does not match the number of source expressions"}
SAMPLE = CASES[::80]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = CASES if metafunc.config.getoption("all_cases") else SAMPLE
    metafunc.parametrize("case", cases, ids=lambda case: f"{case.file}: {case.name}")


def test_batch(spark: Any, case: Case) -> None:
    text = in_spark_sql(case)
    if text is None:
        pytest.skip("Spark SQL has no such thing")
    if case.error is None:
        assert answer(spark, text, case) == (case.expected if case.ordered else tuple(sorted(case.expected)))
        return
    with pytest.raises(ost.OstinatoError) as raised:  # one of a task is a DataError whatever it was
        answer(spark, text, case)
    for part in (ITS_OWN_WORDS[case.name],) if case.name in ITS_OWN_WORDS else case.expected:
        assert part in str(raised.value)


def in_spark_sql(case: Case) -> str | None:
    edits, text = IN_SPARK_SQL.get(case.name, {}), case.query
    if edits is None:
        return None
    for written, said in edits.items():
        assert written in text
        text = text.replace(written, said)
    return text


def answer(spark: Any, text: str, case: Case) -> tuple[str, ...]:
    query = ost.sql(text)
    given = {name.lower(): name for name in case.tables}
    names = {name: given[name.lower()] for name in query.tables if name.lower() in given}
    tables = {name: frame(spark, case.file, own) for name, own in names.items()}
    with unwrap_errors():
        return rows(query.detect(tables or spark).toArrow(), case.ordered)


@cache
def frame(spark: Any, file: str, name: str) -> Any:
    return spark.createDataFrame(next(case.tables[name] for case in CASES if case.file == file))
