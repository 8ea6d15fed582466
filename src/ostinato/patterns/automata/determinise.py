"""The sequential core of every selection strategy as a deterministic machine over *slots*, one step at a time.

A configuration is what is known after reading the events so far: which sets of transducer states the live runs are in.
Each slot stands for one such set and holds, at run time, a compact list of all the partial complex events in it. A step
says, for one event code, which slots the lists move to and what completes. Nothing here is built ahead of time: a step
is computed when a stream first needs it and remembered in the tables (lazy I/O-determinisation, appendix D.2).

State sets are bit masks. Symbol 0 is "nothing to show" (a skipped event, or a marked one the query does not show);
symbols 1, 2, … are the marks an answer shows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from ostinato.core.conditions import Condition
from ostinato.patterns.automata.comparable_states import comparable_states
from ostinato.patterns.automata.simulation import replaceable_states
from ostinato.patterns.automata.transducer import Transducer, Transition

BOTTOM = -1  # the source that holds the empty partial match: no event marked yet

Cell = tuple[int, ...]
Config = tuple[Cell, ...]  # cell 0 is the run without marks; its list is BOTTOM


@dataclass(frozen=True)
class ListMove:
    """The list of slot `source` joins that of slot cell `target`, both counted without the run that has no marks.

    A `symbol` other than 0 marks the event on the way.
    """

    source: int
    target: int
    symbol: int


@dataclass(frozen=True)
class MachineStep:
    """What reading one event does in one configuration. `emits`: (source, symbol) of each list that completes."""

    config: Config
    moves: tuple[ListMove, ...]
    emits: tuple[tuple[int, int], ...]


@dataclass
class StateMoves:
    """What each state can do on one event code, as target masks."""

    shown: list[dict[int, int]]  # per state: symbol -> targets
    hidden: list[int]  # per state: targets by a mark the answer does not show
    skipped: list[int]  # per state: targets by skipping


@dataclass
class Alphabet:
    """The transducer seen through event codes and output symbols."""

    transducer: Transducer
    truth: Callable[[int], tuple[bool, ...]]  # which of transducer.conditions() hold for a code
    symbol: Callable[[Transition], int]  # of a transition that marks
    cache: dict[int, StateMoves] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.number: dict[Condition, int] = {c: n for n, c in enumerate(self.transducer.conditions())}
        self.final = _mask(self.transducer.final)
        # A state that no transition leaves matters only at the moment it is entered.
        self.lasting = _mask({t.source for t in self.transducer.transitions})

    def moves(self, code: int) -> StateMoves:
        if code not in self.cache:
            self.cache[code] = self._moves(self.truth(code))
        return self.cache[code]

    def _moves(self, truth: tuple[bool, ...]) -> StateMoves:
        states = self.transducer.states
        moves = StateMoves([{} for _ in range(states)], [0] * states, [0] * states)
        for t in self.transducer.transitions:
            if t.condition is not None and not truth[self.number[t.condition]]:
                continue
            if any(truth[self.number[condition]] for condition in t.unless):
                continue
            bit = 1 << t.target
            if t.mark is None:
                moves.skipped[t.source] |= bit
            elif symbol := self.symbol(t):
                moves.shown[t.source][symbol] = moves.shown[t.source].get(symbol, 0) | bit
            else:
                moves.hidden[t.source] |= bit
        return moves

    def is_inert(self, code: int) -> bool:
        """Whether an event of this code changes no configuration, so that a replay may skip it."""
        moves = self.moves(code)
        return all(
            not moves.shown[state] and not moves.hidden[state] and moves.skipped[state] == 1 << state
            for state in iterate_bits(self.lasting)
        )

    def closes(self, code: int) -> bool:
        """Whether some marking transition on the code enters a final state."""
        moves = self.moves(code)
        return any(
            self.final & (moves.hidden[state] | _union(moves.shown[state].values()))
            for state in range(self.transducer.states)
        )


class StrategyMachine(ABC):
    """A selection strategy as a deterministic machine over configurations."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet

    @property
    @abstractmethod
    def initial(self) -> Config:
        """Nothing read, nothing marked."""

    @abstractmethod
    def step(self, config: Config, code: int) -> MachineStep:
        """Read one event."""


