"""Builds the matcher of a query, which drives one kernel; `CompiledPattern` (patterns/compile.py) says which.

Matchers are imported when they are needed, since each comes with kernels and their structs.
"""

from __future__ import annotations

from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels.register_layout import CHOOSE_LAST, CHOOSE_NEXT, NO_CHOICE
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.bound_query import BoundQuery
from ostinato.patterns.runtime.matcher import Matcher, Scope
from ostinato.patterns.runtime.transition_tables import TransitionTables


def build_matcher(compiled: CompiledPattern, stream: BoundQuery, limits: Limits) -> Matcher:
    """A matcher without state, for the events of a stream."""
    scope = Scope(stream.window, stream.width, stream.consume, limits)
    if stream.registers is not None and stream.terms is not None:
        from ostinato.patterns.runtime.correlated import Correlated

        truth, symbol = stream.encoder.truth, compiled.symbol()
        transitions = TransitionTables(
            *(stream.registers, stream.terms.kinds, truth, symbol), maximal=compiled.maximal, apart=compiled.apart
        )
        choice = {"NXT": CHOOSE_NEXT, "LAST": CHOOSE_LAST}.get(compiled.strategy, NO_CHOICE)
        choice = NO_CHOICE if compiled.selects_late else choice
        return Correlated(transitions, stream.terms, scope, choice, labelled=compiled.query.items is not None)
    tables = StepTables(compiled.machine(stream.encoder.truth), max_states=limits.states)
    if compiled.ranked:
        from ostinato.patterns.runtime.ranked import Ranked

        return Ranked(tables, scope, latest=compiled.strategy == "LAST")
    if compiled.replayed:
        from ostinato.patterns.runtime.replay import Replayed

        return Replayed(tables, scope)
    from ostinato.patterns.runtime.direct import Direct

    return Direct(tables, scope)
