"""The matches of one evaluation as rows: the longest ones if only these are wanted, in order, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ostinato.xseq.kernels.buffered import order as tree_order
from ostinato.xseq.kernels.buffered.layout import CHAINS_USED, Chains
from ostinato.xseq.kernels.value_codes import BOTH, NUMBER, TEXT
from ostinato.xseq.kernels.values import run_program
from ostinato.xseq.runtime.buffered.arrays import Ints, new_chains
from ostinato.xseq.runtime.buffered.forest import Forest
from ostinato.xseq.runtime.rows import MatchRows
from ostinato.xseq.runtime.texts import TextSlices
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.walk.program import AnswerKind


@dataclass(frozen=True)
class ForestOutput:
    """What was found in a forest."""

    forest: Forest

    def rows(self, chain: Ints, node: Ints) -> MatchRows:
        if self.forest.matches == "longest":
            number, into, _ = self._squeeze(nodes=True, labels=True)
            more = np.zeros(into.parent.size, np.uint8)
            tree_order.mark_prefixes(into, number, chain, more)
            kept = more[number[chain]] == 0
            chain, node = chain[kept], node[kept]
        if self.forest.bare:
            node = np.unique(node[node > 0]).astype(np.int32)
            return MatchRows([self._source_texts(node)], None, self.forest.part.number[self.forest.tree.token[node]])
        chain = np.ascontiguousarray(chain)
        ends = np.empty_like(chain)
        tree_order.ends(self.forest.chains, chain, ends)
        order = self._order(ends)
        chain, ends = chain[order], ends[order]
        last = self.forest.chains.node[ends]
        numbers = np.full(last.size, -1, np.int64)
        numbers[last >= 0] = self.forest.part.number[self.forest.tree.token[last[last >= 0]]]
        columns = [self._column(number, chain) for number in range(len(self.forest.tables.program.columns))]
        return MatchRows(columns, self._keys(chain), numbers)

    def _squeeze(self, *, nodes: bool, labels: bool) -> tuple[Ints, Chains, int]:
        count = int(self.forest.walks.state[CHAINS_USED])
        into = new_chains(count)
        number = np.zeros(count, np.int32)
        rank = np.arange(len(self.forest.tables.labels) + 1, dtype=np.int32)
        made = tree_order.squeeze(self.forest.chains, count, into, number, nodes, labels, rank)
        return number, into, made

    def _ranks(self, *, nodes: bool) -> Ints:
        """Of each chain its rank in the order of sequences of nodes, or of variables."""
        number, into, made = self._squeeze(nodes=nodes, labels=not nodes)
        by = into.node if nodes else into.label
        order = (1 + np.lexsort((by[1:made], into.parent[1:made]))).astype(np.int32)
        first = np.searchsorted(into.parent[order], np.arange(made + 1)).astype(np.int32)
        cursor, path, ranks = (np.zeros(made + 1, np.int32) for _ in range(3))
        tree_order.preorder(first, order, cursor, path, ranks)
        return ranks[number]

    def _order(self, ends: Ints) -> NDArray[np.int64]:
        before = self._ranks(nodes=True)[self.forest.chains.parent[ends]]
        last = self.forest.chains.node[ends]
        if len(self.forest.tables.labels) < 2:
            return np.lexsort((before, last))
        return np.lexsort((self._ranks(nodes=False)[ends], before, last))

    def _keys(self, chain: Ints) -> pa.Array | None:
        if self.forest.key is None or self.forest.tables.program.answer is not AnswerKind.GROUPS:
            return None
        found = np.empty_like(chain)
        tree_order.first_keyed(self.forest.chains, self.forest.key, chain, found)
        return self.forest.key_texts.take(pa.array(found, mask=found < 0))

    def _column(self, number: int, chain: Ints) -> pa.Array | TextSlices:
        made, column = self.forest.tables.tables, self.forest.tables.program.columns[number]
        simple, code, end = (int(each) for each in made.columns[number])
        values = self.forest.values
        if simple == 2:
            return pa.nulls(chain.size, pa.string())
        if simple == 1:
            places = np.full(chain.size, code) if code < made.base else code + chain.astype(np.int64) * made.width
            if not isinstance(column.operand, n.Reference | n.Constant):
                return pa.array(values.num[places], mask=values.kind[places] < BOTH)
            start, size = values.start[places], values.size[places]
            kind, origin = values.kind[places], values.origin[places]
            if (
                column.over_all is None
                and isinstance(column.operand, n.Reference)
                and column.operand.leaf is n.Leaf.NODE
            ):
                return self._source_texts(np.where(kind >= TEXT, origin, -1).astype(np.int32))
            return self._drop_unneeded_contents(self.forest.text_slices(start, size, (kind < TEXT) | (kind == NUMBER)))
        kinds, numbers = np.empty(chain.size, np.uint8), np.empty(chain.size, np.float64)
        for row, which in enumerate(chain.tolist()):
            run_program(values, code, end, which * made.width)
            kinds[row], numbers[row] = values.kind[made.stack], values.num[made.stack]
        return pa.array(numbers, mask=kinds < BOTH)

    def _source_texts(self, node: Ints) -> TextSlices:
        """Elements as they stand in the document, values of attributes and texts; null for -1."""
        tree = self.forest.tree
        token, close = tree.token[node], tree.close[node]
        start, size = tree.start[token], tree.stop[close] - tree.start[token]
        return self._drop_unneeded_contents(self.forest.text_slices(start, size, node < 0))

    def _drop_unneeded_contents(self, texts: TextSlices) -> TextSlices:
        return texts if self.forest.texts else texts.without_contents()
