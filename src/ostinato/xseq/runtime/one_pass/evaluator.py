"""One pass over tokens: the kernel is called chunk by chunk, and what it could not know or hold is made here."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.core.jit import prefetch
from ostinato.documents.tokens import Names, Tokens
from ostinato.errors import Limit, LimitError, Message, Option
from ostinato.xseq.kernels.one_pass import layout as lay
from ostinato.xseq.kernels.one_pass.histories import chain_ends, mark_prefixes, renumber, sort_ties, write_chains
from ostinato.xseq.kernels.one_pass.layout import Nodes
from ostinato.xseq.kernels.one_pass.scan import scan
from ostinato.xseq.kernels.one_pass.texts import count_text_bytes, move_texts
from ostinato.xseq.kernels.value_codes import BOTH, TEXT
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.one_pass.arrays import ScanArrays
from ostinato.xseq.runtime.one_pass.tables import StreamTables
from ostinato.xseq.runtime.rows import MatchRows
from ostinato.xseq.runtime.texts import TextSlices
from ostinato.xseq.walk.program import AnswerKind

_AT_BEGIN = {
    lay.DEPTH: 0, lay.ROWS: 0, lay.ORDINAL: 0, lay.DESCENDANT_RUNS: 0, lay.OPEN_ROWS: 0, lay.LOADED: -1,
    lay.HISTORY: 1, lay.KEYS: 1, lay.KEY_BYTES: 0, lay.CELLS: 0,  # key 0 is that of elements that have none
    lay.LIVE: 0, lay.RUNS_USED: 1, lay.FREE_RUN: -1, lay.LINKS_USED: 0, lay.FREE_LINK: -1,  # run 0: see Work
}  # fmt: skip
PAUSE = 1 << 22  # steps of a scan between two looks at the clock
_LARGEST = (1 << 31) - 1  # bytes of strings that Arrow puts together


class StreamEvaluator:
    """An evaluator whose memory is bounded by the depth of the document and by the runs that are alive."""

    def __init__(self, tables: StreamTables) -> None:
        prefetch(scan)
        self.tables = tables
        self.limits, self.texts = XSeqLimits(), True
        self.clock = self.limits.clock()
        self.constants = tables.tables.held
        self.arrays = ScanArrays(tables)
        self.state, self.work = self.arrays.state, self.arrays.work
        empty = np.zeros(0, np.int32)
        self.nodes = Nodes(kind=np.zeros(0, np.uint8), name=empty, start=empty, end=empty)
        self.begin()
        base, width = tables.tables.base, tables.width
        self.work.run_last[0] = self.work.run_key[0] = -1
        self.work.kind[base : base + width] = tables.initial
        self._constants()

    def begin(self) -> None:
        """A new document. What still waits for a sibling of the last one's root element is dropped."""
        for place, value in _AT_BEGIN.items():
            self.state[place] = value
        self.work.run_state.fill(-1)
        self.work.waiting.fill(-1)
        self.work.waiting_count.fill(0)
        self.work.first_cell.fill(-1)
        self.state[lay.LEVEL] = self.tables.first
        self.work.key_table.fill(-1)
        self.work.cell_table.fill(-1)
        self.work.history_done[0] = 0
        self.pending: MatchRows | None = None
        self.pending_history = np.zeros(0, np.int64)
        self.bound_some = False
        self.work.text_pool = np.frombuffer(self.constants + b" ", np.uint8).copy()
        self.names_known, self.name_start, self.name_size = 0, np.zeros(0, np.int64), np.zeros(0, np.int32)
        self.name_bytes = b""
        self.query: Any = None
        self._keep_from = 1 << 62

    @property
    def is_small(self) -> bool:
        """Whether to keep it for the next document."""
        return self.work.run_state.size <= 1 << 16

    def _constants(self) -> None:
        """The constants of the query at the front of the file of values."""
        from ostinato.xseq.kernels.values import read_number

        offset = 0
        for place, constant in enumerate(self.tables.tables.constants):
            text = constant.text.encode()
            known, value = read_number(np.frombuffer(text + b" ", np.uint8), 0, len(text))
            self.work.kind[place] = BOTH if known else TEXT
            self.work.num[place] = value
            self.work.start[place], self.work.size[place] = -1 - offset, len(text)
            offset += len(text)

    def _grow(self) -> None:
        need = int(self.state[lay.NEED])
        runs = max(int(self.state[lay.RUNS_USED]), need) + need
        if self.state[lay.LIVE] > self.limits.runs:
            raise LimitError(
                "runs",
                self.limits.runs,
                reason=f"{int(self.state[lay.LIVE]):,} partial matches are open at once",
                fix=Message(
                    "ask for more (names, conditions, `\\` instead of any later sibling), or raise ",
                    Limit("runs", "XSeqLimits"),
                ),
            )
        rows = int(self.state[lay.ROWS]) + need
        self.arrays.allocate(2 * runs, 2 * int(self.state[lay.DEPTH]) + 16, 2 * rows)

    # --- running

    def push(self, tokens: Tokens, names: Names) -> list[MatchRows]:
        """The matches that are certain after some more tokens."""
        self._learn_names(names)
        if self.query is None or self.tables.asks_for_names:
            self.query = self.tables.query(names, self.name_start, self.name_size)
        if self.tables.tables.program.key:
            self.arrays.make("key_bytes", int(self.state[lay.KEY_BYTES]) + tokens.buffer.size)
        self.nodes.update(kind=tokens.kind, name=tokens.name, start=tokens.start, end=tokens.end)
        self.work.buffer = tokens.buffer
        self.state[lay.POS], self.state[lay.LOADED] = 0, -1
        self.state[lay.STEPS] = PAUSE
        while (result := scan(self.query, self.work, self.nodes)) != lay.DONE:
            if result == lay.PAUSED:
                self.clock.check()
                self.state[lay.STEPS] = PAUSE
            elif result == lay.MISSING:
                state = self.state
                self.tables.add(
                    int(state[lay.MISSING_LEVEL]), int(state[lay.MISSING_CLASS]), int(state[lay.MISSING_BITS])
                )
                self.query = self.tables.query(names, self.name_start, self.name_size)
            else:
                self._grow()
        rows = self._rows(tokens)
        self._keep_texts()
        self.state[lay.ORDINAL] += tokens.kind.size
        return rows

    def finish(self) -> list[MatchRows]:
        """What was still open when the document ended."""
        rows, self.pending = self.pending, None
        return [] if rows is None else [rows]

    @property
    def keep_from(self) -> int:
        return self._keep_from

    def shift(self, by: int) -> None:
        """The kept bytes have moved to the front of the next buffer."""
        waiting = int(self.state[lay.OPEN_ROWS])
        self.work.out_start[: self.state[lay.ROWS]] -= by if waiting else 0

    def _learn_names(self, names: Names) -> None:
        """Texts of the names of the document behind the constants, where the query asks for names."""
        if not self.tables.asks_for_names or len(names.texts) == self.names_known:
            return
        new = names.texts[self.names_known :]
        sizes = np.array([len(text) for text in new], np.int32)
        begin = len(self.constants) + len(self.name_bytes)
        starts = begin + np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int64)
        added = b"".join(new)
        self.name_start = np.concatenate([self.name_start, starts])
        self.name_size = np.concatenate([self.name_size, sizes])
        self.names_known = len(names.texts)
        self.name_bytes += added
        pool = self.work.text_pool
        self.work.text_pool = np.concatenate([pool[:begin], np.frombuffer(added, np.uint8), pool[begin:]])
        start = self.work.start
        start[start <= -1 - begin] -= len(added)

    def _keep_texts(self) -> None:
        """Texts that living runs remember must outlast the buffer."""
        work, width = self.work, self.tables.width
        if not width or not self.state[lay.LIVE]:
            return
        fixed = len(self.constants) + len(self.name_bytes)
        pool = np.empty(fixed + count_text_bytes(work, width) + 1, np.uint8)
        pool[:fixed] = work.text_pool[:fixed]
        move_texts(work, width, pool, fixed)
        work.text_pool = pool

    # --- rows

    def _rows(self, tokens: Tokens) -> list[MatchRows]:
        """The finished rows of this chunk; rows of elements that are still open stay."""
        work, count = self.work, int(self.state[lay.ROWS])
        if self.tables.tables.program.answer is AnswerKind.NODES:
            return [self._node_rows(tokens, count)]
        width = len(self.tables.tables.program.columns)
        order = None
        history = work.row_history[:count].copy()
        last = work.row_last[:count].copy()
        if self.tables.histories and not self.tables.in_order and count > 1:
            order = np.arange(count)
            sort_ties(work, last, history, order, np.empty_like(order))
        elif self.tables.bundles is not None and ((last[1:] == last[:-1]) & (history[1:] < history[:-1])).any():
            order = np.lexsort((history, last))
        columns = [self._column(tokens, number, width, count) for number in range(width)]
        rows = MatchRows(columns, self._partition(count), last, self._bound(history))
        self.state[lay.ROWS] = 0
        if order is not None:
            rows, history = rows.take(order), history[order]
        return self._certain(rows, history) if self.tables.histories else [rows]

    def _node_rows(self, tokens: Tokens, count: int) -> MatchRows:
        work = self.work
        open_rows = work.open_row[: self.state[lay.OPEN_ROWS]]
        column = self._texts(tokens, 0, 1, count)
        last = work.row_last[:count].copy()
        if len(open_rows):
            done = np.ones(count, bool)
            done[open_rows] = False
            column, last = column.take(np.flatnonzero(done)), last[done]
            kept = open_rows.copy()
            for name in ("row_last", "row_history", "row_key", "out_kind", "out_num", "out_start", "out_size"):
                values = getattr(work, name)
                values[: len(kept)] = values[kept]
            work.open_row[: len(kept)] = np.arange(len(kept))
            self._keep_from = int(work.out_start[: len(kept)].min()) if self.texts else 1 << 62
        else:
            self._keep_from = 1 << 62
        self.state[lay.ROWS] = len(open_rows)
        return MatchRows([column], None, last)

    def _column(self, tokens: Tokens, number: int, width: int, count: int) -> pa.Array | TextSlices:
        work = self.work
        if self.tables.tables.program.columns[number].number and not self._textual(number):
            values = work.out_num[number : count * width : width]
            return pa.array(values.copy(), pa.float64(), mask=work.out_kind[number : count * width : width] < BOTH)
        return self._texts(tokens, number, width, count)

    def _texts(self, tokens: Tokens, number: int, width: int, count: int) -> TextSlices:
        work, every = self.work, slice(number, count * width, width)
        kind = work.out_kind[every]
        valid = (kind == TEXT) | (kind == BOTH)
        size = np.multiply(work.out_size[every], valid, dtype=np.int64) if self.texts else np.zeros(count, np.int64)
        return TextSlices(work.out_start[every], size, valid, tokens.buffer, work.text_pool)

    def _textual(self, number: int) -> bool:
        """Whether a column holds texts that an aggregate over all matches still has to count."""
        return self.tables.tables.program.columns[number].over_all == "count"

    def _partition(self, count: int) -> pa.Array | None:
        if self.tables.tables.program.answer is not AnswerKind.GROUPS:
            return None
        keys = self.work.row_key[:count]
        starts, data = self.work.key_start, self.work.key_bytes
        texts = [None if k <= 0 else bytes(data[starts[k] : starts[k + 1]]).decode() for k in keys]
        return pa.array(texts, pa.string())

    def _bound(self, history: NDArray[np.int64]) -> list[pa.Array]:
        """What orders matches that have the same last node, where they may be found at different times."""
        if not self.tables.settled_late:
            return []
        work = self.work
        ends = np.zeros(len(history) + 1, np.int64)
        total = chain_ends(work, history, ends)
        nodes, variables = np.zeros(total, np.int64), np.zeros(total, np.int32)
        write_chains(work, history, ends, nodes, variables)
        return [_binary(ends, nodes.astype(">i8"), 1), _binary(ends, variables.astype(">i4"), 0)]

    def _certain(self, rows: MatchRows, history: NDArray[np.int64]) -> list[MatchRows]:
        """With histories: the rows that no later match can push out; forget what no run and no row needs."""
        work, count = self.work, int(self.state[lay.HISTORY])
        runs = int(self.state[lay.RUNS_USED])
        alive = work.run_history[:runs][work.run_state[:runs] >= 0]
        open_ones = np.zeros(count, np.uint8)
        mark_prefixes(work, alive, open_ones, True)
        certain = self._longest(rows, history, open_ones) if self.tables.longest else [rows]
        number = np.zeros(count, np.int64)
        renumber(work, open_ones, number)
        work.run_history[:runs] = number[np.minimum(work.run_history[:runs], count - 1)]
        self.pending_history = number[self.pending_history]
        return certain

    def _longest(self, rows: MatchRows, history: NDArray[np.int64], open_ones: NDArray[np.uint8]) -> list[MatchRows]:
        """Of the rows that wait and the new ones those that no run can continue; those that one may continue wait."""
        every = np.concatenate([self.pending_history, history])
        prefixes = np.zeros_like(open_ones)
        mark_prefixes(self.work, every, prefixes, False)
        self.bound_some |= bool((every > 0).any())
        prefixes[0] = self.bound_some  # to have bound nothing is a prefix of every other match
        known = [(rows, history)] if self.pending is None else [(self.pending, self.pending_history), (rows, history)]
        certain, waiting = [], []
        for some, of in known:
            stays = prefixes[of] == 0
            waits = stays & ((open_ones[of] != 0) | (of == 0))
            certain.append(some.take(np.flatnonzero(stays & ~waits)))
            waiting.append((some.take(np.flatnonzero(waits)), of[waits]))
        self._check_kept(sum(some.nbytes for some, _ in waiting))
        self.pending = _concat([some.copy_texts() for some, _ in waiting])
        self.pending_history = np.concatenate([of for _, of in waiting])
        mark_prefixes(self.work, self.pending_history, open_ones, True)
        return certain

    def _check_kept(self, size: int) -> None:
        most = min(self.limits.kept_bytes, _LARGEST)
        if size > most:
            raise LimitError(
                "kept_bytes",
                most,
                reason=f"matches that may become longer have {size:,} bytes of text, which have to be kept",
                fix=Message(
                    "return less of each match, ask for ",
                    Option("matches", "all"),
                    ", or raise ",
                    Limit("kept_bytes", "XSeqLimits"),
                ),
            )


def _binary(ends: NDArray[np.int64], values: NDArray[Any], without: int) -> pa.Array:
    """Lists of numbers as bytes that sort as the lists do; the last `without` of each list are left out."""
    parts = [values[low : max(low, high - without)].tobytes() for low, high in pairwise(ends.tolist())]
    return pa.array(parts, pa.binary())


def _concat(some: list[MatchRows]) -> MatchRows:
    """Rows whose texts are copied, as one."""
    columns = [pa.concat_arrays(each) for each in zip(*(rows.columns for rows in some), strict=True)]
    bound = [pa.concat_arrays(each) for each in zip(*(rows.bound for rows in some), strict=True)]
    keys = [rows.key for rows in some if rows.key is not None]
    return MatchRows(
        columns, pa.concat_arrays(keys) if keys else None, np.concatenate([rows.last for rows in some]), bound
    )
