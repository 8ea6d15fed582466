"""Counts of symbols after contexts: per key, additive, decaying, and to tables and back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from ostinato.errors import DataError, OstinatoError
from ostinato.forecast.learn.counts import Counts, count_grams


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int32)


def rows(counts: Counts) -> dict[tuple[int, ...], float]:
    """The counts as a dictionary, in their order."""
    return {tuple(gram): weight for gram, weight in zip(counts.grams.tolist(), counts.weights.tolist(), strict=True)}


def test_each_event_counts_once_after_the_last_symbols_of_its_key() -> None:
    found = count_grams(ints(0, 1, 0, 0, 1), ints(0, 1, 0, 0, 1), 2, 2)
    assert rows(found) == {(-1, -1, 0): 1, (-1, -1, 1): 1, (-1, 0, 0): 1, (-1, 1, 1): 1, (0, 0, 0): 1}
    assert list(rows(found)) == sorted(rows(found))
    assert found.total == 5


def test_without_keys_all_events_are_of_one() -> None:
    assert rows(count_grams(ints(0, 1, 0, 1), None, 1, 2)) == {(-1, 0): 1, (0, 1): 2, (1, 0): 1}


def test_order_zero_has_no_context() -> None:
    assert rows(count_grams(ints(0, 2, 2), None, 0, 3)) == {(0,): 1, (2,): 2}


def test_no_events() -> None:
    empty = count_grams(ints(), None, 3, 4)
    assert empty.grams.shape == (0, 4) and empty.total == 0
    assert empty.at_order(1).grams.shape == (0, 2)
    assert rows(empty.merge(count_grams(ints(1), None, 3, 4))) == {(-1, -1, -1, 1): 1}
    assert len(Counts.from_table(empty.to_table(), order=3, alphabet=4).grams) == 0


def test_history_is_moved_on() -> None:
    history = np.array([[-1, 2], [-1, -1]], np.int32)
    found = count_grams(ints(0, 1, 1), ints(0, 0, 1), 2, 3, history)
    assert rows(found) == {(-1, -1, 1): 1, (-1, 2, 0): 1, (2, 0, 1): 1}
    assert history.tolist() == [[0, 1], [-1, 1]]


@pytest.mark.parametrize(("alphabet", "order"), [(2, 40), (300, 12), (2**31 - 1, 2), (255, 7), (256, 7), (1, 70)])
def test_grams_longer_than_a_word(alphabet: int, order: int) -> None:
    symbols = np.random.default_rng(1).integers(0, alphabet, 50).astype(np.int32)
    symbols = np.concatenate([symbols, symbols])
    found = count_grams(symbols, None, order, alphabet)
    past = [-1] * order
    expected: dict[tuple[int, ...], float] = {}
    for symbol in symbols.tolist():
        gram = (*past, symbol)
        expected[gram] = expected.get(gram, 0) + 1
        past = [*past, symbol][1:]
    assert rows(found) == expected
    assert list(rows(found)) == sorted(expected)
    assert rows(found.at_order(order)) == expected


def test_lowering_forgets_the_oldest_symbols() -> None:
    symbols = np.random.default_rng(2).integers(0, 3, 200).astype(np.int32)
    for order in range(5):
        assert rows(count_grams(symbols, None, 4, 3).at_order(order)) == rows(count_grams(symbols, None, order, 3))
    with pytest.raises(OstinatoError, match="order cannot be 5"):
        count_grams(symbols, None, 4, 3).at_order(5)


def test_merging_takes_the_larger_alphabet() -> None:
    merged = count_grams(ints(0, 1), None, 1, 2).merge(count_grams(ints(0, 4), None, 1, 5))
    assert merged.alphabet == 5
    assert rows(merged) == {(-1, 0): 2, (0, 1): 1, (0, 4): 1}
    with pytest.raises(DataError, match="order 1 and of order 2"):
        count_grams(ints(0), None, 1, 2).merge(count_grams(ints(0), None, 2, 2))


def test_decaying_to_nothing_forgets() -> None:
    counts = count_grams(ints(0, 1, 1, 1), None, 0, 2)
    assert rows(counts.decay(0.5)) == {(0,): 0.5, (1,): 1.5}
    assert rows(counts.decay(0.5e-6)) == {(1,): 1.5e-6}
    assert rows(counts.decay(1.0)) == rows(counts)
    with pytest.raises(OstinatoError, match="from 0 to 1"):
        counts.decay(2)


def test_a_table_may_come_in_parts_and_out_of_order() -> None:
    counts = count_grams(np.random.default_rng(3).integers(0, 4, 300).astype(np.int32), None, 2, 4).decay(0.75)
    table = counts.to_table()
    assert table.schema == pa.schema({"gram": pa.list_(pa.int32()), "weight": pa.float64()})
    mixed = pa.concat_tables([table.slice(20), table.slice(0, 20), table])
    assert rows(Counts.from_table(table, order=2, alphabet=4)) == rows(counts)
    doubled = rows(Counts.from_table(mixed, order=2, alphabet=4))
    assert doubled == {gram: 2 * weight for gram, weight in rows(counts).items()}


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"gram": [[0, 1]]}, "no column `weight`"),
        ({"gram": ["x"], "weight": [1.0]}, "other types"),
        ({"gram": [[0, 1], None], "weight": [1.0, 1.0]}, "NULL"),
        ({"gram": [[0, None]], "weight": [1.0]}, "NULL"),
        ({"gram": [[0, 1, 1]], "weight": [1.0]}, "not of order 1"),
        ({"gram": [[0, 2]], "weight": [1.0]}, "not one of 0 … 1"),
        ({"gram": [[-2, 1]], "weight": [1.0]}, "not one of 0 … 1"),
        ({"gram": [[0, -1]], "weight": [1.0]}, "not one of 0 … 1"),
        ({"gram": [[0, 1]], "weight": [-1.0]}, "weight"),
        ({"gram": [[0, 1]], "weight": [float("nan")]}, "weight"),
    ],
)
def test_a_table_of_something_else_is_refused(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Counts.from_table(pa.table(columns), order=1, alphabet=2)


def test_a_gap_in_a_gram_is_refused() -> None:
    with pytest.raises(DataError, match="between others"):
        Counts.from_table(pa.table({"gram": [[0, -1, 1]], "weight": [1.0]}), order=2, alphabet=2)


@pytest.mark.parametrize(
    ("symbols", "keys", "history", "message"),
    [
        (ints(0, 3), None, None, "row 1: the symbol 3 is not one of 0 … 2"),
        (ints(-1), None, None, "symbol -1"),
        (ints(0, 1), ints(0), None, "2 symbols but 1 keys"),
        (ints(0), ints(-1), None, "keys"),
        (ints(0), ints(1), np.full((1, 2), -1, np.int32), "keys"),
        (ints(0), ints(0), np.full((1, 3), -1, np.int32), "2 symbols for each key"),
        (ints(0), ints(0), np.full((1, 2), 3, np.int32), "history has a symbol"),
    ],
)
def test_what_the_kernel_cannot_trust_is_refused(
    symbols: np.ndarray, keys: np.ndarray | None, history: np.ndarray | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        count_grams(symbols, keys, 2, 3, history)


def test_a_negative_order_is_refused() -> None:
    with pytest.raises(OstinatoError, match="order cannot be -1"):
        count_grams(ints(0), None, -1, 1)
