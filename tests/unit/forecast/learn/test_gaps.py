"""Gaps between events: additive, mergeable, decayed, saved."""

from __future__ import annotations

import numpy as np
import pytest

from ostinato.forecast.learn.gaps import Gaps, count_gaps


def stream(events: int = 400) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    symbols, keys = rng.integers(0, 3, events).astype(np.int32), rng.integers(0, 5, events).astype(np.int32)
    return symbols, keys, np.cumsum(rng.exponential(2.0, events))


def test_gaps_are_those_of_the_key_and_go_to_the_symbol_that_ends_them() -> None:
    symbols, keys = np.array([0, 1, 0, 1], np.int32), np.array([0, 1, 0, 1], np.int32)
    gaps = count_gaps(symbols, keys, np.array([0.0, 1.0, 3.0, 11.0]), 2)
    assert gaps.by_symbol.sum(axis=1).tolist() == [[1, 3, 9], [1, 10, 100]]
    assert gaps.last.tolist() == gaps.symbol.tolist() == [0, 1]
    assert gaps.total == 2 and gaps.mean == 6.5


def test_bins_keep_apart_what_differs_by_a_tenth() -> None:
    sizes = 1e-6 * 1.1 ** np.arange(250)  # up to six hours
    ticks = np.concatenate([[0.0], np.cumsum(sizes[::-1])])
    gaps = count_gaps(np.zeros(len(ticks), np.int32), None, ticks, 1)
    assert gaps.sums[:, 0].max() == 1


def test_equal_times_backward_clocks_and_unknown_times() -> None:
    ticks = np.array([5.0, 5.0, 4.0, np.nan, 6.0])
    gaps = count_gaps(np.zeros(5, np.int32), None, ticks, 1)
    assert gaps.total == 3 and gaps.by_symbol[0, 0].tolist() == [2, 0, 0] and gaps.mean == pytest.approx(2 / 3)


def test_batches_add_up_to_the_whole() -> None:
    symbols, keys, ticks = stream()
    whole = count_gaps(symbols, keys, ticks, 3)
    held = np.full(5, np.nan), np.full(5, -1, np.int32)
    parts = [count_gaps(symbols[part], keys[part], ticks[part], 3, *held) for part in (slice(0, 150), slice(150, 400))]
    both = parts[0].merge(parts[1])
    assert both.sums == pytest.approx(whole.sums)
    for name in ("last", "symbol", "bin"):
        assert getattr(both, name).tolist() == getattr(whole, name).tolist()
    assert whole.total == 400 - 5


def test_merging_takes_the_larger_alphabet_and_decay_keeps_the_mean() -> None:
    symbols, keys, ticks = stream()
    small, large = count_gaps(symbols, keys, ticks, 3), count_gaps(symbols, keys, ticks, 4)
    assert small.merge(large).alphabet == large.merge(small).alphabet == 4
    assert small.merge(large).total == 2 * small.total
    assert small.decay(0.5).total == small.total / 2 and small.decay(0.5).mean == pytest.approx(small.mean)


def test_a_table_holds_all_of_it() -> None:
    gaps = count_gaps(*stream(), 4)
    table = gaps.to_table()
    assert table.column_names == ["last", "symbol", "bin", "weight", "seconds", "squares"] and len(table) < 400
    assert Gaps.from_table(table, 4).to_table().equals(table)
    assert Gaps.from_table(table.slice(0, 0), 4).total == 0


def test_many_symbols_are_counted_as_few_are() -> None:
    symbols, keys, ticks = stream()
    few, many = count_gaps(symbols, keys, ticks, 3), count_gaps(symbols, keys, ticks, 300)
    assert few.to_table().equals(many.to_table())


def test_pairs_of_symbols_are_told_apart_where_they_differ() -> None:
    rng = np.random.default_rng(4)
    symbols = rng.integers(0, 3, 3000).astype(np.int32)
    before = np.concatenate([[0], symbols[:-1]])
    gaps = count_gaps(symbols, None, np.cumsum(rng.exponential(np.where(before == 2, 9.0, 1.0))), 4)
    kinds = gaps.kinds
    assert kinds.remembered == (2,)
    assert kinds.of[0].tolist() == kinds.of[-1].tolist() == [0, 1, 2, 3] and kinds.of[2].tolist() == [4, 5, 6, 3]
    means = kinds.sums[:, :, 1].sum(axis=1) / kinds.sums[:, :, 0].sum(axis=1)
    assert means[:3] == pytest.approx(1.0, rel=0.15) and means[4:] == pytest.approx(9.0, rel=0.15)
    assert means[3] == pytest.approx(gaps.mean)  # never seen: as everything together


def test_gaps_that_do_not_depend_on_the_symbol_before_are_not_parted() -> None:
    symbols, keys, ticks = stream(20_000)
    assert count_gaps(symbols, keys, ticks, 3).kinds.remembered == ()
