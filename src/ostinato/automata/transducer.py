"""The automaton every pattern language compiles to: a symbolic transducer (the CEA of the CEL paper, section 6).

A transition reads one event. It needs the event to satisfy `condition` (None: any event) and none of `unless`, and
either marks it with a variable or skips it (`mark` is None). A run accepts when a marking transition reaches a final
state: the last event of a complex event is always marked.
"""

from __future__ import annotations

from dataclasses import dataclass

from ostinato.lang.expr import Expr, to_text


@dataclass(frozen=True)
class Condition:
    """A unary predicate: the event's type (None: any) and a condition over the current event `~` (None: no more)."""

    relation: str | None = None
    where: Expr | None = None

    def __str__(self) -> str:
        return self.text()

    def text(self, within: str | None = None) -> str:
        """In brackets where it stands `within` a tighter operator."""
        if self.relation is None:
            return "TRUE" if self.where is None else to_text(self.where, within)
        own = f"type = {self.relation}"
        return own if self.where is None else f"{own} AND {to_text(self.where, 'and')}"


@dataclass(frozen=True)
class Transition:
    source: int
    target: int
    condition: Condition | None = None
    unless: tuple[Condition, ...] = ()
    mark: str | None = None

    def __str__(self) -> str:
        tests = [self.condition.text("and" if self.unless else None)] if self.condition is not None else []
        tests += [f"NOT ({condition})" for condition in self.unless]
        return f"{self.source} --[{' AND '.join(tests) or 'TRUE'}]/{label(self.mark)}--> {self.target}"


def label(mark: str | None) -> str:
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
            for condition in ((transition.condition,) if transition.condition is not None else ()) + transition.unless:
                found.setdefault(condition)
        return tuple(found)

    def __str__(self) -> str:
        lines = [f"states 0 … {self.states - 1}, start 0, final {sorted(self.final)}"]
        return "\n".join(lines + [f"  {transition}" for transition in self.transitions])


START_LOOP = Transition(source=0, target=0)
