"""The automaton every pattern language compiles to: a symbolic register transducer. Without registers it is the CEA of
the CEL paper (section 6), with them a register match automaton.

A transition reads one event. It needs the event to satisfy `condition` (None: any event), `test` (None: no more) and
nothing of `unless` and `barred`, and either marks it with a variable or skips it (`mark` is None). Then the registers
that it `writes` hold the event; those that it `folds` hold what conditions ask of all events of a loop so far, and take
in one more. A run accepts when a marking transition reaches a final state: the last event of a
complex event is always marked. Where branches of a formula end in different NOTs, the transition says which `branch` it
completes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ostinato.core.conditions import Condition, format_condition
from ostinato.core.expressions import CURRENT, Attribute, Expr, attributes, to_text

Barred = tuple[Condition, Expr | None]  # what must not come: a unary condition, and a test that reads registers


@dataclass(frozen=True)
class Fold:
    """The event in `source` (None: the current one) is taken into a register of earlier events, or begins it."""

    register: str
    source: str | None
    begins: bool


@dataclass(frozen=True)
class Transition:
    """`test` and `barred` compare the current event `~` with registers; a barred event fits the condition and the test.

    Conditions need nothing but the event, so they are evaluated column-wise before any run is looked at.
    """

    source: int
    target: int
    condition: Condition | None = None
    unless: tuple[Condition, ...] = ()
    mark: str | None = None
    test: Expr | None = None
    barred: tuple[tuple[Condition, Expr], ...] = ()
    writes: tuple[str, ...] = ()
    folds: tuple[Fold, ...] = ()  # of registers that are among `writes`
    branch: int = 0

    def refusing(self, bars: tuple[Barred, ...]) -> Transition:
        """The transition, refused for events that must not come."""
        unless = (condition for condition, test in bars if test is None)
        barred = ((condition, test) for condition, test in bars if test is not None)
        return replace(
            self,
            unless=tuple(dict.fromkeys((*self.unless, *unless))),
            barred=tuple(dict.fromkeys((*self.barred, *barred))),
        )

    @property
    def stays(self) -> bool:
        """Whether it leaves a run in the same state with the same registers."""
        return self.source == self.target and self.mark is None and self.test is None and not self.writes

    @property
    def waits(self) -> bool:
        """Whether it does so for every event that is not forbidden."""
        return self.stays and self.condition is None

    def excludes(self, other: Transition) -> bool:
        """Whether no event can take both, because they ask for different types."""
        return len({t.condition.relation for t in (self, other) if t.condition is not None} - {None}) > 1

    @property
    def reads(self) -> frozenset[str]:
        """The registers it reads."""
        taken = (fold.source for fold in self.folds if fold.source is not None)
        return frozenset((*(attribute.variable for attribute in self.register_attributes()), *taken))

    def register_attributes(self) -> Iterator[Attribute]:
        for test in (*((self.test,) if self.test is not None else ()), *(test for _, test in self.barred)):
            yield from (attribute for attribute in attributes(test) if attribute.variable != CURRENT)

    def __str__(self) -> str:
        denied = [str(condition) for condition in self.unless]
        denied += [format_condition(condition, test) for condition, test in self.barred]
        within = "and" if denied or self.test is not None else None
        tests = [self.condition.text(within)] if self.condition is not None else []
        tests += [to_text(self.test, "and")] if self.test is not None else []
        tests += [f"NOT ({text})" for text in denied]
        writes = "".join(f" → {register.removeprefix('#')}" for register in self.writes)
        ends = f" ends branch {self.branch}" if self.branch else ""
        mark = f"{format_mark(self.mark)}{writes}{ends}"
        return f"{self.source} --[{' AND '.join(tests) or 'TRUE'}]/{mark}--> {self.target}"


def format_mark(mark: str | None) -> str:
    """How a mark is shown: ∘ skips, • marks for a variable without a name, • x marks for x."""
    if mark is None:
        return "∘"
    return "•" if mark.startswith("#") else f"• {mark}"


@dataclass(frozen=True)
class Transducer:
    """States are 0 … states-1; 0 is the start state: it skips anything until the first marked event."""

    states: int
    transitions: tuple[Transition, ...]
    final: frozenset[int]

    def __post_init__(self) -> None:
        for transition in self.transitions:
            if not (
                (0 <= transition.source < self.states and 0 < transition.target < self.states)
                or transition == START_LOOP
            ):
                raise ValueError(
                    f"transition {transition} leaves the states 0 … {self.states - 1} or enters the start state"
                )
        if not all(0 < state < self.states for state in self.final):
            raise ValueError(f"final states {sorted(self.final)} are not among 1 … {self.states - 1}")

    def conditions(self) -> tuple[Condition, ...]:
        """Every distinct condition, in order of first use."""
        found: dict[Condition, None] = {}
        for transition in self.transitions:
            own = (transition.condition,) if transition.condition is not None else ()
            for condition in own + transition.unless + tuple(condition for condition, _ in transition.barred):
                found.setdefault(condition)
        return tuple(found)

    @property
    def registers(self) -> frozenset[str]:
        """The registers that some transition reads."""
        return frozenset().union(*(transition.reads for transition in self.transitions))

    def __str__(self) -> str:
        lines = [f"states 0 … {self.states - 1}, start 0, final {sorted(self.final)}"]
        return "\n".join(lines + [f"  {transition}" for transition in self.transitions])


START_LOOP = Transition(source=0, target=0)
