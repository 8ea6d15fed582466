"""The tokens and bytes of a subtree that is not complete yet."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.core.arrow import read_only
from ostinato.documents.kernels.gather import copy_texts
from ostinato.documents.tokens import Tokens
from ostinato.errors import Limit, LimitError, Message
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.buffered.forest import SubtreeTokens

_LARGEST = (1 << 31) - (1 << 20)  # offsets have 32 bits


class SubtreeStore:
    """Pieces of one subtree. The document's bytes are kept in one line, so that elements can be cut out of them; what
    stands behind them in a buffer, because it is not in the document like that, is kept apart."""

    def __init__(self, limits: XSeqLimits) -> None:
        self.limits = limits
        self.clear()

    def clear(self) -> None:
        self.is_open = False
        self.written = np.zeros(0, np.uint8)
        self.size = self.pool_size = 0
        self.pool: list[NDArray[np.uint8]] = []
        self.tokens: list[tuple[NDArray[Any], ...]] = []
        self.numbers: list[NDArray[np.int64]] = []

    def add(self, tokens: Tokens, begin: int, end: int, seen: int) -> None:
        """Tokens begin … end - 1; `seen` tokens came before this piece of the document."""
        first = 0 if self.is_open else int(tokens.start[begin])
        self.is_open = True
        last = tokens.used if end == tokens.kind.size else int(tokens.end[end - 1])
        start, stop = tokens.start[begin:end].copy(), tokens.end[begin:end].copy()
        aside = start >= tokens.used
        size = (stop - start)[aside]
        texts = np.empty(int(size.sum(dtype=np.int64)), np.uint8)
        self._check(self.size + last - first + self.pool_size + texts.size)
        offsets = np.zeros(size.size + 1, np.int32)
        np.cumsum(size, out=offsets[1:])
        copy_texts(
            read_only(start[aside].astype(np.int64)), read_only(offsets), read_only(tokens.buffer),
            read_only(texts[:0]), texts,
        )  # fmt: skip
        start += self.size - first
        stop += self.size - first
        start[aside] = -1 - (offsets[:-1] + self.pool_size)
        stop[aside] = start[aside] + size
        self.tokens.append((tokens.kind[begin:end].copy(), tokens.name[begin:end].copy(), start, stop))
        self.numbers.append(np.arange(seen + begin, seen + end))
        self.pool.append(texts)
        self.pool_size += texts.size
        self._append(tokens.buffer[first:last])

    def part(self) -> SubtreeTokens:
        kind, name, start, stop = (np.concatenate(arrays) for arrays in zip(*self.tokens, strict=True))
        pool = np.concatenate(self.pool)
        return SubtreeTokens(self.written[: self.size], pool, kind, name, start, stop, np.concatenate(self.numbers))

    def _append(self, piece: NDArray[np.uint8]) -> None:
        need = self.size + piece.size
        if need > self.written.size:
            wider = np.empty(max(need, min(2 * self.written.size, _LARGEST)), np.uint8)
            wider[: self.size] = self.written[: self.size]
            self.written = wider
        self.written[self.size : need] = piece
        self.size = need

    def _check(self, size: int) -> None:
        bound = min(self.limits.kept_bytes, _LARGEST)
        if size > bound:
            raise LimitError(
                "kept_bytes",
                bound,
                reason="more of the document would have to be kept in memory than is allowed",
                fix=Message(
                    "begin the path with steps down to smaller elements, so that they can be looked at one by one; "
                    "or raise ",
                    Limit("kept_bytes", "XSeqLimits"),
                ),
            )
