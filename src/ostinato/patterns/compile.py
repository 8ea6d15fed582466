"""The whole pipeline: text → query → passes → transducer → lazily determinised machine.

`CompiledPattern` also decides how a query is evaluated; the engine (patterns/runtime) only follows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from ostinato.core.conditions import Condition
from ostinato.core.expressions import CURRENT, attributes, variables
from ostinato.errors import QueryError
from ostinato.patterns.automata.alternatives import split_alternatives
from ostinato.patterns.automata.covering import has_one_largest
from ostinato.patterns.automata.deferred_equalities import defer_equalities
from ostinato.patterns.automata.determinise import AllMachine, Alphabet, MaxMachine, OrderMachine, StrategyMachine
from ostinato.patterns.automata.differences import Scale, add_orders
from ostinato.patterns.automata.from_formula import (
    PrecedingAbsence,
    TrailingAbsence,
    build_transducer,
    preceding_absences,
    trailing_absence,
)
from ostinato.patterns.automata.nested_matches import never_nested
from ostinato.patterns.automata.optimise import optimise, trim
from ostinato.patterns.automata.registers import Registers, check_written, is_ambiguous
from ostinato.patterns.automata.transducer import Transducer, Transition
from ostinato.patterns.automata.unfinished import add_unfinished
from ostinato.patterns.plan.absences import split_branches
from ostinato.patterns.plan.check import check_query
from ostinato.patterns.plan.equality_partitions import partition_by_equalities
from ostinato.patterns.plan.passes import normalise
from ostinato.patterns.plan.types import check_types
from ostinato.patterns.sra.definite_registers import make_registers_definite
from ostinato.patterns.sra.from_srem import build_sra
from ostinato.patterns.sra.segments import segment_detector
from ostinato.patterns.syntax.cel.parse import parse
from ostinato.patterns.syntax.nodes import (
    Absent,
    Language,
    Query,
    Segment,
    Skip,
    Strategy,
    repeated_variables,
    subformulas,
    vdef,
    vdef_plus,
)
from ostinato.patterns.syntax.part_numbers import part_numbers
from ostinato.patterns.syntax.srem import parse as srem
from ostinato.patterns.syntax.srem.nodes import SremPattern

_SYMBOLS = 256
_MANY_EVENTS = 64  # in a window of fewer, trying all runs costs less than looking them up in several ways
_MAX_RANKED = 64  # states; a key may have half the square of this many lists


@dataclass(frozen=True)
class CompiledPattern:
    """A query and everything derived from it before any event is seen."""

    query: Query
    stages: tuple[tuple[str, Query], ...]
    transducer: Transducer
    trailing: tuple[TrailingAbsence, ...]  # NOTs at the end
    preceding: tuple[PrecedingAbsence, ...] = ()  # NOTs at the start
    delays: tuple[int, ...] = ()  # the times of NOT … FOR between two parts, in nanoseconds
    # For each branch that gives what did not become a match in time, the part in which that stopped.
    stops: Mapping[int, int] = field(default_factory=dict)

    @property
    def tied_by(self) -> str | None:
        """The attribute all events of a match agree on, where equality filters were turned into partitions."""
        return self.stages[0][1].tied_by if self.stages else None

    @cached_property
    def contiguous(self) -> bool:
        """Whether some run ends when an event is not marked, so that even events without a condition matter."""
        waiting = {t.source for t in self.transducer.transitions if t.waits}
        return any(each.at_once for each in self.trailing) or any(
            t.source not in waiting for t in self.transducer.transitions
        )

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """The conditions that event codes distinguish."""
        trailing = (each.condition for each in self.trailing if each.condition is not None)
        absent = (*trailing, *(each.condition for each in self.preceding))
        return tuple(dict.fromkeys((*self.transducer.conditions(), *absent)))

    @property
    def needs_time(self) -> bool:
        """Whether the query measures time, so that the stream must have a time column."""
        window = self.query.window
        waits = any(each.lasting is not None for each in self.trailing)
        return waits or bool(self.preceding) or bool(self.delays) or (window is not None and window.kind == "time")

    @cached_property
    def labels(self) -> tuple[frozenset[str], ...]:
        """What the symbols 1, 2, … stand for: the names by which the answer shows a position; none for SELECT *."""
        found = {self.label(variable) for variable in vdef(self.query.formula)}
        return tuple(sorted((label for label in found if label & self.selected), key=sorted))

    @cached_property
    def selected(self) -> frozenset[str]:
        """The names that the answer shows."""
        return frozenset().union(*(variables(item.expr) for item in self.query.items or ()))

    def label(self, variable: str) -> frozenset[str]:
        """The names of a variable's positions that the answer shows. One that a NOT at the end reads is kept apart."""
        shown = self.query.names(variable) & self.selected
        return shown | {variable} if shown and variable in self.watched else shown

    @property
    def alike(self) -> list[int]:
        """For each symbol of `labels` the first that the answer shows by the same names."""
        shown = [label & self.selected for label in self.labels]
        return [1 + shown.index(label) for label in shown]

    @property
    def ranks(self) -> list[int]:
        """For each symbol of `labels` its place in the order of the names that the answer shows."""
        shown = [sorted(label & self.selected) for label in self.labels]
        return [sorted(shown).index(label) for label in shown]

    @cached_property
    def hides_variables(self) -> bool:
        """Whether different complex events can look the same in the answer."""
        marks = {t.mark for t in self.transducer.transitions if t.mark is not None}
        return self.query.items is not None and not all(self.query.names(mark) & self.selected for mark in marks)

    @cached_property
    def watched(self) -> tuple[str, ...]:
        """The variables that a NOT at the end compares with what must not come, or that AFTER MATCH SKIP goes to."""
        tests = [each.test for each in self.trailing if each.test is not None]
        target = self.skip.variable if self.skip is not None else None
        skipped_to = {name for name in vdef(self.query.formula) if target in self.query.names(name)}
        return tuple(sorted(skipped_to.union(*map(variables, tests)) - {CURRENT}))

    @property
    def skip(self) -> Skip | None:
        """What is skipped after a match; nothing where no other match is wanted."""
        return None if self.finds_first else self.query.skip

    @cached_property
    def finds_first(self) -> bool:
        """Whether only the first match counts, and NXT finds it: of the matches that an event completes, the first in
        order is the one that NXT takes, by the positions that the answer shows (`projects`)."""
        if self.query.limit != 1 or self.trailing or self.query.strategy not in ("ALL", "MAX", "NXT"):
            return self.query.limit == 1 and self.query.items is None
        return not self.hides_variables or (self.query.strategy == "ALL" and self.registers is None)

    @property
    def projects(self) -> bool:
        """Whether the strategy compares only the positions that the answer shows."""
        return self.finds_first and self.hides_variables

    @property
    def repeats(self) -> bool:
        """Whether the same answer can be found more than once."""
        hidden = self.hides_variables or len(set(self.alike)) < len(self.alike)
        return hidden or self._branches_overlap or self.ambiguous or (self.query.items is None and bool(self.watched))

    @property
    def _branches_overlap(self) -> bool:
        """Whether different branches can give the same answer: not where they differ in the part that is reached."""
        branches = 1 + max((t.branch for t in self.transducer.transitions), default=0)
        return branches > len({0, *self.stops.values()})

    @cached_property
    def strategy(self) -> Strategy:
        """The strategy that has to be applied: MAX is ALL where no match can be part of another, and NXT where one has
        all events of the others.

        Where a match waits for an absence, MAX is kept: it is applied to the complete matches. Where only the first
        match counts, the strategy that finds only that one.
        """
        if self.finds_first and not self.trailing:
            return "NXT" if self.query.strategy in ("ALL", "MAX") else self.query.strategy
        if self.query.strategy != "MAX" or self.trailing:
            return self.query.strategy
        if never_nested(self.transducer):
            return "ALL"
        follows_one = self.registers is None and self.skip is None and has_one_largest(self.transducer)
        return "NXT" if follows_one else "MAX"

    @cached_property
    def registers(self) -> Registers | None:
        """What runs remember of earlier events; None where no test compares events with each other."""
        return Registers(self.transducer) if self.transducer.registers else None

    def registers_over(
        self, is_number: Callable[[str], bool], scale_of: Callable[[str], Scale] = lambda attribute: None
    ) -> Registers | None:
        """As runs are looked up in a stream, where it is known which attributes are numbers, and of what kind."""
        window = self.query.window
        few = window is not None and window.kind == "events" and window.amount < _MANY_EVENTS
        if self.registers is None or few or self.query.language != "cel":
            return self.registers
        split = add_orders(split_alternatives(self.transducer, is_number), scale_of)
        return self.registers if split is self.transducer else Registers(split)

    @cached_property
    def ambiguous(self) -> bool:
        """Whether runs with different registers can find the same complex event."""
        return self.registers is not None and is_ambiguous(self.transducer)

    @property
    def apart(self) -> bool:
        """Whether runs that began at different events stay apart. Where many runs find one segment, they become one
        then: a segment has only a beginning and an end."""
        return self.query.language == "srem" and self.ambiguous

    @property
    def selects_late(self) -> bool:
        """Whether the strategy is applied to complete matches: where it must wait until an absence is certain, or until
        it is known what is skipped; and MAX where runs have registers, which no deterministic machine can follow."""
        if self.trailing or self.skip is not None:
            return self.strategy in ("NXT", "LAST", "MAX")
        return self.strategy == "MAX" and self.registers is not None

    @property
    def maximal(self) -> bool:
        """Whether runs with registers may leave out what is part of a larger match: MAX does not choose that, and
        neither do NXT and LAST, to which any event is better than none."""
        return self.strategy in ("MAX", "NXT", "LAST") and not self.trailing and self.skip is None

    @cached_property
    def keeps_matches(self) -> bool:
        """Whether complete matches are kept for a while: for an absence, or for a strategy to choose among them."""
        return bool(self.trailing) or self.selects_late

    @cached_property
    def keeps_places(self) -> bool:
        """Whether matches are compared by the places of their events in the stream."""
        return self.keeps_matches or self.query.limit is not None or self.skip is not None

    @property
    def ranked(self) -> bool:
        """Whether the best match within a sliding window is joined from two halves (patterns/kernels/ranked.py)."""
        best = self.strategy in ("NXT", "LAST") and self.query.items is None and not self.selects_late
        small = self.registers is None and self.transducer.states <= _MAX_RANKED
        return best and small and self.query.window is not None

    @property
    def replayed(self) -> bool:
        """Whether a sliding window is replayed to choose within it (patterns/kernels/replay.py)."""
        chooses = self.strategy in ("NXT", "LAST", "MAX") and not self.selects_late
        return chooses and self.query.window is not None and not self.ranked and self.registers is None

    def machine(self, truth: Callable[[int], tuple[bool, ...]]) -> StrategyMachine:
        alphabet = Alphabet(self.transducer, truth, self.symbol())
        strategy = "ALL" if self.selects_late else self.strategy
        if strategy == "MAX":
            return MaxMachine(alphabet)
        if strategy in ("NXT", "LAST"):
            return OrderMachine(alphabet, latest=strategy == "LAST")
        return AllMachine(alphabet)

    def symbol(self) -> Callable[[Transition], int]:
        """The symbol of a transition that marks; the last one of a match also says which branch it is of."""
        plain, count = self._plain_symbol(), self.symbols

        def symbol(t: Transition) -> int:
            assert t.mark is not None
            own = plain(t.mark, t.source == 0)
            return t.branch * count + (own or len(self.labels) + 1) if t.branch else own

        return symbol

    @property
    def symbols(self) -> int:
        """How many symbols there are for one branch, with 0: the others' are so many more for each."""
        return len(self.labels) + 2 + len(self.watched)

    @property
    def branched(self) -> bool:
        """Whether there are branches that end in different NOTs, so that matches say which one they are of."""
        return any(t.branch for t in self.transducer.transitions)

    def watched_symbols(self) -> dict[str, int]:
        """The symbol of each variable that is watched."""
        symbol = self._plain_symbol()
        return {name: symbol(name, False) for name in self.watched}

    def _plain_symbol(self) -> Callable[[str, bool], int]:
        """The symbol of a variable's mark; the flag says whether it is the first of its match."""
        numbers = {label: number for number, label in enumerate(self.labels, start=1)}
        labels = {variable: self.label(variable) for variable in vdef(self.query.formula)}
        symbols = {variable: numbers[label] for variable, label in labels.items() if label}
        hidden = len(numbers) + 1
        for number, variable in enumerate(self.watched, start=hidden + 1):
            symbols.setdefault(variable, number)
        if self.query.items is None:
            return lambda mark, first: symbols.get(mark, 1)
        if self.projects:
            return lambda mark, first: symbols.get(mark, 0)
        if self.strategy in ("NXT", "LAST", "MAX") or self.skip is not None or self.stops:
            # Strategies compare whole sets of positions, and so do beginnings: every position needs a symbol.
            return lambda mark, first: symbols.get(mark, hidden)
        # A window, and runs with registers, need the first position of a match even where the answer does not show it.
        first_hidden = hidden if self.query.window is not None or self.registers is not None else 0
        return lambda mark, first: symbols.get(mark, first_hidden if first else 0)


