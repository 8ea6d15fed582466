"""CSV and JSON lines that would lose rows, or worse, without a word."""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.errors import DataError
from ostinato.files import EventReader, open_events, text
from ostinato.files.jsonl import DEEPEST


def rows(reader: EventReader) -> list[dict[str, Any]]:
    return [row for table in reader for row in table.to_pylist()]


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def bad_lines(reader: EventReader) -> list[tuple[int, str]]:
    return [(bad.line, bad.text) for bad in reader.bad_rows]


@pytest.fixture(params=[1 << 22, 40])
def blocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", request.param)


# -- quotes

OPEN = 'a,b\n1,x\n2,"two\nlines"\n3,"left open\n4,y\n5,z\n'
CLOSED_BY_ANOTHER = 'a,b\n1,x\n2,"left open\n3,y\n4,"z"\n5,w\n'


@pytest.mark.usefixtures("blocks")
def test_a_quote_left_open_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "e.csv", OPEN)
    with pytest.raises(DataError, match=r'e\.csv, line 5: a quote opens here that nothing closes: 3,"left open\nfix: '):
        rows(open_events(path))
    reader = open_events(path, on_error="collect")
    assert rows(reader) == [{"a": 1, "b": "x"}, {"a": 2, "b": "two\nlines"}, {"a": 4, "b": "y"}, {"a": 5, "b": "z"}]
    assert bad_lines(reader) == [(5, '3,"left open')]


@pytest.mark.usefixtures("blocks")
def test_a_quote_closed_by_a_later_value_is_told_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path / "e.csv", CLOSED_BY_ANOTHER)
    with pytest.raises(DataError, match=r"e\.csv, line 3: a quote opens here"):
        rows(open_events(path))
    reader = open_events(path, on_error="skip")
    assert [row["a"] for row in rows(reader)] == [1, 3, 4, 5]
    assert reader.bad_count == 1


def test_quotes_are_not_looked_for_beyond_the_longest_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text, "BLOCK", 100)
    monkeypatch.setattr(text, "LONGEST_ROW", 300)
    path = written(tmp_path / "e.csv", "a,b\n" + "".join(f'{n},"x\n' if n == 3 else f"{n},x\n" for n in range(400)))
    reader = open_events(path, on_error="collect")
    assert [row["a"] for row in rows(reader)] == [n for n in range(400) if n != 3]
    assert bad_lines(reader) == [(5, '3,"x')]


PIECES = ['"', "a", ",", "\n", "x,y\n", '"q",z\n', '1,"m\nn"\n', " ", '""', "\r\n", "é"]


@settings(max_examples=30)
@given(st.lists(st.sampled_from(PIECES), max_size=14).map("".join))
def test_blocks_of_any_size_give_the_same_rows(content: str) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        found = []
        for size in (1 << 20, 17, 6):
            patch.setattr(text, "BLOCK", size)
            path = written(Path(folder) / f"{size}.csv", "a,b\n" + content)
            reader = open_events(path, on_error="collect", kinds={"a": "string", "b": "string"})
            found.append((rows(reader), [(bad.line, bad.text, bad.reason) for bad in reader.bad_rows]))
    assert found[0] == found[1] == found[2]


def test_bad_rows_with_values_over_lines_are_told_with_their_line(tmp_path: Path) -> None:
    path = written(tmp_path / "e.csv", 'a,b\n1,"two\nlines"\n\n 2\n 2,x\n3,"y\nz",w\n?,v\n')
    reader = open_events(path, on_error="collect", kinds={"a": "number"})
    assert [row["a"] for row in rows(reader)] == [1.0, 2.0]
    assert bad_lines(reader) == [(5, " 2"), (7, '3,"y\nz",w'), (9, "?,v")]


def test_rows_that_end_with_a_carriage_return_alone(tmp_path: Path) -> None:
    path = written(tmp_path / "e.csv", 'a,b\n1,"x"\r2,y\r3\r4,"z\r')
    reader = open_events(path, on_error="collect")
    assert [row["a"] for row in rows(reader)] == [1, 2]
    assert reader.bad_count == 2


