"""The automaton of a forward XSeq query, step by step (section 4.1 of the paper).

A walk that only goes forward ends where the open tag (attribute, text) of its last node is read. So the automaton
accepts the beginnings of a document that end there: some beginning is accepted exactly if the query has a match,
conditions between nodes left aside.

Where this differs from the paper's words:
- E "loops as long as what it reads is well nested". A call cannot see the stack, so one state cannot know. Inside what
  E skips, the automaton is in a state of its own, `skip`, shared by all E's: the symbol on the stack tells which E.
- C goes on to E2 "upon any input", which would swallow the open tag of a sibling that follows at once: no input here.
- `\\` "after a vertical axis" is said to be the next open tag, which is the first child: that is `/\\` here. After
  every axis `\\` is the next sibling, as in Query 5.
- C may read text before the open tag: the next sibling is an element, whatever white space lies between.
- A accepts "any attribute"; here @ is a state of its own, reached by the attribute that is asked for.
"""

from __future__ import annotations

from dataclasses import replace

from ostinato.documents.nested_words import Mark
from ostinato.errors import QueryError
from ostinato.xseq.paper.fragments import (
    HERE,
    INTERNAL,
    SKIP,
    Fragment,
    intersect_fragments,
    place_on_stack,
    remove_silent_moves,
)
from ostinato.xseq.paper.vpa import BOTTOM, VPA, Guard, State, VPAMove
from ostinato.xseq.plan.local_tests import is_local, predicate_text
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.variables import endless_variables


def construct(query: n.Query | n.Path) -> VPA:
    """The automaton of a query's path; QueryError if the path leaves the forward fragment."""
    path, partition = (query.path, query.partition) if isinstance(query, n.Query) else (query, None)
    defined = {each.variable: each.body for each in n.subpaths(path) if isinstance(each, n.Define)}
    builder = _Builder(None if partition is None else partition.attribute, endless_variables(defined))
    whole = builder.build(path)
    joined = remove_silent_moves(whole, builder.silents)
    moves = tuple(move for move in joined.moves if move.stack != HERE)
    # A walk that never leaves the document node is no match. Where a path may be empty, no move goes to its start.
    never = frozenset({whole.start}) if whole.nullable else frozenset()
    final = (frozenset(joined.ends) | joined.leaves) - never
    return _reachable(VPA(joined.states, frozenset({whole.start}), moves, final))


