"""The whole pipeline of an XSeq query on one screen: text, checks, walk, tables, and which evaluator runs it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ostinato.automata.walk_program import Answer, Program, program_of
from ostinato.automata.walk_tables import Tables, tables_of
from ostinato.errors import QueryError
from ostinato.kernels.cold import announce
from ostinato.lang.xseq import parse
from ostinato.plan.xseq import XSeqQuery
from ostinato.plan.xseq_normal import normalised
from ostinato.plan.xseq_schema import Note, optimised
from ostinato.plan.xseq_variables import repeating

if TYPE_CHECKING:
    from ostinato.runtime.xseq.limits import XSeqLimits
    from ostinato.runtime.xseq.rows import Evaluator
    from ostinato.runtime.xseq.stream_tables import StreamTables
    from ostinato.tree.schema import Schema

Matches = Literal["all", "longest"]


@dataclass(frozen=True)
class Compiled:
    """A query after every stage."""

    text: str
    written: XSeqQuery  # as it was written
    query: XSeqQuery  # conditions in their places, names where they can be known
    notes: tuple[Note, ...]  # what the schema allowed to leave out
    matches: Matches
    schema: Schema | None
    program: Program
    tables: Tables

    @cached_property
    def obstacle(self) -> str | None:
        """Why one pass with the runs alone does not do; None if it does."""
        from ostinato.runtime.xseq.streamable import obstacle

        return obstacle(self.tables, longest=self.matches == "longest")

    @property
    def is_navigation(self) -> bool:
        """Whether only nodes and their own attributes are asked for, none compared with another."""
        return self.query.where is None and self.query.partition is None and self.query.items is None

    @cached_property
    def stream(self) -> StreamTables | None:
        """The tables of the one pass, shared by all documents; None where parts of the document must be kept."""
        from ostinato.runtime.xseq.stream_tables import StreamTables

        if self.obstacle:
            return None
        tables = StreamTables(self.tables, longest=self.matches == "longest")
        # which round of a path variable a node is bound in is not told apart in one pass, where it can be told two ways
        return None if tables.ambiguous and any(slot.within for slot in self.program.slots) else tables

    def evaluator(self, limits: XSeqLimits, *, texts: bool = True) -> Evaluator:
        """An evaluator for one document. Without `texts` rows are found, but their texts are left empty."""
        texts |= self.program.answer is Answer.GROUPS  # which tells groups apart by them
        if self.stream is None:
            announce("tree_walk")
        else:
            announce("pushdown" if self.stream.bundles is None else "pushdown_bundles")
            from ostinato.runtime.xseq.stream import StreamEvaluator

            evaluator: StreamEvaluator
            try:
                evaluator = self.stream.idle.pop()
                evaluator.begin()
            except IndexError:
                evaluator = StreamEvaluator(self.stream)
            evaluator.limits, evaluator.texts = limits, texts
            return evaluator
        from ostinato.runtime.xseq.buffered import Buffered

        return Buffered(self.program, matches=self.matches, limits=limits, texts=texts)


def compile_xseq(text: str, *, matches: Matches = "all", schema: Schema | None = None) -> Compiled:
    """Read, check and compile a query; raises QueryError with the place and a likely fix."""
    if matches not in ("all", "longest"):
        raise QueryError(f"matches={matches!r} is unknown", fix='matches="all" or matches="longest"')
    written = parse(text)
    query, notes = optimised(normalised(written), schema)
    try:
        program = program_of(query, repeating(query))
    except QueryError as error:
        raise error.within(text) from None
    return Compiled(text, written, query, notes, matches, schema, program, tables_of(program))
