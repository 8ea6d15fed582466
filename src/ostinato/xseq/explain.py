"""A query over documents, stage by stage, as text and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ostinato.errors import OstinatoError
from ostinato.xseq.compile import CompiledXSeq
from ostinato.xseq.syntax.format import query_text

if TYPE_CHECKING:
    from ostinato.xseq.paper.diagram import VPADiagram


def explain(compiled: CompiledXSeq) -> str:
    """The query as it is understood, what was made of it, its automaton, and how documents are evaluated."""
    parts = [f"query\n{_indented(query_text(compiled.written))}"]
    if query_text(compiled.query) != query_text(compiled.written):
        parts.append(f"after the passes\n{_indented(query_text(compiled.query))}")
    if compiled.notes:
        parts.append("passes\n" + "\n".join(f"  - {note.text}" for note in compiled.notes))
    parts.append(_automaton(compiled))
    parts.append(_evaluation(compiled))
    return "\n\n".join(parts)


def diagram(compiled: CompiledXSeq) -> VPADiagram:
    """A picture of the visibly pushdown automaton; QueryError where the path has none of this kind."""
    from ostinato.xseq.paper.diagram import VPADiagram

    return VPADiagram.of(_vpa(compiled), title=compiled.text)


def _vpa(compiled: CompiledXSeq) -> Any:
    from ostinato.xseq.paper.from_query import construct
    from ostinato.xseq.paper.schema import restrict_to_schema

    automaton = construct(compiled.query)
    return automaton if compiled.schema is None else restrict_to_schema(automaton, compiled.schema)


def _automaton(compiled: CompiledXSeq) -> str:
    try:
        automaton = _vpa(compiled)
    except OstinatoError as error:
        return f"automaton (section 6: productions)\n{_productions(compiled, error)}"
    states, symbols, moves = automaton.size
    title = f"visibly pushdown automaton (section 4.1): {states} states, {symbols} stack symbols, {moves} moves"
    return f"{title}\n{_indented(automaton.explain())}"


def _productions(compiled: CompiledXSeq, error: OstinatoError) -> str:
    from ostinato.xseq.paper.recognise import to_basic_or_none

    basic = to_basic_or_none(compiled.query.path)
    return _indented(str(basic)) if basic is not None else f"  none: {str(error).splitlines()[0]}"


def _evaluation(compiled: CompiledXSeq) -> str:
    program = compiled.program
    lines = []
    if compiled.stream is not None:
        lines.append("one pass; memory: the depth of the document and the partial matches that are open")
        lines.append(f"the automaton is determinised as documents need it; {compiled.stream.classes - 2} names matter")
        if compiled.stream.width:
            slots = [program.slots[number] for number in compiled.stream.tests.slots]
            kept = ", ".join(f"{slot.keep} {slot.variable}" for slot in slots)
            lines.append(f"a partial match carries {len(slots)} values: {kept}")
        if compiled.stream.bundles is not None:
            lines.append("those in one state, and in one partition, move as one: their last node and the next decide")
        if compiled.stream.histories:
            lines.append("and which nodes it bound, to tell equal matches, prefixes and order apart")
    else:
        from ostinato.xseq.runtime.buffered.evaluator import BufferedEvaluator

        reason = compiled.obstacle or "rounds of a path variable have to be told apart"
        lines.append(f"parts are kept in memory: {reason}")
        lines.append(BufferedEvaluator(program, matches=compiled.matches).explanation)
    if program.key is not None:
        lines.append(f"partitioned by @{program.key}: partial matches wait in a hash table by parent and key")
    early = sum(map(len, program.at_move.values()))
    lines.append(f"tests on the way: {early}; at the end of a match: {len(program.at_end)}")
    return "evaluation\n" + "\n".join(f"  {line}" for line in lines)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
