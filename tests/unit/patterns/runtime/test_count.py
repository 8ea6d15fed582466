"""Counting batch by batch: exact at any size, in order, and in little memory."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.errors import LimitError
from ostinato.patterns.runtime import matcher, tallies
from ostinato.patterns.runtime.count import Counter, OutOfOrder, count_batches
from ostinato.patterns.runtime.counting_maps import moduli


def rows(letters: str, begin: int = 0) -> list[dict[str, Any]]:
    return [{"type": letter, "ts": begin + at} for at, letter in enumerate(letters)]


def pieces(letters: str, size: int) -> Iterable[list[dict[str, Any]]]:
    return (rows(letters[at : at + size], at) for at in range(0, len(letters), size))


def counted(query: str, batches: Iterable[Any], **options: Any) -> int:
    return count_batches(ost.cel(query).engine(**options), batches)


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that windows of a few events are carried from batch to batch."""
    monkeypatch.setattr(tallies, "_FEW", 1)


LETTERS = "ABCADBACBDAABBCD" * 3


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize(
    "query",
    [
        "A ; B ; C",
        "A+ ; B",
        "A ; B WITHIN 5 EVENTS",
        "A+ ; B WITHIN 7 seconds",
        "A ; B ; D WITHIN 9 ON ts",
        "A ; A PARTITION BY type",
        "A+ PARTITION BY type WITHIN 3 EVENTS",
        "A AS x ; ANY AS y FILTER x.type = y.type WITHIN 9 EVENTS",
        "A ; B CONSUME BY ANY",
        "SELECT MAX * WHERE A+ ; B",
        "SELECT NXT * WHERE A ; B ; C WITHIN 9 EVENTS",
        "SELECT STRICT * WHERE A ; B",
        "SELECT y WHERE A AS x ; B AS y",
        "A ; NOT D WITHIN 3 seconds",
    ],
)
def test_batches_of_any_size_give_the_count_of_the_whole(query: str) -> None:
    whole = len(ost.cel(query).detect(rows(LETTERS)))
    assert whole > 0
    assert [counted(query, pieces(LETTERS, size)) for size in (1, 2, 5, 48)] == [whole] * 4


@pytest.mark.usefixtures("small_windows")
def test_counts_are_exact_beyond_64_bits_in_any_batches() -> None:
    letters = "A" * 300 + "B" + "A" * 100 + "B"
    for query in ("(A AS x)+ ; B AS y", "(A AS x)+ ; B AS y WITHIN 250 EVENTS"):
        whole = ost.cel(query).count(rows(letters))
        assert whole > 2**240
        assert [counted(query, pieces(letters, size)) for size in (7, 100, 301)] == [whole] * 3


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("window", ["", " WITHIN 1500 EVENTS"])
def test_what_never_completes_may_be_beyond_all_floats(window: str) -> None:
    """An infinite number of partial matches in a cell that does not matter made the count not a number."""
    query = f"(A+ ; B) OR C{window}"
    letters = "A" * 2500 + "C"
    assert ost.cel(query).count(rows(letters)) == 1
    assert counted(query, pieces(letters, 400)) == 1
    with pytest.raises(ost.LimitError, match="WITHIN"):
        counted(query, pieces(letters + "B", 400))


def test_batches_must_follow_each_other_in_time() -> None:
    counter = Counter(ost.cel("A ; B").engine())
    counter.push([{"type": "A", "ts": 5}, {"type": "A", "ts": 3}])  # within a batch they are put in order
    with pytest.raises(OutOfOrder, match="row 2"):
        counter.push([{"type": "B", "ts": 7}, {"type": "B", "ts": 4}])
    counter.push([{"type": "B", "ts": 7}, {"type": "B", "ts": 5}])
    assert counter.total() == 4
    with pytest.raises(ost.OstinatoError, match="ended"):
        counter.push(rows("A", 9))


def test_tie_breakers_hold_between_batches_too() -> None:
    tied = [{"type": "B", "ts": 0, "n": 2}, {"type": "A", "ts": 0, "n": 1}]
    assert counted("A ; B", [tied], order_by="n") == 1
    assert counted("A ; B", [tied[1:], tied[:1]], order_by="n") == 1
    with pytest.raises(OutOfOrder):
        counted("A ; B", [tied[:1], tied[1:]], order_by="n")


def test_a_time_that_is_missing_is_told_by_its_row() -> None:
    with pytest.raises(ost.DataError, match="row 4: `ts` is NULL"):
        counted("A ; B", [rows("ABA"), [{"type": "A", "ts": 9}, {"type": "A", "ts": None}]])


def test_batches_may_be_empty_and_learn_types_late() -> None:
    none = pa.table({"type": pa.array([], pa.string()), "v": pa.nulls(0)})
    batches = [none, [], [{"type": "A", "v": None}], [{"v": 3, "type": "B"}], [{"type": "B", "v": 1}]]
    assert counted("A AS x ; B AS y FILTER y.v > 2", batches) == 1
    assert counted("SELECT y WHERE A AS x ; (B AS y FILTER y.v > 2)", batches) == 1
    assert counted("A ; B", []) == counted("A ; B", [none]) == counted("SELECT y WHERE A AS x ; B AS y", [none]) == 0
    with pytest.raises(ost.DataError, match="no column `v`"):
        counted("A ; B", [[{"type": "A", "v": 1}], [{"type": "A"}]])


