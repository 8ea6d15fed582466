"""CSV: types, separators, quotes and bad rows."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from ostinato.errors import DataError
from ostinato.files import open_events, text
from support.event_files import Write, rows

BAD_CSV = "a,b\n1,x\n2\n\n3,y,z\n4,w\n"


def jsonl(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_types(write: Write) -> None:
    path = write(
        "e.csv",
        "when,day,zoned,n,x,flag,word,none\n"
        "2026-01-01 10:00:00,2026-01-01,2026-01-01T10:00:00.5Z,1,1.5,true,NA,\n"
        '2026-01-01 10:00:01,2026-01-02,2026-01-01T12:00:00+02:00,,nan,false,"",\n'
        "N/A,,,3,NULL,,,\n",
    )
    table = pa.concat_tables(list(open_events(path)))
    assert table.to_pydict()["word"] == ["NA", "", None]
    assert table["n"].to_pylist() == [1, None, 3]
    assert table["flag"].to_pylist() == [True, False, None]
    assert table["x"].to_pylist()[0] == 1.5 and table["x"].to_pylist()[2] is None
    assert table["when"].to_pylist() == [datetime(2026, 1, 1, 10), datetime(2026, 1, 1, 10, 0, 1), None]
    assert table["day"].to_pylist() == [date(2026, 1, 1), date(2026, 1, 2), None]
    assert table["zoned"].cast(pa.timestamp("ms", "UTC")).to_pylist()[:2] == [
        datetime(2026, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC),
        datetime(2026, 1, 1, 10, tzinfo=UTC),
    ]
    assert table["none"].null_count == 3


@pytest.mark.parametrize(
    ("early", "late", "expected"),
    [
        ("1", "2.5", [1.0] * 9 + [2.5]),
        ("", "7", [None] * 9 + [7]),
        ("1", "x", ["1"] * 9 + ["x"]),
        ("2026-01-01", "2026-01-02 10:00:00", [datetime(2026, 1, 1)] * 9 + [datetime(2026, 1, 2, 10)]),
        ("true", "1.5", ["true"] * 9 + ["1.5"]),
        ("10:00:00", "x", ["10:00:00"] * 9 + ["x"]),
    ],
)
@pytest.mark.usefixtures("small_blocks")
def test_csv_types_fit_the_whole_file(write: Write, early: str, late: str, expected: list[Any]) -> None:
    path = write("e.csv", "a,b\n" + f"{early},k\n" * 9 + f"{late},k\n")
    reader = open_events(path)
    assert [row["a"] for row in rows(reader)] == expected
    assert len({table.schema for table in reader}) == 1


@pytest.mark.usefixtures("small_blocks")
def test_csv_values_with_line_breaks(write: Write) -> None:
    values = [f'line {n}\nbreak, "quoted" {"x" * n}' for n in range(20)]
    lines = ['"' + value.replace('"', '""') + '"' for value in values]
    path = write("e.csv", "a,b\n" + "".join(f"{line},{n}\n" for n, line in enumerate(lines)))
    assert [(row["a"], row["b"]) for row in rows(open_events(path))] == [(value, n) for n, value in enumerate(values)]


def test_long_rows(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 3_000_000
    assert rows(open_events(write("e.csv", f"a,b\n1,{long}\n2,y\n"))) == [{"a": 1, "b": long}, {"a": 2, "b": "y"}]
    assert rows(open_events(write("e.jsonl", f'{{"a": "{long}"}}\n{{"a": "y"}}\n'))) == [{"a": long}, {"a": "y"}]
    monkeypatch.setattr(text, "BLOCK", 1000)
    monkeypatch.setattr(text, "LONGEST_ROW", 10_000)
    for name in ("e.csv", "e.jsonl"):
        with pytest.raises(DataError, match=f"{name}: line .* does not end within"):
            open_events(write(name, "a" * 20_000))


def test_quotes_that_do_not_pair_up(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 100)
    monkeypatch.setattr(text, "LONGEST_ROW", 300)
    path = write("e.csv", "a,b\n" + "".join(f'{n},5" disk\n' if n == 3 else f"{n},x\n" for n in range(200)))
    assert [row["a"] for row in rows(open_events(path))] == list(range(200))


def test_csv_separators_and_byte_order_mark(write: Write) -> None:
    assert rows(open_events(write("e.csv", "\ufeffa;b\n1;2,5\n"))) == [{"a": 1, "b": "2,5"}]
    assert rows(open_events(write("e.csv", "a\tb\r\n1\t2\r\n"))) == [{"a": 1, "b": 2}]


def test_csv_without_rows(write: Write) -> None:
    for content in ("a,b", "a,b\n", "a,b\n\n\n"):
        reader = open_events(write("e.csv", content))
        assert (reader.schema.names, rows(reader)) == (["a", "b"], [])


def test_bad_csv_row_is_named(write: Write) -> None:
    with pytest.raises(DataError, match=r'e\.csv, line 3: expected 2 values, got 1: 2\nfix: .*on_error="skip"'):
        rows(open_events(write("e.csv", BAD_CSV)))


@pytest.mark.parametrize("on_error", ["skip", "collect"])
@pytest.mark.parametrize("block", [1 << 20, 12])
def test_bad_csv_rows_are_left_out(write: Write, monkeypatch: pytest.MonkeyPatch, on_error: Any, block: int) -> None:
    monkeypatch.setattr(text, "BLOCK", block)
    reader = open_events(write("e.csv", BAD_CSV), on_error=on_error)
    assert rows(reader) == [{"a": 1, "b": "x"}, {"a": 4, "b": "w"}]
    assert reader.bad_count == 2
    assert [(bad.line, bad.text, bad.reason) for bad in reader.bad_rows] == [
        (3, "2", "expected 2 values, got 1"),
        (5, "3,y,z", "expected 2 values, got 3"),
    ]


def test_bad_values_in_columns_that_must_be_numbers(write: Write) -> None:
    path = write("e.csv", "a,b,t\n 1,x,10:00\n?,y,10:01\n3,z\n2.5,w,10:02\n")
    assert open_events(path).schema.field("a").type == pa.string()
    with pytest.raises(DataError, match=r"line 3: `a` is '\?', not a number: \?,y,10:01"):
        rows(open_events(path, kinds={"a": "number"}))
    reader = open_events(path, kinds={"a": "number", "b": "string"}, on_error="collect")
    assert [row["a"] for row in rows(reader)] == [1.0, 2.5]
    assert [(bad.line, bad.text) for bad in reader.bad_rows] == [(3, "?,y,10:01"), (4, "3,z")]


def test_skipping_remembers_only_the_first_bad_rows(write: Write) -> None:
    reader = open_events(write("e.csv", "a,b\n" + "1\n" * 500 + "1,2\n"), on_error="skip")
    assert (rows(reader), reader.bad_count, len(reader.bad_rows)) == ([{"a": 1, "b": 2}], 500, 100)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,a\n1,2\n", "two columns are named `a`"),
        (b"\n\n1,2\n", "no header line"),
        (b"a,b\n1,\xff\xfe\n", "not UTF-8"),
    ],
)
def test_unreadable_csv(write: Write, content: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        rows(open_events(write("e.csv", content)))


def test_a_lone_carriage_return_in_the_header_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(b"type,v\rA,1\n")
    with pytest.raises(DataError, match="header cannot be read"):
        open_events(path)
