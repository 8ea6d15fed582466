"""The automaton of a pattern as a picture: SVG, or text for Graphviz."""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from ostinato.core.conditions import Condition
from ostinato.core.expressions import Expr, conjoin_optional, to_text
from ostinato.patterns.automata.transducer import Transducer, Transition, format_mark
from ostinato.viz.automaton import Drawing, DrawnState, EdgeLabel
from ostinato.viz.picture import AutomatonPicture, write_dot

_WRAP = 26  # characters on a line of a label
_LINES = 4  # lines shown per transition; the tooltip has all


@dataclass(frozen=True)
class Diagram(AutomatonPicture):
    """A drawn automaton; shows itself in a notebook."""

    transducer: Transducer
    title: str = "automaton"

    def svg(self) -> str:
        between: dict[tuple[int, int], list[Transition]] = {}
        for transition in self.transducer.transitions:
            between.setdefault((transition.source, transition.target), []).append(transition)
        labels = {edge: _label_of(transitions) for edge, transitions in between.items()}
        states = [
            DrawnState(str(number), final=number in self.transducer.final) for number in range(self.transducer.states)
        ]
        return Drawing(states, labels).document(self.title)

    def dot(self) -> str:
        edges = ((str(t.source), str(t.target), " / ".join((_tests(t), _mark(t)))) for t in self.transducer.transitions)
        return write_dot(map(str, sorted(self.transducer.final)), "0", edges)


def _tests(transition: Transition) -> str:
    """What a transition requires of the event, in the short form T[value > 40]."""
    has_test = transition.condition is not None or transition.test is not None
    tests = [_short(transition.condition or Condition(), transition.test)] if has_test else []
    tests += [f"not {_short(condition, None)}" for condition in transition.unless]
    tests += [f"not {_short(condition, test)}" for condition, test in transition.barred]
    return ", ".join(tests) or "any"


def _short(condition: Condition, test: Expr | None) -> str:
    whole = conjoin_optional(condition.where, test)
    where = "" if whole is None else f"[{to_text(whole)}]"
    return f"{condition.relation or ('' if where else 'any')}{where}"


def _mark(transition: Transition) -> str:
    """How an event is marked, and the registers that then hold it."""
    return " ".join(
        [format_mark(transition.mark), *(f"→ {register.removeprefix('#')}" for register in transition.writes)]
    )


def _label_of(transitions: list[Transition]) -> EdgeLabel:
    """One label for all transitions between the same two states."""
    lines: list[tuple[str, bool]] = []
    for transition in transitions:
        tests = textwrap.wrap(_tests(transition), _WRAP)
        if len(tests) > _LINES:
            tests = [*tests[: _LINES - 1], tests[_LINES - 1][: _WRAP - 1] + "…"]
        mark = _mark(transition)
        if len(tests) == 1 and len(tests[0]) + len(mark) < _WRAP and transition.mark is None:
            lines.append((f"{tests[0]} {mark}", False))
        else:
            lines += [*((test, False) for test in tests), (mark, transition.mark is not None)]
    return EdgeLabel(tuple(lines), "\n".join(str(transition) for transition in transitions))
