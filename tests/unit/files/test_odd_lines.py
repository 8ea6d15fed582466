"""Lines and numbers that Arrow's readers take for something else, or die of."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato.errors import DataError
from ostinato.files import open_events


def jsonl(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "events.jsonl"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("line", ["null", ' "x"', "3", "[1]", '\ufeff{"type":"B"}', 'null {"type":"B"}', '"type":"B"}'])
def test_lines_without_an_object_are_bad_rows(tmp_path: Path, line: str) -> None:
    path = jsonl(tmp_path, f'{{"type":"A"}}\n{line}\n{{"type":"B"}}\n')
    with pytest.raises(DataError, match="line 2"):
        list(open_events(path))
    reader = open_events(path, on_error="collect")
    assert [row["type"] for table in reader for row in table.to_pylist()] == ["A", "B"]
    assert [bad.line for bad in reader.bad_rows] == [2]


@pytest.mark.parametrize("text", ["null\n", '{"type":"A"\n', "null\nnull\n3"])
def test_a_file_of_bad_rows_only_can_be_skipped(tmp_path: Path, text: str) -> None:
    with pytest.raises(DataError, match="line 1"):
        open_events(jsonl(tmp_path, text))
    assert sum(map(len, open_events(jsonl(tmp_path, text), on_error="skip"))) == 0


def test_a_byte_order_mark_may_begin_the_file(tmp_path: Path) -> None:
    assert sum(map(len, open_events(jsonl(tmp_path, '\ufeff{"type":"A"}\n{"type":"B"}\n')))) == 2


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl"])
def test_whole_numbers_beyond_64_bits_stay_apart(tmp_path: Path, name: str) -> None:
    large = [10**19 + 1, 10**19 + 2, 5]
    lines = ["type,id", *(f"A,{n}" for n in large)] if name.endswith("csv") else [f'{{"id":{n}}}' for n in large]
    path = tmp_path / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    (table,) = open_events(path)
    assert table["id"].to_pylist() == [Decimal(number) for number in large]
    assert table.schema.field("id").type == pa.decimal128(38, 0)


def test_large_numbers_with_fractions_are_floats(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("v\n10000000000000000001\n0.5\n", encoding="utf-8")
    assert open_events(path).schema.field("v").type == pa.float64()


def test_a_lone_carriage_return_in_the_header_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_bytes(b"type,v\rA,1\n")
    with pytest.raises(DataError, match="header cannot be read"):
        open_events(path)


@pytest.mark.parametrize("row", [{"type": "A", 1: 1}, {"type": "A", "v": 2**70}, {"type": "A", "s": "\ud800"}])
def test_what_is_no_event_is_a_data_error(row: dict[Any, Any]) -> None:
    with pytest.raises(DataError):
        ostinato.cel("A AS x").detect([row])


def test_what_is_no_text_is_no_query() -> None:
    with pytest.raises(ostinato.QueryError, match="not text"):
        ostinato.cel("A AS x FILTER x.v = '\ud800'")


def test_a_sum_may_be_the_least_64_bit_integer() -> None:
    rows = [{"type": "A", "a": -(2**62)}] * 2
    assert ostinato.cel("SELECT MAX sum(x.a) AS s WHERE (A AS x)+").detect(rows)["s"].to_pylist()[-1] == -(2**63)
    with pytest.raises(DataError, match="64-bit"):
        ostinato.cel("SELECT MAX sum(x.a) AS s WHERE (A AS x)+").detect([*rows, {"type": "A", "a": -1}])


@pytest.mark.parametrize("name", ["events.csv", "events.jsonl"])
def test_utf_16_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("type,v\nA,1\n", encoding="utf-16")
    with pytest.raises(DataError, match="UTF-16"):
        open_events(path)
