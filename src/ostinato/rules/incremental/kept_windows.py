"""Room for the windows that slide: made, and made anew when it is full."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ostinato.core.arrays import Int64
from ostinato.rules.kernels import layout as k
from ostinato.rules.kernels.exact_moments import SQUARE_WORDS
from ostinato.rules.kernels.exact_sums import SUM_WORDS
from ostinato.rules.kernels.ranked_tree import TREE_WORDS

_ROWS = 256


def aggregate_words(name: int, floating: bool) -> int:
    """How many words an aggregate has in a window."""
    if name == k.STDDEV:
        return k.EXACT_SUM + SUM_WORDS + SQUARE_WORDS
    if name in (k.SUM, k.AVG) and floating:
        return k.EXACT_SUM + SUM_WORDS
    return {k.COUNT_ALL: 1, k.MEDIAN: 2}.get(name, 3)


def make_windows(begin: int, columns: int, words: int, aggregates: Sequence[int], distinct: int) -> k.Windows:
    """No windows, which have so many words: of rows with so many columns, of which one is their begin, and distinct
    bindings with so many values."""
    marks = np.zeros(k.WINDOW_MARKS, np.int64)
    marks[k.BEGIN_COLUMN] = begin
    widths = columns, words, len(aggregates), k.BINDING_VALUES + distinct, k.MEDIAN in aggregates
    return k.Windows(**_tables(*widths, _ROWS), marks=_without_any(marks))


def renew_windows(kept: k.Windows, now: int, more: int) -> None:
    """Forget all windows, which are made again of what points have; with more room, if that of those which can still
    slide is not enough, or not for so many rows."""
    windows = kept.windows[: kept.marks[k.WINDOW_COUNT]]
    idle = windows[:, k.LAST_TIME] < now - (windows[:, k.LAST_TIME] - windows[:, k.FIRST_TIME])
    live, size = int(windows[~idle, k.WINDOW_ROWS].sum()), len(kept.rows)
    aggregates = kept.links.shape[1] // 2 - 1
    is_small = 2 * live > size or 2 * more > size or 2 * int((~idle).sum()) > len(kept.windows)
    if is_small:
        widths = kept.rows.shape[1], kept.windows.shape[1], aggregates, kept.bindings.shape[1], len(kept.tree) > 0
        kept.update(**_tables(*widths, 1 << (4 * max(size, more) - 1).bit_length()))
    clear_windows(kept)


def clear_windows(kept: k.Windows) -> None:
    """Forget all windows."""
    kept.table[:] = kept.buckets[:] = -1
    _without_any(kept.marks)


def _without_any(marks: Int64) -> Int64:
    marks[k.WINDOW_COUNT :] = 0
    marks[k.FREE_ROW] = marks[k.FREE_BINDING] = -1
    return marks


def _tables(columns: int, words: int, aggregates: int, binding: int, ranked: bool, rows: int) -> dict[str, Int64]:
    bindings = rows * max(1, aggregates)
    return {
        "windows": np.zeros((rows // 8, words), np.int64),
        "table": np.full(rows // 2, -1, np.int64),
        "rows": np.zeros((rows, columns), np.int64),
        "links": np.zeros((rows, 2 + 2 * aggregates), np.int64),
        "bindings": np.zeros((bindings, binding), np.int64),
        "tree": np.zeros((bindings if ranked else 0, TREE_WORDS), np.int64),
        "buckets": np.full(1 << (2 * bindings - 1).bit_length(), -1, np.int64),
    }
