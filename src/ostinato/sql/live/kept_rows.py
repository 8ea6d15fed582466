"""Rows as Arrow columns, as long as an unfinished match or its measures may read them."""

from __future__ import annotations

import pyarrow as pa

from ostinato.core.arrays import Int64

_MOST_CHUNKS = 64


class KeptRows:
    """Rows are numbered as they come; `shrink` numbers those that are left anew."""

    def __init__(self, rows: pa.Table) -> None:
        self.chunks = [rows]
        self.size = len(rows)

    @property
    def schema(self) -> pa.Schema:
        return self.chunks[0].schema

    def append(self, rows: pa.Table) -> int:
        """The number of the first of these rows."""
        first = self.size
        self.chunks.append(rows)
        self.size += len(rows)
        if len(self.chunks) > _MOST_CHUNKS:
            self._merge()
        return first

    def _merge(self) -> None:
        """Put small chunks together, so that each row is copied a few times only."""
        at, size = len(self.chunks) - 1, len(self.chunks[-1])
        while at > 0 and (len(self.chunks[at - 1]) <= 2 * size or len(self.chunks) - at < _MOST_CHUNKS // 2):
            at -= 1
            size += len(self.chunks[at])
        self.chunks[at:] = [pa.concat_tables(self.chunks[at:]).combine_chunks()]

    def take(self, rows: Int64) -> pa.Table:
        if rows.size and rows[-1] - rows[0] == rows.size - 1 and bool((rows[1:] > rows[:-1]).all()):
            return self._whole().slice(int(rows[0]), rows.size).combine_chunks()
        return self._whole().take(pa.array(rows)).combine_chunks()

    def shrink(self, rows: Int64) -> None:
        """Keep these rows alone, in this order."""
        kept = self._whole().take(pa.array(rows)).combine_chunks()
        self.chunks, self.size = [kept], len(kept)

    def _whole(self) -> pa.Table:
        return pa.concat_tables(self.chunks)
