"""The whole pipeline of an XSeq query: text, checks, walk, tables, and which evaluator runs it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

from ostinato.errors import Message, Option, QueryError
from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.plan.schema_passes import PassNote, optimise
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.normal_form import normalise
from ostinato.xseq.syntax.variables import repeating_variables
from ostinato.xseq.walk.program import AnswerKind, WalkProgram, build_program
from ostinato.xseq.walk.tables import WalkTables, build_tables

if TYPE_CHECKING:
    from ostinato.core.stopwatch import Stopwatch
    from ostinato.documents.schema.model import Schema
    from ostinato.xseq.limits import XSeqLimits
    from ostinato.xseq.paper.productions import CXSeq
    from ostinato.xseq.runtime.buffered.tables import TreeTables
    from ostinato.xseq.runtime.one_pass.tables import StreamTables
    from ostinato.xseq.runtime.rows import Evaluator

Matches = Literal["all", "longest"]


@dataclass(frozen=True)
class CompiledXSeq:
    """A query after every stage."""

    text: str
    written: n.Query  # as it was written
    query: n.Query  # conditions in their places, names where they can be known
    notes: tuple[PassNote, ...]  # what the schema allowed to leave out
    matches: Matches
    schema: Schema | None
    program: WalkProgram
    tables: WalkTables

    def __getstate__(self) -> dict[str, Any]:
        """To be copied or sent: without tables, which hold locks and point to memory of this process."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    @cached_property
    def obstacle(self) -> str | None:
        """Why one pass with the runs alone does not do; None if it does."""
        from ostinato.xseq.runtime.one_pass.streamable import find_obstacle

        return find_obstacle(self.tables, longest=self.matches == "longest")

    @cached_property
    def productions(self) -> CXSeq | None:
        """The productions of the paper's section 6, by which `recognises` decides navigation that one pass cannot.

        Navigation asks for nodes and their own attributes alone, and compares none with another.
        """
        from ostinato.xseq.paper.recognise import to_basic_or_none

        query = self.query
        is_navigation = query.where is None and query.partition is None and query.items is None
        return to_basic_or_none(query.path) if is_navigation and self.obstacle is not None else None

    @cached_property
    def stream(self) -> StreamTables | None:
        """The tables of the one pass, shared by all documents; None where parts of the document must be kept."""
        from ostinato.xseq.runtime.one_pass.tables import StreamTables

        if self.obstacle:
            return None
        tables = StreamTables(self.tables, longest=self.matches == "longest")
        # one pass cannot tell in which round of a path variable a node is bound, where that is ambiguous
        return None if tables.ambiguous and any(slot.within for slot in self.program.slots) else tables

    @cached_property
    def tree_tables(self) -> TreeTables:
        """The tables for parts of the document that are kept, shared by all documents."""
        from ostinato.xseq.runtime.buffered.tables import build_tree_tables

        return build_tree_tables(self.program)

    def evaluator(self, limits: XSeqLimits, clock: Stopwatch | None = None, *, texts: bool = True) -> Evaluator:
        """An evaluator for one document. Without `texts` rows are found, but their texts are left empty."""
        clock = clock or limits.clock()
        texts |= self.program.answer is AnswerKind.GROUPS  # which tells groups apart by them
        if self.stream is not None:
            from ostinato.xseq.runtime.one_pass.evaluator import StreamEvaluator

            evaluator: StreamEvaluator
            try:
                evaluator = self.stream.idle.pop()
                evaluator.begin()
            except IndexError:
                evaluator = StreamEvaluator(self.stream)
            evaluator.limits, evaluator.clock, evaluator.texts = limits, clock, texts
            return evaluator
        from ostinato.xseq.runtime.buffered.evaluator import BufferedEvaluator

        return BufferedEvaluator(self.tree_tables, matches=self.matches, limits=limits, clock=clock, texts=texts)


def compile_xseq(text: str, *, matches: Matches = "all", schema: Schema | None = None) -> CompiledXSeq:
    """Read, check and compile a query; raises QueryError with the place and a likely fix."""
    if matches not in ("all", "longest"):
        raise QueryError(
            Message(Option("matches", matches), " is unknown"),
            fix=Message(Option("matches", "all"), " or ", Option("matches", "longest")),
            option="matches",
        )
    written = parse_and_check(text)
    query, notes = optimise(normalise(written), schema)
    try:
        program = build_program(query, repeating_variables(query))
    except QueryError as error:
        raise error.within(text) from None
    return CompiledXSeq(text, written, query, notes, matches, schema, program, build_tables(program))
