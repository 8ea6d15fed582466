"""The arrays that a scan writes, and room for more in them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ostinato.xseq.kernels.one_pass import layout as lay
from ostinato.xseq.kernels.one_pass.layout import Work

_EMPTY = {"run_state": -1, "waiting": -1, "cells": -1, "cell_next": -2, "cell_table": -1, "key_table": -1}
_PER_DEPTH = ("resume", "busy", "lifted_to", "had_child", "cells", "open_row", "open_depth")
_NO_DUPLICATES = np.zeros(8, np.int64)


class ScanArrays(dict[str, NDArray[Any]]):
    """By name. `width` values per run, after `base` others; `columns` per row."""

    def __init__(self, base: int, width: int, columns: int, layout: NDArray[np.int64]) -> None:
        super().__init__()
        self.base, self.width, self.columns, self.layout = base, width, max(1, columns), layout
        self["state"] = self.state = np.zeros(lay.STATE_SIZE, np.int64)

    def work(self) -> Work:
        return Work(*(self[name] for name in Work._fields))

    def make(self, name: str, size: int) -> None:
        """An array of at least `size`, with what the one before it held."""
        old = self.get(name)
        if old is not None and old.size >= size:
            return
        new = np.full(size, _EMPTY.get(name, 0), lay.type_of(name))
        if old is not None:
            new[: old.size] = old
        self[name] = new

    def allocate(self, runs: int = 64, depth: int = 64, rows: int = 1024) -> None:
        """Room for so many runs, levels of elements, and rows."""
        for name in ("run_state", "run_refs", "run_next", "run_history", "run_last", "run_key"):
            self.make(name, runs)
        for name in ("bundle_tail", "bundle_next"):
            self.make(name, runs)
        for name in ("kind", "num", "start", "size"):
            self.make(name, self.base + runs * self.width)
        for name in ("link_run", "link_next"):
            self.make(name, 8 * runs)
        self.make("lifted", 2 * runs)
        self.make("arrived", 2 * runs)
        self.make("offers", 12 * runs)
        self["seen"] = self.get("seen", _NO_DUPLICATES)
        places = 1 << (8 * runs - 1).bit_length()
        if self.layout[lay.DEDUPE] and self["seen"].size < 8 * places:
            self["seen"] = np.zeros(8 * places, np.int64)
        for name in _PER_DEPTH:
            self.make(name, depth)
        self.make("waiting", depth * lay.ROLE_COUNT)
        for name in ("row_last", "row_history", "row_key"):
            self.make(name, rows)
        for name in ("out_kind", "out_num", "out_start", "out_size"):
            self.make(name, rows * self.columns)
        histories = int(self.state[lay.HISTORY]) + 4 * runs if self.layout[lay.HISTORIES] else 2
        for name in ("history_parent", "history_node", "history_variable", "history_done"):
            self.make(name, histories)
        self.room_for_keys(int(self.state[lay.KEYS]) + 64)

    def room_for_keys(self, size: int) -> None:
        """Room for keys, and for cells; hash tables are filled again."""
        keys, cells = int(self.state[lay.KEYS]), int(self.state[lay.CELLS])
        self.make("key_bytes", 64)
        need = max(size, 2 * keys + 8)
        if "key_hash" not in self or self["key_hash"].size < need:
            self.make("key_hash", 2 * need)
            self.make("key_start", 2 * need + 1)
        self._fill("key_table", need, self.get("key_hash", _NO_DUPLICATES), range(1, keys))
        need = max(size, 2 * cells + 8)
        if "cell_key" not in self or self["cell_key"].size < need:
            for name in ("cell_key", "cell_depth", "cell_beside", "cell_next_run", "cell_next"):
                self.make(name, 2 * need)
        hashes = self["cell_key"].astype(np.int64) * 0x9E3779B1 + self["cell_depth"].astype(np.int64) * 0x85EBCA77
        self._fill("cell_table", need, hashes, range(cells))

    def _fill(self, name: str, need: int, hashes: NDArray[np.int64], entries: range) -> None:
        """A hash table with room for `need` entries; entry n has hash n."""
        places = 1 << (4 * need - 1).bit_length()
        if name in self and self[name].size >= places:
            return
        table = self[name] = np.full(places, -1, np.int32)
        for entry in entries:
            slot = int(hashes[entry]) & (places - 1)
            while table[slot] >= 0:
                slot = (slot + 1) & (places - 1)
            table[slot] = entry
