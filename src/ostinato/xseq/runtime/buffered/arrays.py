"""Arrays for an evaluation over kept subtrees, and room for more in them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit.array_struct import ArrayStruct
from ostinato.errors import LimitError
from ostinato.xseq.kernels.buffered.layout import Chains, TreeValues
from ostinato.xseq.kernels.value_codes import BOTH, TEXT
from ostinato.xseq.kernels.values import read_number

Ints = NDArray[np.int32]


def new_values(
    size: int, code: Ints, base: int, stack: int, buffer: NDArray[np.uint8], free: NDArray[np.int64]
) -> TreeValues:
    """A file of values, without a pool of texts yet."""
    return TreeValues(
        kind=np.zeros(size, np.uint8),
        num=np.zeros(size, np.float64),
        start=np.zeros(size, np.int64),
        size=np.zeros(size, np.int32),
        origin=np.full(size, -1, np.int32),
        buffer=buffer,
        text_pool=np.zeros(0, np.uint8),
        code=code,
        base=base,
        stack=stack,
        free=free,
    )


def new_chains(size: int) -> Chains:
    """Room for so many chains."""
    return Chains(
        parent=zeros(size),
        label=zeros(size),
        node=zeros(size),
        done=np.zeros(size, np.uint8),
        table=new_hash_table(size),
    )


def put_constant(values: TreeValues, place: int, text: bytes, at: int) -> None:
    values.start[place], values.size[place] = -1 - at, len(text)
    known, number = read_number(np.frombuffer(text, np.uint8), 0, len(text))
    values.kind[place] = BOTH if known else TEXT
    values.num[place] = number


def zeros(size: int) -> Ints:
    return np.zeros(size, np.int32)


def lengthen(struct: ArrayStruct, size: int, *names: str) -> None:
    """Give arrays of a struct a new size, with what they hold."""
    for name in names:
        old: NDArray[Any] = getattr(struct, name)
        longer = np.zeros(size, old.dtype)
        longer[: old.size] = old
        struct.update(**{name: longer})


def new_hash_table(count: int) -> Ints:
    """An empty hash table for so many entries, at most half full."""
    return np.full(1 << max(4, (2 * count - 1).bit_length()), -1, np.int32)


def check_size(size: int) -> None:
    if size >= 1 << 31:
        raise LimitError(
            "walks", 1 << 31, reason="there are too many walks", fix="make the path or its conditions stricter"
        )


def int32_array(numbers: Iterable[int]) -> Ints:
    return np.fromiter(numbers, np.int32)


def range_starts(lists: Sequence[Sequence[object]]) -> Ints:
    """Where each list begins when they stand one after the other; at last, where they end."""
    return np.cumsum([0, *map(len, lists)]).astype(np.int32)
