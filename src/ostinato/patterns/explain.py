"""The text of `explain`: the query after each pass, the automaton, and how it will be evaluated."""

from __future__ import annotations

from ostinato.core.conditions import format_condition
from ostinato.patterns.automata.registers import Registers
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.syntax.format import pretty_print, to_text
from ostinato.patterns.syntax.nodes import Query
from ostinato.patterns.to_sql.text import sql_text


def explain_pattern(compiled: CompiledPattern) -> str:
    sections = [("query", pretty_print(compiled.query))]
    before = to_text(compiled.query.formula)
    for name, query in compiled.stages:
        after = to_text(query.formula)
        sections.append((f"pass: {name}", "unchanged" if after == before else after))
        before = after
    conditions = [f"{number}: {condition}" for number, condition in enumerate(compiled.conditions)]
    sections.append(("predicates (evaluated column-wise, one code per event)", "\n".join(conditions) or "none"))
    sections.append(("automaton", str(compiled.transducer)))
    sections.append(("evaluation", "\n".join(_evaluation(compiled))))
    if (sql := sql_text(compiled.query)) is not None:
        sections.append((f"in SQL, with the same matches{_provided(compiled.query)}", sql))
    return "\n\n".join(f"-- {title}\n{_indent(text)}" for title, text in sections)


def _provided(query: Query) -> str:
    """What the SQL stands on."""
    timed = " of timestamps" if query.window is not None and query.window.kind == "time" else ""
    return f" (the time is `ts`{timed}, the type `type`; no number is NaN)"


def _evaluation(compiled: CompiledPattern) -> list[str]:
    query = compiled.query
    lines = []
    if compiled.finds_first and compiled.strategy != query.strategy:
        shown = ", by the positions that the answer shows" if compiled.projects else ""
        lines.append(f"LIMIT 1: the first match that an event completes is the one that NXT takes{shown}")
    elif compiled.strategy == "NXT" != query.strategy:
        lines.append("MAX: of the matches with the same last event one has all events of the others: that of NXT")
    elif compiled.strategy != query.strategy:
        lines.append("MAX chooses nothing here: no match can be part of another with the same last event, so it is ALL")
    if compiled.selects_late:
        among = "that survive the NOT at the end" if compiled.trailing else "that an event completes"
        lines.append(f"{query.strategy}: chosen among the matches {among}")
    elif compiled.registers is not None:
        lines.append(f"{compiled.strategy}: one run for each state and each content of its registers")
        if compiled.apart:
            lines.append("runs also remember where they began: those that find one segment in many ways become one")
        if compiled.strategy in ("NXT", "LAST"):
            lines.append(f"{compiled.strategy}: the best of what an event completes, found from the best of its parts")
    elif compiled.ranked:
        lines.append(
            f"{compiled.strategy} within a window: joined from the best runs through the window's two halves; "
            "amortised constant time per event, whatever the window"
        )
    elif compiled.replayed:
        lines.append(f"{compiled.strategy} within a window: the window is replayed when an event may complete a match")
    elif compiled.strategy in ("NXT", "LAST"):
        lines.append(f"{compiled.strategy}: states in a total preorder, best first; constant time per event")
    elif compiled.strategy == "MAX":
        lines.append("MAX: pairs of state sets, the second holding what beats the first; constant time per event")
    else:
        how = "lazily I/O-determinised; constant time per event, output-linear enumeration"
        lines.append(f"{compiled.strategy}: {how}")
    lines += _registers(compiled.registers) if compiled.registers is not None else []
    lines.append(
        f"window: {query.window.text or query.window.kind}"
        if query.window
        else "window: none; state can grow with the stream"
    )
    if query.partition_by:
        lines.append(f"partitions: one state per {', '.join(query.partition_by)}")
    if compiled.tied_by is not None:
        lines.append(f"tied: all events of a match agree on {compiled.tied_by}, so each of its values is matched apart")
    if query.consume != "NONE":
        whose = "its partition" if query.consume == "PARTITION" else "every partition"
        lines.append(f"consume: after a match the partial matches of {whose} are forgotten")
    if query.skip is not None:
        where = (
            "after its first event"
            if query.skip.to == "NEXT"
            else f"at its {query.skip.to.lower()} {query.skip.variable}"
        )
        lines.append(f"skip: after a match, later ones of its partition begin {where} or later")
    if query.limit is not None:
        whose = "each partition" if query.partition_by else "the stream"
        lines.append(f"limit: the first {query.limit} of {whose}; then nothing of it is kept")
    cancels = [
        format_condition(each.condition, each.test)
        for each in compiled.trailing
        if each.condition is not None and each.branch not in compiled.stops
    ]
    if cancels:
        lines.append(f"absence: a match waits until its time has passed; cancelled by {' or '.join(cancels)}")
    if compiled.stops:
        lines.append("timeout: each beginning of a match waits until its window has passed, or until it has gone on")
    for absence in compiled.preceding:
        lines.append(
            f"absence at the start: `{absence.column}` is computed for each event, and no run begins where it holds"
        )
    if compiled.hides_variables:
        lines.append("distinct: SELECT leaves variables out, so equal answers are given once")
    return lines


def _registers(registers: Registers) -> list[str]:
    lines = []
    for state, needed in enumerate(registers.needed):
        index = registers.index(state)
        held = [registers.text(cell) for cell in registers.cells if cell in needed]
        found = [registers.text(cell) for cell in index]
        how = f"found by hashing {', '.join(found)}" if found else "looked through one by one"
        lines += [f"registers: runs in state {state} hold {', '.join(held)}, {how}"] if held else []
    return lines


def _indent(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
