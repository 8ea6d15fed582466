"""NOTs at the edges of a formula: NOT … FOR at its start becomes a condition on its first event, those at its end are
kept apart from it, for each branch of an OR its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import takewhile

from ostinato.patterns.plan.rewrite import check_node_limit, count_nodes, flatten
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula

Tail = tuple[n.Absent, ...]
Branch = tuple[Formula, Tail]  # a formula, and the NOTs at its end


def expand_quiet(formula: Formula) -> Formula:
    """`NOT R FOR d ; φ` as φ with a condition on its first event; `φ : NOT R` as φ with a NOT after it; and a filter
    over NOTs at an end inside, since it tests only the events before them.

    This comes first: the same parts of a longer sequence mean something else.
    """
    formula = n.rebuild(formula, expand_quiet)
    if isinstance(formula, n.Filter):
        core, tail = _split_tail(formula.body)
        return _append((replace(formula, body=core), tail)) if tail else formula
    if isinstance(formula, n.Sequence) and formula.link == ":" and isinstance(last := formula.parts[-1], n.Absent):
        before = formula.parts[:-1]
        if not any(isinstance(part, n.Absent) for part in before) and last.lasting is None:
            core = before[0] if len(before) == 1 else replace(formula, parts=before)
            return _append((core, (replace(last, at_once=True),)))
    if not isinstance(formula, n.Sequence) or formula.link != ";":
        return formula
    leading = takewhile(lambda part: isinstance(part, n.Absent) and part.lasting is not None, formula.parts)
    absents = tuple(part for part in leading if isinstance(part, n.Absent))
    rest = formula.parts[len(absents) :]
    if not absents or not rest or all(isinstance(part, n.Absent) for part in rest):
        return formula
    core, tail = _split_tail(replace(formula, parts=rest) if len(rest) > 1 else rest[0])
    return _append((n.Quiet(core, absents, formula.span), tail))


def split_branches(formula: Formula) -> list[Branch]:
    """The branches of a formula that has NOTs at its end, or at that of a branch of its last part; those without come
    first, as one. The formula itself where there are no such NOTs."""
    found = _branches(formula)
    check_node_limit(sum(count_nodes(core) for core, _ in found))
    certain = tuple(core for core, tail in found if not tail)
    if len(certain) == len(found):
        return [(formula, ())]
    waiting = [(core, tail) for core, tail in found if tail]
    return [(certain[0] if len(certain) == 1 else n.Or(certain, formula.span), ()), *waiting] if certain else waiting


def join_branches(branches: list[Branch]) -> Formula:
    """A formula from its branches, without those that never match."""
    parts = tuple(map(_append, branches))
    kept = tuple(part for part in parts if not isinstance(part, n.Never))
    return n.Or(kept, kept[0].span.to(kept[-1].span)) if len(kept) > 1 else kept[0] if kept else parts[0]


def on_cores(change: Callable[[Formula], Formula], formula: Formula) -> Formula:
    """Change each branch, apart from the NOTs at its end, so that these are not copied."""
    return join_branches([(change(core), tail) for core, tail in split_branches(formula)])


def flatten_branches(formula: Formula) -> Formula:
    """Flatten, and move the filters over NOTs at the end inside: they test only the events before them."""
    return join_branches(split_branches(flatten(formula)))


def _branches(formula: Formula) -> list[Branch]:
    if isinstance(formula, n.Or):
        return [branch for part in formula.parts for branch in _branches(part)]
    if isinstance(formula, n.Filter | n.Guarded | n.Quiet):
        inner = _branches(formula.body)
        waits = any(tail for _, tail in inner)
        return [(replace(formula, body=core), tail) for core, tail in inner] if waits else [(formula, ())]
    core, tail = _split_tail(formula)
    if not isinstance(core, n.Sequence):
        inner = _branches(core) if tail else []
    else:
        *before, last = core.parts
        inner = [(replace(core, parts=(*before, own)), ends) for own, ends in _branches(last)]
    return [(own, ends + tail) for own, ends in inner] if any(ends for _, ends in inner) else [(core, tail)]


def _split_tail(formula: Formula) -> Branch:
    """A sequence without the NOTs at its end, and those NOTs."""
    if not isinstance(formula, n.Sequence) or formula.link != ";":
        return formula, ()
    end = len(formula.parts)
    while end and isinstance(formula.parts[end - 1], n.Absent):
        end -= 1
    if end in (0, len(formula.parts)):
        return formula, ()
    parts, tail = formula.parts[:end], formula.parts[end:]
    own = tuple(part for part in tail if isinstance(part, n.Absent))
    return parts[0] if end == 1 else replace(formula, parts=parts), own


def _append(branch: Branch) -> Formula:
    core, tail = branch
    if not tail or isinstance(core, n.Never):
        return core
    return n.Sequence((core, *tail), span=core.span.to(tail[-1].span))