class AllMachine(StrategyMachine):
    """ALL, and STRICT after the transducer was restricted: I/O-determinisation by subsets (Proposition 1).

    A cell is one subset of states; two runs share it exactly when they show the same output, so no complex event is
    in two lists and none twice in one.
    """

    @property
    def initial(self) -> Config:
        return ((1,),)

    def step(self, config: Config, code: int) -> MachineStep:
        moves = self.alphabet.moves(code)
        final, lasting = self.alphabet.final, self.alphabet.lasting
        plan = _Plan()
        for source, (states,) in enumerate(config):
            slot = source - 1
            targets: dict[int, int] = {}
            unseen = kept = 0
            for state in iterate_bits(states):
                for symbol, mask in moves.shown[state].items():
                    targets[symbol] = targets.get(symbol, 0) | mask
                unseen |= moves.hidden[state]
                kept |= moves.skipped[state]
            if unseen & final:
                plan.emits.append((slot, 0))
            plan.move(slot, ((unseen | kept) & lasting,), 0)
            for symbol, mask in sorted(targets.items()):
                if mask & final:
                    plan.emits.append((slot, symbol))
                plan.move(slot, (mask & lasting,), symbol)
        return plan.step()


class MaxMachine(StrategyMachine):
    """MAX (appendix C.3.4): a cell is (S, E, T).

    S: states of runs with this very output; E: states of runs with the same positions, whatever their variables;
    T: states of runs with strictly more positions. Without variables to tell apart S is E, as in the paper.
    """

    @property
    def initial(self) -> Config:
        return ((1, 1, 0),)

    def step(self, config: Config, code: int) -> MachineStep:
        moves = self.alphabet.moves(code)
        final, lasting = self.alphabet.final, self.alphabet.lasting
        plan = _Plan()
        for source, (exact, same, more) in enumerate(config):
            slot = source - 1
            same_marked = _union(_mark_targets(moves, state) for state in iterate_bits(same))
            more_marked = _union(_mark_targets(moves, state) for state in iterate_bits(more))
            more_kept = _union(moves.skipped[state] for state in iterate_bits(more))
            beaten = more_marked | more_kept | same_marked
            kept = _union(moves.skipped[state] for state in iterate_bits(exact)) & ~beaten
            same_kept = _union(moves.skipped[state] for state in iterate_bits(same)) & ~beaten
            plan.move(slot, (kept & lasting, same_kept & lasting, beaten & lasting), 0)
            targets: dict[int, int] = {}
            for state in iterate_bits(exact):
                for symbol, mask in moves.shown[state].items():
                    targets[symbol] = targets.get(symbol, 0) | mask
            same_next = same_marked & ~more_marked & lasting
            for symbol, mask in sorted(targets.items()):
                if mask & final and not more_marked & final:
                    plan.emits.append((slot, symbol))
                plan.move(slot, (mask & ~more_marked & lasting, same_next, more_marked & lasting), symbol)
        return plan.step()


