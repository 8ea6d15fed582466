"""Builds the matcher of a query, which drives one kernel; `CompiledPattern` (patterns/compile.py) says which."""

from __future__ import annotations

from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.kernels.best_match import CHOOSE_LAST, CHOOSE_NEXT, NO_CHOICE
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.bound_query import BoundQuery
from ostinato.patterns.runtime.correlated import Correlated
from ostinato.patterns.runtime.matcher import Direct, Matcher, Scope
from ostinato.patterns.runtime.ranked import Ranked
from ostinato.patterns.runtime.replay import Replayed
from ostinato.patterns.runtime.transition_tables import Acts


def build_matcher(compiled: CompiledPattern, stream: BoundQuery, limits: Limits) -> Matcher:
    scope = Scope(stream.window, stream.width, stream.consume, limits)
    if compiled.registers is not None and stream.terms is not None:
        truth, symbol = stream.encoder.truth, compiled.symbol()
        acts = Acts(compiled.registers, stream.terms.kinds, truth, symbol, maximal=compiled.maximal)
        choice = {"NXT": CHOOSE_NEXT, "LAST": CHOOSE_LAST}.get(compiled.strategy, NO_CHOICE)
        return Correlated(acts, stream.terms, scope, NO_CHOICE if compiled.selects_late else choice)
    tables = StepTables(compiled.machine(stream.encoder.truth), max_states=limits.states)
    if compiled.ranked:
        return Ranked(tables, scope, latest=compiled.strategy == "LAST")
    return Replayed(tables, scope) if compiled.replayed else Direct(tables, scope)
