"""A query over documents, stage by stage: as text, with the walk that runs; and the paper's automaton as a picture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ostinato.core.text.counts import format_count
from ostinato.xseq.compile import CompiledXSeq
from ostinato.xseq.runtime.buffered.closed_paths import readable_predicate
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import condition_text, operand_text, path_text, query_text
from ostinato.xseq.walk.automaton import Jump, Move, Walk
from ostinato.xseq.walk.program import Keep, Slot, WalkProgram

if TYPE_CHECKING:
    from ostinato.xseq.paper.diagram import VPADiagram
    from ostinato.xseq.runtime.buffered.evaluator import BufferedEvaluator

_JUMPS = {
    Jump.MARK: "remember this node as #{}",
    Jump.BACK: "back to node #{}",
    Jump.MEET: "only if this is node #{}",
    Jump.BEGIN: "rounds begin here (#{})",
    Jump.AGAIN: "another round, if none began here (#{})",
}


def explain_xseq_query(compiled: CompiledXSeq) -> str:
    """The query as it is understood, what was made of it, the walk that runs, and how documents are evaluated."""
    parts = [f"query\n{_indent(query_text(compiled.written))}"]
    if query_text(compiled.query) != query_text(compiled.written):
        parts.append(f"after the passes\n{_indent(query_text(compiled.query))}")
    if compiled.notes:
        parts.append("passes\n" + "\n".join(f"  - {note.text}" for note in compiled.notes))
    if compiled.stream is None:
        from ostinato.xseq.runtime.buffered.evaluator import BufferedEvaluator

        buffered = BufferedEvaluator(compiled.tree_tables, matches=compiled.matches)
        tables = buffered.tables
        conditions = [walk for first, walk in tables.walks[1:] if first != tables.keyed]
        parts += _walks(tables.program, tables.program.slots, conditions)
        parts.append(_evaluation(_explain_buffered(compiled, buffered), compiled))
    else:
        slots = [compiled.program.slots[number] for number in compiled.stream.tests.slots]
        parts += _walks(compiled.program, slots)
        parts.append(_evaluation(_one_pass(compiled, slots), compiled))
    return "\n\n".join(parts)


def diagram(compiled: CompiledXSeq) -> VPADiagram:
    """The visibly pushdown automaton of the paper's section 4.1 as a picture; QueryError where a path has none.

    It accepts the same documents as the query, but it is not what runs: that is the walk, which `explain` shows.
    """
    from ostinato.xseq.paper.diagram import VPADiagram
    from ostinato.xseq.paper.from_query import construct
    from ostinato.xseq.paper.schema import restrict_to_schema

    automaton = construct(compiled.query)
    if compiled.schema is not None:
        automaton = restrict_to_schema(automaton, compiled.schema)
    return VPADiagram(automaton, title=compiled.text)


# --- the walk


def _walks(program: WalkProgram, slots: Sequence[Slot], conditions: Sequence[Walk] = ()) -> Iterator[str]:
    """The walk of the path, that of `partition by`, and those of paths in conditions, one table each."""
    actions = {move: _actions(move, program, slots) for move in program.walk.moves}
    yield f"walk: {_size(program.walk)}\n{_moves(program.walk, actions)}"
    if program.keyed is not None:
        yield f"walk of `partition by`: {_size(program.keyed)}\n{_moves(program.keyed)}"
    for walk in conditions:
        yield f"walk of a path in a condition: {_size(walk)}\n{_moves(walk)}"


def _size(walk: Walk) -> str:
    accepting = ", ".join(map(str, sorted(walk.accepting)))
    states, moves = format_count(walk.states, "state"), format_count(len(walk.moves), "move")
    return f"{states}, {moves}, from state 0 to {accepting or 'none'}"


def _moves(walk: Walk, actions: Mapping[Move, Iterable[str]] | None = None) -> str:
    """A table of the moves, one line each, with what a run does there."""
    rows = [("from", "move", "to", "")]
    for move in walk.moves:
        rows.append((str(move.source), _move(move), str(move.target), "; ".join((actions or {}).get(move, ()))))
    wide = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = (f"  {a:<{wide[0]}}  {b:<{wide[1]}}  {c:<{wide[2]}}  {d}".rstrip() for a, b, c, d in rows)
    return "\n".join(lines)


def _move(move: Move) -> str:
    if isinstance(move.axis, Jump):
        return _JUMPS[move.axis].format(move.mark)
    assert move.test is not None
    conditions = tuple(map(readable_predicate, (*move.local, *move.checks)))
    step = path_text(n.Step(move.axis, move.test, predicates=conditions))
    return f"{step} as ${move.binds}" if move.binds else step


def _actions(move: Move, program: WalkProgram, slots: Sequence[Slot]) -> Iterator[str]:
    yield from (f"a round of ${variable} begins" for variable in move.enters)
    if kept := [_slot(slot) for slot in slots if slot.variable == move.binds]:
        yield f"keeps {', '.join(kept)}"
    yield from (f"tests {condition_text(test.condition)}" for test in program.at_move.get(move, ()))


def _slot(slot: Slot) -> str:
    """What a slot holds, as it would be written in a query."""
    alias = {Keep.FIRST: n.Alias.FIRST, Keep.LAST: n.Alias.PLAIN, Keep.PREV: n.Alias.PREV}.get(slot.keep)
    if slot.source is not None and alias is not None:
        source = slot.source
        return operand_text(n.Reference(slot.variable, alias, slot.within, source.steps, source.leaf, source.name))
    return f"{slot.keep}({f'${slot.variable}' if slot.operand is None else operand_text(slot.operand)})"


# --- how documents are evaluated


def _one_pass(compiled: CompiledXSeq, slots: Sequence[Slot]) -> Iterator[str]:
    stream = compiled.stream
    assert stream is not None
    yield "one pass; memory: the depth of the document and the partial matches that are open"
    names = format_count(stream.classes - 2, "name")
    matter = "matters" if stream.classes - 2 == 1 else "matter"
    yield f"states without bindings are determinised as documents need them; {names} {matter}"
    if slots:
        yield f"a partial match carries {format_count(len(slots), 'value')}: {', '.join(map(_slot, slots))}"
    if stream.bundles is not None:
        yield "partial matches in the same state and partition advance together: their last node and the next decide"
    if stream.histories:
        yield "and which nodes it bound, to tell equal matches, prefixes and order apart"


def _explain_buffered(compiled: CompiledXSeq, buffered: BufferedEvaluator) -> Iterator[str]:
    reason = compiled.obstacle or "rounds of a path variable have to be distinguished"
    yield f"parts are kept in memory: {reason}"
    yield buffered.explanation


def _evaluation(lines: Iterable[str], compiled: CompiledXSeq) -> str:
    program = compiled.program
    every = [*lines]
    if program.key is not None:
        every.append(f"partitioned by @{program.key}: partial matches wait in a hash table by parent and key")
    early = sum(map(len, program.at_move.values()))
    every.append(f"tests on the way: {early}; at the end of a match: {len(program.at_end)}")
    if compiled.productions is not None:
        count = len(compiled.productions.productions)
        every.append(
            f"`recognises` keeps a stack alone: {format_count(count, 'production')} of the paper's section 6 "
            f"{'decides' if count == 1 else 'decide'}"
        )
    return "evaluation\n" + "\n".join(f"  {line}" for line in every)


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
