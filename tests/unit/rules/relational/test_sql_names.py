"""Names that SQL tells apart, whatever rules call things."""

from __future__ import annotations

from ostinato.rules.algebra.nodes import CelStream
from ostinato.rules.relational.sql_names import ColumnNames, derived_table, escape_case, new_table, stream_table


def test_labels_that_differ_in_case_alone_have_tables_of_their_own() -> None:
    assert stream_table("Temp").lower() != stream_table("temp").lower()
    assert escape_case("^") != escape_case("") and escape_case("a^b").count("^") == 2


def test_streams_of_all_kinds_have_tables_of_their_own() -> None:
    tables = [stream_table("a"), stream_table(CelStream("a")), derived_table("a"), new_table(stream_table("a"))]
    assert len(set(tables)) == 4


def test_columns_of_variables_and_times_never_meet() -> None:
    names = ColumnNames()
    columns = [names.variable(name) for name in ("a", "A", "i.end", "x y")] + [names.time("i", "end")]
    assert len({column.lower() for column in columns}) == 5
    assert names.variable("A") == columns[1]