class OrderMachine(StrategyMachine):
    """NXT and LAST (appendix C.3.2, C.3.3, D.3): cells in a total preorder, best complex event first.

    A cell is (states, class, rank). Ranks order the cells of one class (comparable_states); others are never compared.
    Cells of one class and rank hold runs with the same positions; a state reached by a better rank is dropped from the
    worse ones (TPO), so that each list holds one complex event and its labellings. Under NXT so is a state for which
    one of a better rank can stand in (simulation.py): which is better is decided already. Where marks are hidden, only
    the shown ones are compared (NXT only), and the run without marks is any that has none to show.
    """

    def __init__(self, alphabet: Alphabet, *, latest: bool) -> None:
        super().__init__(alphabet)
        self.latest = latest
        names = comparable_states(alphabet.transducer, latest=True) if latest else (0,) * alphabet.transducer.states
        self.names = names
        self.classes = dict.fromkeys(names, 0)
        for state, name in enumerate(names):
            self.classes[name] |= 1 << state
        alone = tuple(1 << state for state in range(alphabet.transducer.states))
        self.replaceable = alone if latest else replaceable_states(alphabet.transducer, backwards=False)

    @property
    def initial(self) -> Config:
        return ((1, 0, 0),)

    def step(self, config: Config, code: int) -> MachineStep:
        moves = self.alphabet.moves(code)
        final, lasting = self.alphabet.final, self.alphabet.lasting
        plan = _Plan(bottom=self.initial[0])
        found: list[list[tuple[int, int, int]]] = []  # per rank, best first: slot, symbol, states
        taken = 0
        for marking, group in self._order(config):
            produced: list[tuple[int, int, int]] = []
            completing: list[tuple[int, int]] = []
            for source, states in group:
                if not marking:
                    unshown = _reached(moves.hidden, states)
                    produced.append((source - 1, 0, _reached(moves.skipped, states) | unshown))
                    completing += [(source - 1, 0)] if unshown & final else []
                    continue
                targets: dict[int, int] = {}
                for state in iterate_bits(states):
                    for symbol, mask in moves.shown[state].items():
                        targets[symbol] = targets.get(symbol, 0) | mask
                produced += [(source - 1, symbol, mask) for symbol, mask in sorted(targets.items())]
                completing += [(source - 1, symbol) for symbol, mask in sorted(targets.items()) if mask & final]
            plan.emits = plan.emits or completing
            found.append([(slot, symbol, mask & lasting & ~taken) for slot, symbol, mask in produced])
            for state in iterate_bits(_union(mask for _, _, mask in found[-1])):
                taken |= self.replaceable[state]
        ranks: dict[int, int] = {}
        for fresh in found:
            inside = [part for slot, symbol, mask in fresh for part in self._by_class(slot, symbol, mask & ~1)]
            for name in {name for name, *_ in inside}:
                ranks[name] = ranks.get(name, 0) + 1
            for name, slot, symbol, mask in inside:
                if slot == BOTTOM and symbol == 0:
                    plan.bottom = (mask | 1, 0, 0)
                else:
                    plan.move(slot, (mask, name, ranks[name]), symbol)
        return plan.step()

    def _by_class(self, slot: int, symbol: int, states: int) -> Iterator[tuple[int, int, int, int]]:
        """A list by the classes of its states: class, slot, symbol, states."""
        while states:
            name = self.names[(states & -states).bit_length() - 1]
            yield name, slot, symbol, states & self.classes[name]
            states &= ~self.classes[name]

    def _order(self, config: Config) -> Iterator[tuple[bool, list[tuple[int, int]]]]:
        """(marking?, cells of one rank) from the best to the worst successor; the run without marks is always last."""
        ranks: dict[tuple[int, int], list[tuple[int, int]]] = {}
        for source, (states, name, rank) in enumerate(config[1:], start=1):
            ranks.setdefault((name, rank), []).append((source, states))
        groups = [ranks[rank] for rank in sorted(ranks)] + [[(0, config[0][0])]]
        if self.latest:
            yield from ((True, group) for group in groups)
            yield from ((False, group) for group in groups)
        else:
            for group in groups:
                yield True, group
                yield False, group


@dataclass
class _Plan:
    """Collects the moves of one step; cells are numbered as they appear, the run without marks first."""

    cells: dict[Cell, int] = field(default_factory=dict)
    bottom: Cell | None = None
    moves: list[ListMove] = field(default_factory=list)
    emits: list[tuple[int, int]] = field(default_factory=list)

    def move(self, slot: int, cell: Cell, symbol: int) -> None:
        """A cell begins with the states its runs are in; without any there is nothing to move."""
        if slot == BOTTOM and symbol == 0:
            self.bottom = cell
        elif cell[0]:
            self.moves.append(ListMove(slot, self.cells.setdefault(cell, len(self.cells)), symbol))

    def step(self) -> MachineStep:
        assert self.bottom is not None
        # Sorted, so that a configuration is the same whatever order its cells were found in.
        cells = sorted(self.cells)
        place = {self.cells[cell]: number for number, cell in enumerate(cells)}
        moves = tuple(ListMove(move.source, place[move.target], move.symbol) for move in self.moves)
        return MachineStep((self.bottom, *cells), moves, tuple(self.emits))


def iterate_bits(mask: int) -> Iterator[int]:
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _mask(states: Iterable[int]) -> int:
    return _union(1 << state for state in states)


def _union(masks: Iterable[int]) -> int:
    result = 0
    for mask in masks:
        result |= mask
    return result


def _reached(targets: list[int], states: int) -> int:
    """The union of the targets of these states."""
    if states & (states - 1):
        return _union(targets[state] for state in iterate_bits(states))
    return targets[states.bit_length() - 1] if states else 0


def _mark_targets(moves: StateMoves, state: int) -> int:
    return _union(moves.shown[state].values()) | moves.hidden[state]