class _Builder:
    """Makes fragments; knows which names are taken and which states are joined without reading (ε)."""

    def __init__(self, key: str | None, endless: frozenset[str]) -> None:
        self._key, self._endless = key, endless
        self._taken: dict[str, int] = {}
        self._definitions: dict[str, n.Path] = {}
        self._open: list[str] = []
        self.silents: dict[State, list[State]] = {}

    def state(self, name: str) -> State:
        self._taken[name] = self._taken.get(name, 0) + 1
        return name if self._taken[name] == 1 else f"{name} #{self._taken[name]}"

    def silent(self, source: State, target: State) -> None:
        self.silents.setdefault(source, []).append(target)

    def build(self, path: n.Path) -> Fragment:
        match path:
            case n.Step():
                return self._step(path)
            case n.Concat():
                whole = self.build(path.parts[0])
                for part in path.parts[1:]:
                    whole = self._then(whole, self.build(part))
                return whole
            case n.Star():
                rounds = self._star(self.build(path.body))
                if path.entry is None:
                    return rounds
                return self._union([self._empty(), self._then(self.build(n.first_round(path)), rounds)])
            case n.Union():
                return self._union([self.build(part) for part in path.parts])
            case n.Intersect():
                return self._intersect([self.build(part) for part in path.parts])
            case n.Define():
                self._definitions[path.variable] = path.body
                return self._define(path.variable, n.first_round(path), path.body)
            case n.Call():
                return self._call(path)

    def _empty(self) -> Fragment:
        hub = self.state("·")
        return Fragment((hub,), hub, (), {hub: frozenset({HERE})}, nullable=True)

    def _then(self, first: Fragment, second: Fragment) -> Fragment:
        on_stack = frozenset(symbol for symbols in first.ends.values() for symbol in symbols)
        second = place_on_stack(second, on_stack)
        for state in first.ends:
            self.silent(state, second.start)
        return Fragment(
            first.states + second.states,
            first.start,
            first.moves + second.moves,
            second.ends,
            second.leaves | (first.leaves if second.nullable else frozenset()),
            second.again,
            first.nullable and second.nullable,
        )

    def _star(self, body: Fragment) -> Fragment:
        around = self._empty()
        rounds = frozenset(symbol for symbols in body.ends.values() for symbol in symbols) | {HERE}
        body = place_on_stack(body, rounds)
        self.silent(around.start, body.start)
        for state in body.ends:
            self.silent(state, around.start)
        states = around.states + body.states
        ends = {around.start: rounds, **body.ends}
        return Fragment(states, around.start, body.moves, ends, body.leaves, nullable=True)

    def _union(self, parts: list[Fragment]) -> Fragment:
        hub = self.state("·")
        for part in parts:
            self.silent(hub, part.start)
        ends: dict[State, frozenset[str]] = {}
        for part in parts:
            ends.update(part.ends)
        return Fragment(
            (hub, *(state for part in parts for state in part.states)),
            hub,
            tuple(move for part in parts for move in part.moves),
            ends,
            frozenset().union(*(part.leaves for part in parts)),
            frozenset().union(*(part.again for part in parts)),
            any(part.nullable for part in parts),
        )

    def _intersect(self, parts: list[Fragment]) -> Fragment:
        """Walks of both sides read the last open tag at the same moment, so the product of the two is what is meant."""
        if any(part.again for part in parts):
            raise QueryError("a path variable cannot stand inside its own definition under `intersect` here")
        whole = parts[0]
        for part in parts[1:]:
            left, right = remove_silent_moves(whole, self.silents), remove_silent_moves(part, self.silents)
            whole = intersect_fragments(left, right)
        return whole

    def _define(self, variable: str, first: n.Path, body: n.Path) -> Fragment:
        """The first round, and after it, where the variable stands again, further rounds: which must follow there if
        rounds can also end in another way."""
        entry = self._round(variable, first)
        if not entry.again:
            return entry
        rounds = entry if first == body else self._round(variable, body)
        again = {**entry.ends, **rounds.ends}
        around = frozenset(symbol for state in entry.again | rounds.again for symbol in again.get(state, ()))
        rounds = place_on_stack(rounds, around | {HERE} if rounds is entry else around - {HERE})
        for state in entry.again | rounds.again:
            self.silent(state, rounds.start)
        goes_on = frozenset() if variable in self._endless else entry.again | rounds.again
        ends = {state: on for state, on in {**entry.ends, **rounds.ends}.items() if state not in goes_on}
        if first == body:
            return replace(rounds, ends=ends, again=frozenset())
        return Fragment(
            entry.states + rounds.states,
            entry.start,
            entry.moves + rounds.moves,
            ends,
            entry.leaves | rounds.leaves,
            nullable=entry.nullable,
        )

    def _round(self, variable: str, body: n.Path) -> Fragment:
        self._open.append(variable)
        inner = self.build(body)
        self._open.pop()
        return inner

    def _call(self, path: n.Call) -> Fragment:
        if path.variable in self._open:
            if path.variable != self._open[-1]:
                raise QueryError(f"${path.variable} stands inside the definition of another variable", span=path.span)
            around = self._empty()
            return replace(around, again=frozenset({around.start}), nullable=path.variable in self._endless)
        if path.variable not in self._definitions:
            raise QueryError(f"${path.variable} is used before it is defined", span=path.span)
        body = self._definitions[path.variable]
        return self._define(path.variable, body, body)

    # --- steps

    def _step(self, step: n.Step) -> Fragment:
        if step.axis is n.Axis.SELF and step.test.kind is n.Kind.NODE and not step.predicates and step.variable is None:
            return self._empty()
        if step.axis.backward or step.axis is n.Axis.SELF or not all(is_local(test) for test in step.predicates):
            what = (
                f"the axis {step.axis}" if step.axis.backward or step.axis is n.Axis.SELF else "a path in a predicate"
            )
            raise QueryError(
                f"{what} is not in the forward fragment of section 4.1",
                span=step.span,
                fix="see the walk instead, which every path has: explain() shows it",
            )
        shown_step = _text(step)
        match step.axis:
            case n.Axis.ATTRIBUTE:
                return self._attribute(step)
            case n.Axis.CHILD:
                start = self.state(f"E {shown_step}")
                return self._land(step, (start,), start, self._skipping(start))
            case n.Axis.DESCENDANT:
                start = self.state(f"E {shown_step}")
                # On the way down every depth looks alike, so this E needs no `skip`: it never pops what is not its own.
                loops = [VPAMove(start, mark, None, start) for mark in INTERNAL]
                loops += [VPAMove(start, mark, None, start, start) for mark in (Mark.OPEN, Mark.CLOSE)]
                return self._land(step, (start,), start, loops)
            case n.Axis.FIRST_CHILD:
                start = self.state(f"F {shown_step}")
                return self._land(step, (start,), start, [VPAMove(start, Mark.TEXT, None, start)])
            case _:
                return self._sibling(step)

    def _sibling(self, step: n.Step) -> Fragment:
        shown_step = _text(step)
        immediate = step.axis is n.Axis.IMMEDIATE_FOLLOWING_SIBLING
        inside = self.state(f"{'E' if immediate else 'E1'} {shown_step}")
        closed = self.state(f"C {shown_step}")
        moves = [*self._skipping(inside), VPAMove(inside, Mark.CLOSE, None, closed, HERE)]
        if not immediate:
            between = self.state(f"E2 {shown_step}")
            self.silent(closed, between)
            moves += self._skipping(between)
            return self._land(step, (inside, closed, between), inside, moves, before=between)
        moves.append(VPAMove(closed, Mark.TEXT, None, closed))
        if self._key is not None:
            others = Guard(f"@{self._key} is another")
            moves.append(VPAMove(closed, Mark.OPEN, None, SKIP, closed, others))
            moves.append(VPAMove(SKIP, Mark.CLOSE, None, closed, closed))
        return self._land(step, (inside, closed), inside, moves, before=closed)

    def _skipping(self, state: State) -> list[VPAMove]:
        """What E does: well-nested words and texts go by. Attributes went by in the A of the step before."""
        return [
            VPAMove(state, Mark.TEXT, None, state),
            VPAMove(state, Mark.OPEN, None, SKIP, state),
            VPAMove(SKIP, Mark.CLOSE, None, state, state),
        ]

    def _land(
        self, step: n.Step, states: tuple[State, ...], start: State, moves: list[VPAMove], before: State | None = None
    ) -> Fragment:
        """From `before` into the node itself: O on its open tag, A in its attributes; T on a text."""
        before = before or start
        ends: dict[State, frozenset[str]] = {}
        leaves: frozenset[State] = frozenset()
        if step.test.kind is not n.Kind.TEXT:
            opened, listed = self.state(f"O {_text(step)}"), self.state(f"A {_text(step)}")
            name = step.test.name if step.test.kind is n.Kind.NAME else None
            moves = [
                *moves,
                VPAMove(before, Mark.OPEN, name, opened, opened, self._guard(step)),
                VPAMove(opened, Mark.ATTRIBUTE, None, listed),
                VPAMove(listed, Mark.ATTRIBUTE, None, listed),
            ]
            states = (*states, opened, listed)
            ends = {opened: frozenset({opened}), listed: frozenset({opened})}
        if step.test.kind in (n.Kind.TEXT, n.Kind.NODE) and step.axis in (n.Axis.CHILD, n.Axis.DESCENDANT):
            read = self.state(f"T {_text(step)}")
            moves = [*moves, VPAMove(before, Mark.TEXT, None, read)]
            states, leaves = (*states, read), frozenset({read})
        return Fragment(states, start, tuple(moves), ends, leaves)

    def _attribute(self, step: n.Step) -> Fragment:
        if step.predicates:
            raise QueryError("a predicate on an attribute is not in the forward fragment", span=step.span)
        if step.test.kind is n.Kind.TEXT:
            hub = self.state("·")
            return Fragment((hub,), hub, (), {})
        name = step.test.name if step.test.kind is n.Kind.NAME else None
        hub, read = self.state("·"), self.state(f"@ {_text(step)}")
        return Fragment((hub, read), hub, (VPAMove(hub, Mark.ATTRIBUTE, name, read),), {}, frozenset({read}))

    def _guard(self, step: n.Step) -> Guard | None:
        text = [predicate_text(predicate) for predicate in step.predicates]
        if self._key is not None and step.axis.sibling:
            return Guard(" and ".join([*text, f"@{self._key} is the same"]))
        return Guard(" and ".join(text), step.predicates) if text else None


