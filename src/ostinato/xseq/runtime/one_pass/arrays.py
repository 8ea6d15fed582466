"""The arrays that a scan writes, and room for more in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.xseq.kernels.one_pass import layout as lay
from ostinato.xseq.kernels.one_pass.layout import Work
from ostinato.xseq.runtime.one_pass.tables import StreamTables

_EMPTY = {"run_state": -1, "waiting": -1, "first_cell": -1, "cell_next": -2, "cell_table": -1, "key_table": -1}
_PER_RUN = (
    "run_state", "run_refs", "run_next", "run_history", "run_last", "run_key", "bundle_tail", "bundle_next",
)  # fmt: skip
_PER_DEPTH = (
    "resume", "waiting_count", "descendants_outside", "had_child", "first_cell", "open_row", "open_depth",
)  # fmt: skip
_PER_CELL = ("cell_key", "cell_depth", "cell_beside", "cell_next_run", "cell_next")
_PER_HISTORY = ("history_parent", "history_node", "history_variable", "history_done")


class ScanArrays:
    """What the scans of a query write."""

    def __init__(self, tables: StreamTables) -> None:
        self.tables = tables
        self.state = np.zeros(lay.STATE_SIZE, np.int64)
        empty = {name: np.zeros(0, field.dtype) for name, field in Work.PLACED.items() if field.dimensions}
        self.work = Work(**empty, base=tables.tables.base, stack=tables.tables.stack)
        self.work.update(state=self.state, code=tables.tests.code, seen=np.zeros(8, np.int64))
        self.make("attribute_token", max(1, len(tables.attributes)))
        self.allocate()

    def make(self, name: str, size: int) -> None:
        """An array of at least `size`, with what the one before it held."""
        old = getattr(self.work, name)
        if old.size < size:
            new = np.full(size, _EMPTY.get(name, 0), old.dtype)
            new[: old.size] = old
            self.work.update(**{name: new})

    def _make_all(self, names: tuple[str, ...], size: int) -> None:
        for name in names:
            self.make(name, size)

    def allocate(self, runs: int = 64, depth: int = 64, rows: int = 1024) -> None:
        """Room for so many runs, levels of elements, and rows.

        A run is in no more than four lists of links and once among those that wait for descendants; runs that may move
        at a node are no more than there is room for in `run_state`.
        """
        tables, work = self.tables, self.work
        columns = max(1, len(tables.tables.program.columns))
        self._make_all(_PER_RUN, runs)
        self._make_all(("kind", "num", "start", "size"), work.base + runs * tables.width)
        self._make_all(("link_run", "link_next"), 8 * runs)
        self._make_all(("descendant_runs", "arrived"), 2 * runs)
        self.make("offers", 12 * runs)
        places = 1 << (8 * runs - 1).bit_length()
        if tables.ambiguous and work.seen.size < 8 * places:
            work.seen = np.zeros(8 * places, np.int64)
        self._make_all(_PER_DEPTH, depth)
        self.make("waiting", depth * lay.ROLE_COUNT)
        self._make_all(("row_last", "row_history", "row_key"), rows)
        self._make_all(("out_kind", "out_num", "out_start", "out_size"), rows * columns)
        self._make_all(_PER_HISTORY, int(self.state[lay.HISTORY]) + 4 * runs if tables.histories else 2)
        self.make_room_for_keys(int(self.state[lay.KEYS]) + 64)

    def make_room_for_keys(self, size: int) -> None:
        """Room for keys, and for cells; hash tables are filled again."""
        work, keys, cells = self.work, int(self.state[lay.KEYS]), int(self.state[lay.CELLS])
        self.make("key_bytes", 64)
        need = max(size, 2 * keys + 8)
        if work.key_hash.size < need:
            self.make("key_hash", 2 * need)
            self.make("key_start", 2 * need + 1)
        self._fill("key_table", need, work.key_hash, range(1, keys))
        need = max(size, 2 * cells + 8)
        if work.cell_key.size < need:
            self._make_all(_PER_CELL, 2 * need)
        hashes = work.cell_key.astype(np.int64) * 0x9E3779B1 + work.cell_depth.astype(np.int64) * 0x85EBCA77
        self._fill("cell_table", need, hashes, range(cells))

    def _fill(self, name: str, need: int, hashes: NDArray[np.int64], entries: range) -> None:
        """A hash table with room for `need` entries; entry n has hash n."""
        places = 1 << (4 * need - 1).bit_length()
        if getattr(self.work, name).size >= places:
            return
        table = np.full(places, -1, np.int32)
        for entry in entries:
            slot = int(hashes[entry]) & (places - 1)
            while table[slot] >= 0:
                slot = (slot + 1) & (places - 1)
            table[slot] = entry
        self.work.update(**{name: table})