def test_a_quote_left_open_in_the_header(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 1: a quote in the header line is never closed"):
        open_events(written(tmp_path / "e.csv", '"a,b\n1,2\n'))


# -- nesting


def nested(depth: int) -> str:
    """A line with an attribute so that objects and lists are `depth` deep, counting the line itself."""
    return '{"v": 1, "a": ' + '[{"b": ' * (depth // 2) + "1" + "}]" * (depth // 2) + "}"


def test_deeply_nested_lines_are_bad(tmp_path: Path) -> None:
    fine = json.dumps({"v": 0, "s": "[{" * 4000, "wide": [[n] for n in range(200)]})
    for depth in (500, 2000, 3000, 100_000):
        path = written(tmp_path / "e.jsonl", f'{fine}\n{nested(depth)}\n{{"v": 2}}\n')
        with pytest.raises(DataError, match=rf"e\.jsonl, line 2: nested more than {DEEPEST} deep: "):
            rows(open_events(path))
        reader = open_events(path, on_error="collect")
        assert [row["v"] for row in rows(reader)] == [0, 2]
        assert [line for line, _ in bad_lines(reader)] == [2]


def test_nesting_up_to_the_bound_is_read(tmp_path: Path) -> None:
    line = nested(DEEPEST - 2)
    assert rows(open_events(written(tmp_path / "e.jsonl", line + "\n"))) == [json.loads(line)]


# -- encoding


@pytest.mark.usefixtures("blocks")
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("e.jsonl", b'{"v": 1, "s": "\xc3\xa9"}\n{"v": 2, "s": "caf\xe9"}\n{"v": 3, "s": "x"}\n'),
        ("e.csv", b'v,s\n1,\xc3\xa9\n2,caf\xe9\n3,"x"\n'),
        ("e.csv", b'v,s\n1,\xc3\xa9\n2,"caf\ncaf\xe9\ncaf"\n3,x\n'),
    ],
)
def test_text_that_is_not_utf8_is_told_with_its_line(tmp_path: Path, name: str, content: bytes) -> None:
    path = written(tmp_path / name, content)
    line = content[: content.index(b"\xe9", content.index(b"caf"))].count(b"\n") + 1
    with pytest.raises(DataError, match=rf"{name}, line {line}: text that is not UTF-8: .*caf\ufffd"):
        rows(open_events(path))
    for on_error in ("skip", "collect"):
        reader = open_events(path, on_error=on_error)
        assert [(row["v"], row["s"]) for row in rows(reader)] == [(1, "é"), (3, "x")]
        assert [line for line, _ in bad_lines(reader)] == [line]


def test_a_byte_order_mark(tmp_path: Path) -> None:
    for name, content in (("e.jsonl", '\ufeff{"a": 1}\n{"a": 2}\n'), ("e.csv", "\ufeffa\n1\n2\n")):
        assert rows(open_events(written(tmp_path / name, content))) == [{"a": 1}, {"a": 2}]


# -- nothing


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl", "e.csv.gz", "e.json.gz"])
@pytest.mark.parametrize("content", ["", "\n", " \n\n"])
def test_files_of_nothing_have_no_rows_and_no_columns(tmp_path: Path, name: str, content: str) -> None:
    raw = content.encode()
    path = written(tmp_path / name, gzip.compress(raw) if name.endswith("gz") else raw)
    reader = open_events(path)
    assert (reader.schema.names, rows(reader)) == ([], [])
    other = written(tmp_path / "other.jsonl", '{"v": 1}\n')
    assert rows(open_events([path, other, path])) == [{"v": 1}]


# -- the first pass


@pytest.mark.parametrize("name", ["e.csv", "e.jsonl"])
def test_the_search_for_types_says_how_far_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(text, "BLOCK", 64)
    content = "v\n" + "12345\n" * 100 if name == "e.csv" else '{"v": 1}\n' * 100
    path = written(tmp_path / name, content)
    steps: list[int] = []
    reader = open_events(path, scanned=steps.append)
    assert len(steps) > 3 and sum(steps) == reader.bytes_total
    again: list[int] = []
    assert open_events(path, columns=["v"], scanned=again.append).schema == pa.schema([("v", pa.int64())])
    assert again == []  # types are looked for once