def compile_text(text: str, language: Language = "cel") -> CompiledPattern:
    """Compile the text of a query; raises QueryError with the place in the text."""
    compiled = {"cel": lambda: compile_query(parse(text)), "srem": lambda: compile_pattern(srem.parse(text))}
    try:
        return compiled[language]()
    except QueryError as error:
        raise error.within(text) from None


def compile_pattern(pattern: SremPattern) -> CompiledPattern:
    """Compile an SREM: to an SRA, and that to a transducer that finds its strings in a stream."""
    query = Query(
        Segment(pattern.expression),
        partition_by=pattern.partition_by,
        window=pattern.window,
        text=pattern.text,
        language="srem",
    )
    check_types(query, None)
    return _check_compiled(
        CompiledPattern(query, (), segment_detector(make_registers_definite(build_sra(pattern.expression))), ())
    )


def compile_query(query: Query, *, ties: bool = True) -> CompiledPattern:
    """Compile a CEL query. With `ties`, equalities between all events become partitions, else registers compare."""
    check_query(query)
    ties = ties and query.skip is None and query.timeout is None
    tied = partition_by_equalities(query) if ties else query
    stages = (("tie", tied), *normalise(tied))
    branches = split_branches(stages[-1][1].formula)
    built = build_transducer([core for core, _ in branches])
    transducer = trim(defer_equalities(optimise(built, contiguous=query.strategy == "STRICT")))
    check_written(transducer)
    tails = [(absent, number) for number, (_, tail) in enumerate(branches) for absent in tail]
    _check_watched(query, [absent for absent, _ in tails])
    ends = tuple(trailing_absence(absent, number) for absent, number in tails)
    starts = preceding_absences(stages[-1][1].formula)
    parts = (part for core, _ in branches for part in subformulas(core))
    delays = dict.fromkeys(part.lasting for part in parts if isinstance(part, Absent) and part.lasting is not None)
    stops: Mapping[int, int] = {}
    if query.timeout is not None:
        single = vdef_plus(query.formula) - repeated_variables(query.formula)
        unfinished = add_unfinished(transducer, part_numbers(query.formula), len(branches), single, query.timeout)
        transducer, ends, stops = unfinished.transducer, ends + unfinished.absences, unfinished.parts
    return _check_compiled(CompiledPattern(query, stages, transducer, ends, starts, tuple(delays), stops))


def _check_watched(query: Query, trailing: list[Absent]) -> None:
    """A NOT at the end finds the events of a match by name, so a name must not stand for two of them."""
    for absent in trailing:
        for node in attributes(absent.predicate) if absent.predicate is not None else ():
            if node.variable in repeated_variables(query.formula):
                raise QueryError(
                    f"`{node.variable}` names an event outside the + and one inside; this NOT means the one outside",
                    span=node.span,
                    fix="give them different names",
                )


def _check_compiled(compiled: CompiledPattern) -> CompiledPattern:
    branches = 1 + max((each.branch for each in compiled.trailing), default=0)
    if branches * compiled.symbols > _SYMBOLS:
        raise QueryError(
            f"SELECT shows {len(compiled.labels)} variables; at most {_SYMBOLS // branches - 2} can be told apart"
        )
    _ = compiled.registers  # raises now for what registers cannot do
    return compiled