def test_codes_and_keys_may_come_late() -> None:
    """Cells and keys that were unknown in the first batches join those whose numbers are carried along."""
    query = "A AS x ; (B AS y FILTER y.v > 3) ; ((C AS z FILTER z.v < 3) OR D) PARTITION BY k"
    stream = [{"type": "ABCDACBD"[at % 8], "v": at * 7 % 6, "k": at * at // 9 % 5} for at in range(200)]
    stream[0]["type"] = "E"
    whole = len(ost.cel(query).detect(stream))
    assert whole > 100 and counted(query, [[event] for event in stream]) == whole


@pytest.mark.usefixtures("small_windows")
def test_an_attribute_window_is_carried_per_partition() -> None:
    """WITHIN … ON rises within each partition, not over the whole stream."""
    query = "A ; B PARTITION BY k WITHIN 4 ON n"
    stream = [{"type": "AB"[at // 2 % 2], "k": at % 2, "n": at if at % 2 else 1000 + at} for at in range(40)]
    whole = len(ost.cel(query).detect(stream))
    assert whole > 10 and counted(query, [stream[at : at + 3] for at in range(0, 40, 3)]) == whole


def test_a_count_that_failed_does_not_go_on() -> None:
    counter = Counter(ost.cel("A+ ; B").engine())
    with pytest.raises(ost.LimitError):
        counter.push(rows("A" * 2000 + "B"))
    with pytest.raises(ost.OstinatoError, match="from the start"):
        counter.total()


@pytest.mark.usefixtures("small_windows")
def test_memory_is_bounded_by_the_window() -> None:
    limits = ost.Limits(memory=20_000)
    letters = "AB" * 1000
    assert counted("A ; B WITHIN 2 EVENTS", pieces(letters, 100), limits=limits) == 1000
    assert counted("A ; B WITHIN 1 seconds", pieces(letters, 100), limits=limits) == 1000
    assert counted("A ; B", pieces(letters, 100), limits=limits) == 1000 * 1001 // 2
    with pytest.raises(ost.LimitError, match="narrow"):
        counted("A ; B WITHIN 2000 EVENTS", pieces(letters, 100), limits=limits)


def test_too_many_states_are_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    batches = [rows("A"), rows("BCABCCBA" * 3, 1)]
    query = "(A OR B) ; C ; A ; B"
    whole = ost.cel(query).count([*batches[0], *batches[1]])
    monkeypatch.setattr(tallies, "_MAX_STEPS", 0)
    monkeypatch.setattr(tallies, "_MAX_CELLS", 2)  # more are walked over, unless they come only later
    assert counted(query, batches) == counted(query, [[*batches[0], *batches[1]]]) == whole
    with pytest.raises(ost.LimitError, match="states=3"):
        counted(query, batches, limits=ost.Limits(states=3))


MANY_CELLS = "ANY+ ; A ; ANY ; ANY ; ANY ; ANY ; ANY ; ANY"


@pytest.mark.parametrize("window", ["", " WITHIN 11 EVENTS", " WITHIN 12 seconds", " WITHIN 200 EVENTS"])
def test_many_cells(window: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Walked over, added up, and first one and then the other."""
    query, letters = MANY_CELLS + window, "BABBA" * 3 + "B"
    wanted = len(ost.cel(query).detect(rows(letters)))
    assert ost.cel(query).count(rows(letters)) == wanted
    monkeypatch.setattr(matcher, "_STEPS", 1 << 10)
    monkeypatch.setattr(tallies, "_FEW", 1)
    monkeypatch.setattr(tallies._Windows, "effort", lambda self, events: 1 << 12)
    assert [counted(query, pieces(letters, size)) for size in (1, 5, 16)] == [wanted] * 3


def test_many_matches_of_many_cells_are_not_walked_over() -> None:
    began = time.monotonic()
    assert ost.cel(f"{MANY_CELLS} WITHIN 40 EVENTS").count(rows("AB" * 30)) == 6047011373886
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("size", [1e305, 8e307, 1.7e308])
def test_counts_near_the_largest_float(size: float) -> None:
    for number in (size, np.float64(size)):
        if size < 1e308:
            assert math.prod(moduli(number)) > 2 * int(size)
        else:
            with pytest.raises(LimitError):
                moduli(number)


@pytest.mark.parametrize("size", [3, 17, 500])
def test_matches_of_a_short_window_are_walked_over_until_they_are_many(size: int) -> None:
    """ANY+ finds every set of the 29 events before a B; the first B has only a few before it."""
    letters = "AB" + "A" * 60 + "B" * 5
    expected = sum(2 ** min(at, 29) - 1 for at, letter in enumerate(letters) if letter == "B")
    assert counted("ANY+ ; B WITHIN 30 EVENTS", pieces(letters, size)) == expected


def test_a_short_window_of_many_batches() -> None:
    letters = "".join(random.Random(2).choices("ABC", k=2_000))
    query = ost.cel("A ; B+ ; C WITHIN 12 EVENTS")
    expected = len(query.detect(rows(letters)))
    assert [counted(query.text, pieces(letters, size)) for size in (1, 7, 1_000)] == [expected] * 3