def _text(step: n.Step) -> str:
    written = {
        n.Axis.CHILD: "/",
        n.Axis.DESCENDANT: "//",
        n.Axis.ATTRIBUTE: "@",
        n.Axis.FIRST_CHILD: "/\\",
        n.Axis.IMMEDIATE_FOLLOWING_SIBLING: "\\",
    }
    return written.get(step.axis, "") + _named(step.test, step.variable)


def _named(test: n.NodeTest, variable: str | None) -> str:
    if variable is not None:
        return f"${variable}" + (f":{test.name}" if test.kind is n.Kind.NAME else "")
    return {n.Kind.NAME: test.name, n.Kind.ANY: "*", n.Kind.NODE: "node()", n.Kind.TEXT: "text()"}[test.kind]


def _reachable(automaton: VPA) -> VPA:
    """Without states that no run can be in, and without moves that pop what is never pushed."""
    pushed = {move.stack for move in automaton.moves if move.mark is Mark.OPEN}
    moves = [move for move in automaton.moves if move.mark is not Mark.CLOSE or move.stack in pushed | {BOTTOM}]
    seen, todo = set(automaton.initial), list(automaton.initial)
    while todo:
        state = todo.pop()
        for move in moves:
            if move.source == state and move.target not in seen:
                seen.add(move.target)
                todo.append(move.target)
    kept = tuple(move for move in moves if move.source in seen)
    pushed = {move.stack for move in kept if move.mark is Mark.OPEN}
    kept = tuple(move for move in kept if move.mark is not Mark.CLOSE or move.stack in pushed)
    states = tuple(state for state in automaton.states if state in seen)
    return VPA(states, automaton.initial, kept, automaton.final & seen)
