"""AND and PERMUTE: several transducers side by side on one stream, where each event is marked by one of them at most.

The product of their states, where one part marks an event and the others skip it, or all skip it. A part that has not
begun, or has ended, skips anything; one within `:` skips nothing, so the others have to wait.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.errors import LimitError
from ostinato.patterns.automata.transducer import Transducer, Transition

MAX_TRANSITIONS = 20_000

_BEGIN, _END = 0, -1  # of a part; its other states are those of its transducer
_State = tuple[int, ...]  # one state per part


@dataclass(frozen=True)
class _Part:
    """A transducer as one of several: its moves by state, and the registers that are sure to be written there."""

    leaving: dict[int, tuple[Transition, ...]]
    written: dict[int, frozenset[str]]
    nullable: bool

    def marks(self, state: int) -> Iterator[Transition]:
        return (t for t in self.leaving.get(state, ()) if t.mark is not None)

    def skips(self, state: int) -> Iterator[Transition]:
        if state == _END:
            yield Transition(_END, _END)
        yield from (t for t in self.leaving.get(state, ()) if t.mark is None)

    def is_idle(self, state: int) -> bool:
        return state in (_BEGIN, _END)

    def is_complete(self, state: int) -> bool:
        return state == _END or (state == _BEGIN and self.nullable)


def interleave(parts: Sequence[tuple[Transducer, bool]], tests: Sequence[Expr], *, apart: bool) -> Transducer:
    """The product of the parts, each with whether it may be left out. State 0 skips nothing: the first event follows.

    `tests` compare registers of different parts: each stands on whichever event writes the last of them. With `apart`
    a part begins only where no other is under way.
    """
    own = [_part(transducer, nullable) for transducer, nullable in parts]
    start: _State = (_BEGIN,) * len(own)
    # What is complete without a part ends with its last event: once it skipped one, that part has to come.
    number: dict[tuple[_State, bool], int] = {(start, True): 0}
    todo, found = [(start, True)], dict[Transition, None]()
    for state, waits in todo:
        for move, after in _moves(own, state, tests, apart=apart):
            target = after, move.mark is None or not all(map(_Part.is_complete, own, after))
            if target not in number:
                number[target] = len(number)
                todo.append(target)
            found.setdefault(replace(move, source=number[state, waits], target=number[target]))
        if len(found) > MAX_TRANSITIONS:
            raise LimitError(
                "shuffle",
                MAX_TRANSITIONS,
                reason="the parts of this AND can be interleaved in too many ways",
                fix="join fewer parts, or shorter ones",
            )
    return Transducer(len(number), tuple(found), frozenset(at for (_, waits), at in number.items() if not waits))


def _part(transducer: Transducer, nullable: bool) -> _Part:
    leaving: dict[int, list[Transition]] = {}
    for t in transducer.transitions:
        leaving.setdefault(t.source, []).append(t)
        if t.mark is not None and t.target in transducer.final:
            leaving[t.source].append(replace(t, target=_END))
    written: dict[int, frozenset[str]] = {_BEGIN: frozenset()}
    changed = True
    while changed:
        changed = False
        for t in (t for source in list(written) for t in leaving.get(source, ())):
            after = written[t.source] | frozenset(t.writes)
            sure = written.get(t.target, after) & after
            changed |= written.get(t.target) != sure
            written[t.target] = sure
    return _Part({state: tuple(moves) for state, moves in leaving.items()}, written, nullable)


def _moves(
    parts: Sequence[_Part], state: _State, tests: Sequence[Expr], *, apart: bool
) -> Iterator[tuple[Transition, _State]]:
    idle = [part.is_idle(own) for part, own in zip(parts, state, strict=True)]
    for active, part in enumerate(parts):
        others = [other for other in range(len(parts)) if other != active]
        if apart and not all(idle[other] for other in others):
            continue
        for mark in part.marks(state[active]):
            tested = _require(mark, parts, state, tests)
            for skips in product(*(parts[other].skips(state[other]) for other in others)):
                target = list(state)
                target[active] = mark.target
                for other, skip in zip(others, skips, strict=True):
                    target[other] = skip.target
                yield _skip_together(tested, skips), tuple(target)
    if not all(idle) or (set(state) == {_BEGIN, _END}):
        for first, *rest in product(*(part.skips(own) for part, own in zip(parts, state, strict=True))):
            yield _skip_together(first, rest), (first.target, *(skip.target for skip in rest))


def _skip_together(move: Transition, skips: Sequence[Transition]) -> Transition:
    """The move of one part, for events that all others may skip."""
    unless = (condition for t in (move, *skips) for condition in t.unless)
    barred = (each for t in (move, *skips) for each in t.barred)
    return replace(move, unless=tuple(dict.fromkeys(unless)), barred=tuple(dict.fromkeys(barred)))


def _require(mark: Transition, parts: Sequence[_Part], state: _State, tests: Sequence[Expr]) -> Transition:
    """The mark with every test whose last register it writes."""
    before = frozenset().union(*(part.written[own] for part, own in zip(parts, state, strict=True)))
    after = before | frozenset(mark.writes)
    every = frozenset().union(*(written for part in parts for written in part.written.values()))
    due = [mark.test] if mark.test is not None else []
    for test in tests:
        read = ex.variables(test) & every
        if read <= after and not read <= before:
            due.append(ex.transform(test, lambda node: _current(node, mark.writes)))
    return replace(mark, test=ex.conjoin(due)) if due else mark


def _current(node: Expr, written: tuple[str, ...]) -> Expr:
    own = isinstance(node, ex.Attribute) and node.variable in written
    return replace(node, variable=ex.CURRENT) if own and isinstance(node, ex.Attribute) else node
