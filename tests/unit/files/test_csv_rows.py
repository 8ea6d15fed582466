"""Rows of CSV text, whatever its quotes look like."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostinato.files.csv_rows import UnclosedQuote, find_rows

fields = st.text(st.sampled_from('ab",\n'), max_size=5)


@given(st.lists(st.lists(fields, min_size=1, max_size=3), max_size=6), st.booleans())
def test_rows_of_well_formed_text(table: list[list[str]], everything: bool) -> None:
    written = []
    for row in table:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n", quoting=csv.QUOTE_ALL if everything else csv.QUOTE_MINIMAL).writerow(row)
        written.append(line.getvalue().encode())
    data = b"".join(written)
    ends = [sum(map(len, written[: n + 1])) for n in range(len(written))]
    for complete in (True, False):
        found = find_rows(data, ",", complete=complete)
        assert (found.ends.tolist(), found.unclosed) == (ends, [])


@given(st.text(st.sampled_from('a",\n'), max_size=14).map(str.encode))
def test_every_line_break_is_in_a_value_or_ends_a_row(data: bytes) -> None:
    found = find_rows(data, ",", complete=True)
    for bad in found.unclosed:
        assert bad.start <= bad.quote < bad.end <= len(data)
        assert data[bad.quote : bad.quote + 1] == b'"'
        assert data.find(b"\n", bad.quote, bad.end - 1) == -1
        assert bad.end == len(data) or bad.end in found.ends
    starts = [0, *found.ends.tolist()]
    assert all(bad.start in starts for bad in found.unclosed)
    without = data
    for bad in reversed(found.unclosed):
        without = without[: bad.start] + without[bad.end :]
    assert find_rows(without, ",", complete=True).unclosed == []


@pytest.mark.parametrize(
    ("data", "ends", "unclosed"),
    [
        ('1,5" disk\n2,x\n', [10, 14], []),  # a quote in the middle of a value is nothing special
        ('1,"a\n2,b\n', [5, 9], [UnclosedQuote(0, 2, 5)]),
        ('1,x\n2,"a\nb","c\n3,d', [4, 15], [UnclosedQuote(4, 12, 15)]),
        ('1,"a\n2,"b"\n3,c\n', [5, 11, 15], [UnclosedQuote(0, 2, 5)]),  # closed by a quote that opens another value
        ('1,"a"b\n2,c\n', [7, 11], []),  # careless, but within a line
        ('"a', [], [UnclosedQuote(0, 0, 2)]),
        ('1,"a"', [], []),
    ],
)
def test_quotes_left_open(data: str, ends: list[int], unclosed: list[UnclosedQuote]) -> None:
    found = find_rows(data.encode(), ",", complete=True)
    assert (found.ends.tolist(), found.unclosed) == (ends, unclosed)


def test_what_follows_may_still_close_a_quote() -> None:
    for data in (b'1,a\n2,"b\n', b'1,a\n2,"b\n3""\n', b'1,5" x\n2,"b\n'):
        found = find_rows(data, ",", complete=False)
        assert (found.ends.tolist()[-1], found.unclosed) == (data.index(b"\n") + 1, [])
