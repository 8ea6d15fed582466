"""From a formula in LP-normal form to a transducer (Theorem 3, appendix C.2; RMA paper, Theorem 8).

The paper gives every atom its own initial skip loop. Here the loop lives in the *gap* between two parts instead, so
that `:` is a concatenation without a gap and `NOT` a condition on what the gap may skip.

Every event is stored in a register of its variable, for later tests to read; unread registers are removed at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ostinato.core import expressions as ex
from ostinato.core.conditions import Condition
from ostinato.core.expressions import Expr
from ostinato.core.reachability import reachable_states
from ostinato.core.units import duration_text
from ostinato.errors import LimitError, QueryError
from ostinato.patterns.automata.absent_formulas import gap_without
from ostinato.patterns.automata.epsilon import FREE, Epsilon, Guard, remove_epsilon
from ostinato.patterns.automata.optimise import trim
from ostinato.patterns.automata.shuffle import interleave
from ostinato.patterns.automata.transducer import START_LOOP, Barred, Fold, Transducer, Transition
from ostinato.patterns.plan.passes import normalise
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import earlier_names, first_round
from ostinato.patterns.syntax.first_events import first_events
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Formula

MAX_STATES = 20_000  # before those that behave alike are merged

Fragment = tuple[int, tuple[int, ...]]  # entry state and exit states of a sub-formula

TIME = "#time"  # when an event came, in the pulses of the stream's clock


@dataclass(frozen=True)
class _OpenEnd:
    """Where the next part may begin: after which state (None: nothing was read yet, so nothing is skipped), what its
    gap must not skip, what the very next event must not be, and what its own first event must pass."""

    state: int | None
    absents: tuple[Barred | Transducer, ...] = ()
    at_once: tuple[Barred, ...] = ()
    tests: tuple[Expr, ...] = ()


@dataclass
class EpsilonTransducer:
    """A transducer under construction, with ε-transitions; state 0 is the start state."""

    states: int = 1
    transitions: list[Transition] = field(default_factory=lambda: [START_LOOP])
    epsilons: list[tuple[int, int]] = field(default_factory=list)
    guards: list[Epsilon] = field(default_factory=list)  # ε-transitions that ask something of the next event
    gaps: dict[tuple[int, tuple[Barred | Transducer, ...]], int] = field(default_factory=dict)
    # A variable under a + is not the one outside, so it has a register of its own.
    registers: Mapping[str, str] = field(default_factory=dict)
    scopes: int = 0

    def state(self) -> int:
        if self.states == MAX_STATES:
            raise LimitError(
                "automaton_states",
                MAX_STATES,
                reason="the automaton of this formula is too large",
                fix="let loops count to less, or bound them by WITHIN … EVENTS, and join fewer parts with AND",
            )
        self.states += 1
        return self.states - 1

    def finish(self, whole: Fragment) -> Transducer:
        entry, exits = whole
        plain = ((source, target, FREE) for source, target in [*self.epsilons, (0, entry)])
        return remove_epsilon(self.states, self.transitions, [*plain, *self.guards], exits)

    def fragment(self, formula: Formula) -> Fragment:
        """One construction per operator, for what it matches with at least one event."""
        if isinstance(formula, n.Event):
            return self._event(formula, None)
        if isinstance(formula, n.Filter):
            assert isinstance(formula.body, n.Event), "LP-normal form: filters stand on events only"
            return self._event(formula.body, formula.predicate)
        if isinstance(formula, n.Or):
            return self.alternatives([self.fragment(part) for part in formula.parts])
        if isinstance(formula, n.And):
            return self._interleave(formula)
        if isinstance(formula, n.Sequence):
            return self._sequence(formula)
        if isinstance(formula, n.Repeat):
            return self._repeat(formula)
        if isinstance(formula, n.Quiet):
            return self._quiet(formula)
        if isinstance(formula, n.Optional | n.Guarded):  # what stands around it leaves it out, or bars the gap
            return self.fragment(formula.body)
        assert isinstance(formula, n.Never | n.Empty), f"{type(formula).__name__} cannot stand alone"
        return self.state(), (self.state(),)

    def _event(self, event: n.Event, predicate: Expr | None) -> Fragment:
        entry, exit_ = self.state(), self.state()
        condition, test = split_event_predicate(event, predicate, self.registers)
        writes = (self.registers.get(event.variable, event.variable),)
        self.transitions.append(Transition(entry, exit_, condition, mark=event.variable, test=test, writes=writes))
        return entry, (exit_,)

    def alternatives(self, fragments: list[Fragment]) -> Fragment:
        entry, exit_ = self.state(), self.state()
        for inner_entry, inner_exits in fragments:
            self.epsilons.append((entry, inner_entry))
            self.epsilons += [(inner_exit, exit_) for inner_exit in inner_exits]
        return entry, (exit_,)

    def _sequence(self, sequence: n.Sequence) -> Fragment:
        # A part that may be left out leaves open what was open before it.
        entries: list[int] = []
        open_ends, begun = [_OpenEnd(None)], (len(self.transitions), len(self.epsilons))
        for part in sequence.parts:
            if isinstance(part, n.Absent | n.AbsentFormula):
                open_ends = [self._without(part, end, *begun) for end in open_ends]
                continue
            entry, exits = self.fragment(part)
            guard = self._barred(part.barred) if isinstance(part, n.Guarded) else ()
            for end in open_ends:
                if end.state is None:
                    entries.append(entry)
                    continue
                before = self._guarded(end.state, Guard(end.at_once))
                source = before if sequence.link == ":" else self._gap(before, end.absents + guard)
                self.epsilons.append((self._guarded(source, Guard(tests=end.tests)), entry))
            left_out = open_ends if n.nullable(part) else ()
            open_ends = [*left_out, *map(_OpenEnd, exits)]
        return self._enter(entries), tuple(end.state for end in open_ends if end.state is not None)

    def _without(self, absent: n.Absent | n.AbsentFormula, end: _OpenEnd, transitions: int, epsilons: int) -> _OpenEnd:
        """The open end with a NOT after it, which is between two parts. The sequence begins after so many transitions
        and epsilons."""
        if isinstance(absent, n.AbsentFormula):
            return replace(end, absents=(*end.absents, _absent_machine(absent)))
        barred = self._barred((absent,))
        if absent.at_once:
            return replace(end, at_once=end.at_once + barred)
        if absent.lasting is None:
            return replace(end, absents=end.absents + barred)
        assert end.state is not None, "there is an event before it"
        self.scopes += 1
        register = f"last#{self.scopes}"
        recorded = self._exit((end.state,), transitions, epsilons, lambda t: replace(t, writes=(*t.writes, register)))
        until = ex.Attribute(register, deadline_column(absent.lasting))
        now = ex.Attribute(ex.CURRENT, TIME)
        ((condition, test),) = barred
        early = ex.Call("<=", (now, until))
        both = early if test is None else ex.conjoin([test, early])
        tests = (*end.tests, ex.Call(">", (now, until)))
        return replace(end, state=recorded, absents=(*end.absents, (condition, both)), tests=tests)

    def _guarded(self, before: int, guard: Guard) -> int:
        """A state after `before`, where the next event must pass."""
        if guard == FREE:
            return before
        self.guards.append((before, after := self.state(), guard))
        return after

    def _enter(self, entries: list[int]) -> int:
        """One state for several entries."""
        if len(entries) == 1:
            return entries[0]
        entry = self.state()
        self.epsilons += [(entry, each) for each in entries]
        return entry

    def _repeat(self, repeat: n.Repeat) -> Fragment:
        outside, first = self.registers, len(self.transitions)
        self.scopes += 1
        earlier = earlier_names(repeat)
        until = self._barred(repeat.until)
        own = n.vdef_plus(repeat.body) | earlier
        self.registers = {**outside, **{name: f"{name}#{self.scopes}" for name in own}}
        between = until + self._barred(repeat.barred)
        least = 1 if n.nullable(repeat.body) else repeat.least
        remembers = bool(earlier or repeat.kept)
        count = repeat.most or max(least, 2 if remembers else 1)  # the first round has no earlier ones, so it differs
        rounds, scope = [], self.scopes
        for number in range(count):
            self.scopes = scope  # rounds share registers: what one holds, the next one does not read
            rounds.append(self._round(repeat.body, earlier, repeat.kept, begins=number == 0))
        self.registers = outside
        again = [rounds[-1]] if repeat.most is None else []
        for (_, exits), (entry, _) in pairwise([*rounds, *again]):
            for exit_ in exits:
                self.epsilons.append((exit_ if repeat.link == ":" else self._gap(exit_, between), entry))
        if until:
            self.transitions[first:] = [transition.refusing(until) for transition in self.transitions[first:]]
        return rounds[0][0], tuple(exit_ for _, exits in rounds[least - 1 :] for exit_ in exits)

    def _round(self, body: Formula, earlier: frozenset[str], kept: frozenset[str], *, begins: bool) -> Fragment:
        """One round of a loop. Its last event takes its events into the registers of the `earlier` ones, and those of
        what is `kept` for later."""
        if not earlier and not kept:
            return self.fragment(body)
        transitions, epsilons = len(self.transitions), len(self.epsilons)
        entry, exits = self.fragment(first_round(body, earlier) if begins else body)

        def remember(t: Transition) -> Transition:
            into = [(self.registers[name], name.removeprefix(n.earlier_name(""))) for name in sorted(earlier)]
            into += [(n.whole_name(name), name) for name in sorted(kept)]
            folds = []
            for register, variable in into:
                own = self.registers[variable]
                folds.append(Fold(register, None if own in t.writes else own, begins))
            writes = (*t.writes, *(fold.register for fold in folds))
            return replace(t, writes=writes, folds=(*t.folds, *folds))

        return entry, (self._exit(exits, transitions, epsilons, remember),)

    def _exit(
        self, exits: Iterable[int], transitions: int, epsilons: int, remember: Callable[[Transition], Transition]
    ) -> int:
        """An exit of its own for a fragment that was built after so many transitions and epsilons: what leads there are
        its last events, with what they are to remember."""
        before: dict[int, list[int]] = {}
        for source, target in self.epsilons[epsilons:]:
            before.setdefault(target, []).append(source)
        last, done = reachable_states(exits, before), self.state()
        ways = [t for t in self.transitions[transitions:] if t.mark is not None and t.target in last]
        self.transitions += [replace(remember(t), target=done) for t in ways]
        return done

    def _interleave(self, formula: n.And) -> Fragment:
        """The parts side by side (shuffle.py), as a fragment with states of its own."""
        parts = [(self._alone(part), n.nullable(part)) for part in formula.parts]
        tests = [_in_registers(test, self.registers) for test in formula.tests]
        return self._embed(interleave(parts, tests, apart=formula.apart))

    def _quiet(self, formula: n.Quiet) -> Fragment:
        built = self._alone(formula.body)
        recent = tuple(Condition(None, ex.Attribute(ex.CURRENT, recent_column(absent))) for absent in formula.absents)
        moves = (t for t in built.transitions if t != START_LOOP)
        barred = (replace(t, unless=(*t.unless, *recent)) if t.source == 0 else t for t in moves)
        return self._embed(replace(built, transitions=tuple(barred)))

    def branch(self, formula: Formula, number: int) -> Fragment:
        """A formula whose last events say so: they lead to a state that nothing leaves."""
        built = self._alone(formula)
        end = built.states
        last = [t for t in built.transitions if t.mark is not None and t.target in built.final]
        ends = (replace(t, target=end, branch=number) for t in last)
        return self._embed(Transducer(end + 1, (*built.transitions[1:], *ends), frozenset({end})))

    def _alone(self, formula: Formula) -> Transducer:
        """The transducer of a part by itself: state 0 is never entered again, so that what leaves it are the first
        events. It begins with the start loop."""
        alone = EpsilonTransducer(registers=self.registers, scopes=self.scopes)
        built = alone.finish(alone.fragment(formula))
        self.scopes = alone.scopes
        return built

    def _embed(self, transducer: Transducer) -> Fragment:
        number = [self.state() for _ in range(transducer.states)]
        exit_ = self.state()
        for t in transducer.transitions:
            self.transitions.append(replace(t, source=number[t.source], target=number[t.target]))
        self.epsilons += [(number[state], exit_) for state in transducer.final]
        return number[0], (exit_,)

    def _barred(self, absents: tuple[n.Absent, ...]) -> tuple[Barred, ...]:
        return tuple(split_event_predicate(absent.event, absent.predicate, self.registers) for absent in absents)

    def _gap(self, before: int, absents: tuple[Barred | Transducer, ...]) -> int:
        """A state that skips all that is not forbidden here; one state serves everything that may follow `before`."""
        machines = [absent for absent in absents if isinstance(absent, Transducer)]
        events = tuple(absent for absent in absents if not isinstance(absent, Transducer))
        if (before, absents) not in self.gaps and machines:
            count, moves = gap_without(machines)
            number, end = [self.state() for _ in range(count)], self.state()
            self.epsilons += [(before, number[0]), *((state, end) for state in number)]
            placed = (replace(t, source=number[t.source], target=number[t.target]) for t in moves)
            self.transitions += [t.refusing(events) for t in placed]
            self.gaps[before, absents] = end
        if (before, absents) not in self.gaps:
            gap = self.gaps[before, absents] = self.state()
            self.epsilons.append((before, gap))
            self.transitions.append(Transition(gap, gap).refusing(events))
        return self.gaps[before, absents]


def _absent_machine(absent: n.AbsentFormula) -> Transducer:
    """What finds the complex events of a formula that must not come; it has no registers."""
    formula = normalise(n.Query(absent.body))[-1][1].formula
    machine = trim(build_transducer([formula]))
    if any(t.test is not None or t.barred or t.folds for t in machine.transitions):
        reason = "inside a NOT of several events, they cannot be compared with each other"
        raise QueryError(reason, span=absent.span, fix="test each of them by itself, or give one NOT per event")
    return machine


def split_event_predicate(event: n.Event, predicate: Expr | None, registers: Mapping[str, str]) -> Barred:
    """Split a predicate into the part that needs only the event and the part that reads registers."""

    owners = {**registers, event.variable: ex.CURRENT}
    own, test = split_test(ex.TRUE if predicate is None else _in_registers(predicate, owners))
    return replace(own, relation=event.relation), test


def _in_registers(predicate: Expr, registers: Mapping[str, str]) -> Expr:
    """The predicate over registers in place of variables."""

    def owned(node: Expr) -> Expr:
        known = isinstance(node, ex.Attribute) and node.variable in registers
        return replace(node, variable=registers[node.variable]) if known and isinstance(node, ex.Attribute) else node

    return ex.transform(predicate, owned)


def split_test(test: Expr) -> Barred:
    """Split a test into the part that needs only the current event and the part that reads registers."""
    parts: dict[bool, list[Expr]] = {True: [], False: []}
    for conjunct in ex.conjuncts(test) if test != ex.TRUE else ():
        parts[ex.variables(conjunct) <= {ex.CURRENT}].append(conjunct)
    alone, compared = (ex.conjoin(tests) if tests else None for tests in (parts[True], parts[False]))
    return Condition(None, alone), compared


@dataclass(frozen=True)
class TrailingAbsence:
    """A NOT at the end: such an event (None: nothing) cancels a match that waits. A test compares it with events of the
    match.

    It lasts so many nanoseconds from the last event of the match on, or (None) as long as the window; or (`at_once`)
    only the very next event counts.
    """

    condition: Condition | None
    test: Expr | None
    lasting: int | None
    at_once: bool = False
    branch: int = 0  # whose matches wait for it


def trailing_absence(absent: n.Absent, branch: int) -> TrailingAbsence:
    event = split_event_predicate(absent.event, absent.predicate, {})
    return TrailingAbsence(*event, absent.lasting, absent.at_once, branch)


@dataclass(frozen=True)
class PrecedingAbsence:
    """A NOT … FOR at the start, as a column that says whether such an event came so many nanoseconds before.

    A test compares it with the first event, whose types are `firsts` (None: any).
    """

    column: str
    condition: Condition
    test: Expr | None
    lasting: int
    firsts: tuple[str | None, ...]


def recent_column(absent: n.Absent) -> str:
    event: Formula = absent.event if absent.predicate is None else n.Filter(absent.event, absent.predicate)
    return f"#{to_text(event)} in the last {duration_text(absent.lasting or 0)}"


def deadline_column(lasting: int) -> str:
    """A column that says when so much time has passed since an event."""
    return f"{TIME} + {duration_text(lasting)}"


def preceding_absences(formula: Formula) -> tuple[PrecedingAbsence, ...]:
    found: dict[str, PrecedingAbsence] = {}
    for part in n.subformulas(formula):
        for absent in part.absents if isinstance(part, n.Quiet) else ():
            name, lasting = recent_column(absent), absent.lasting
            assert lasting is not None
            firsts = dict.fromkeys(first.event.relation for first in first_events(part))
            if name in found:
                firsts = dict.fromkeys((*found[name].firsts, *firsts))
            own = split_event_predicate(absent.event, absent.predicate, {})
            found[name] = PrecedingAbsence(name, *own, lasting, tuple(firsts))
    return tuple(found.values())


def build_transducer(branches: Sequence[Formula]) -> Transducer:
    """The transducer of a formula, or of the branches of one that end in different NOTs, without ε-transitions."""
    built = EpsilonTransducer()
    if len(branches) == 1:
        whole = built.fragment(branches[0])
    else:
        whole = built.alternatives([built.branch(formula, number) for number, formula in enumerate(branches)])
    tested = frozenset(attribute.variable for t in built.transitions for attribute in t.register_attributes())
    tested = tested.union(*(guard.reads for _, _, guard in built.guards))
    folded = [
        replace(t, folds=tuple(fold for fold in t.folds if fold.register in tested)) if t.folds else t
        for t in built.transitions
    ]
    read = tested.union(*(t.reads for t in folded))
    built.transitions = [replace(t, writes=tuple(name for name in t.writes if name in read)) for t in folded]
    return built.finish(whole)
