"""What can be matched apart from the rest of a stream: a range of it, with enough of what came before, or a key.

A match belongs to the range that its last event lies in. Under WITHIN it began at most one window earlier, so a range
reads so much before its own rows, and gives no match for them. Where answers must be told apart from earlier ones,
which may have begun a window before that, it reads two windows.
"""

from __future__ import annotations

from ostinato.patterns.compile import CompiledPattern


def windows_back(compiled: CompiledPattern) -> int:
    """How many windows before its first row a range must read."""
    return 2 if compiled.hides_variables else 1


def may_split_ranges(compiled: CompiledPattern) -> bool:
    """Whether what lies a few windows back cannot matter, and the rows of the stream say how far back that is."""
    query = compiled.query
    # With PARTITION BY, events are counted per key: the rows of the whole stream do not say how far back n of them lie.
    counted = query.window is not None and query.window.kind == "events" and not query.partition_by
    bounded = counted or (query.window is not None and query.window.kind == "time")
    local = query.consume == "NONE" and query.limit is None and query.skip is None
    local = local and not compiled.trailing and not compiled.preceding
    return bounded and local and shows_events(compiled)


def may_split_keys(compiled: CompiledPattern) -> bool:
    """Whether the events of each key can be matched by themselves."""
    query = compiled.query
    return bool(query.partition_by) and query.consume != "ANY" and not compiled.keeps_places


def shows_events(compiled: CompiledPattern) -> bool:
    """Whether every answer shows some event: an answer that shows none is given once in the whole stream."""
    if not compiled.hides_variables:
        return True
    reached, todo = {0}, [0]
    while todo:
        state = todo.pop()
        for step in compiled.transducer.transitions:
            if step.source != state or (step.mark is not None and compiled.label(step.mark)):
                continue
            if step.mark is not None and step.target in compiled.transducer.final:
                return False
            if step.target not in reached:
                reached.add(step.target)
                todo.append(step.target)
    return True
