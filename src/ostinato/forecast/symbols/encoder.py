"""Events as symbols (SRA paper, section 8.1): which conditions hold on an event, and what it does to ages.

A symbol is a minterm, that is, a set of conditions of the pattern and of the features that hold together, with an
effect. Under WITHIN n EVENTS, and without a window, every event has the same effect. Where a window is measured in time
or along an attribute, the effect is how many lines of a grid it takes ages further (age_grid.py). Where events are
compared with each other, it is the number of an outcome (outcomes.py). Only symbols that were observed get probability;
the others are there so that any event can be followed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from ostinato.core.conditions import Condition
from ostinato.core.expressions import CURRENT, TRUE, Attribute, Call, Expr, Literal
from ostinato.errors import LimitError
from ostinato.forecast.pattern import ForecastPattern
from ostinato.forecast.symbols.age_grid import Grid, Pace, choose_grid
from ostinato.forecast.symbols.automaton import Explorer, SymbolAutomaton, SymbolMoves, symbol_moves
from ostinato.forecast.symbols.outcomes import Outcome, explore_outcomes
from ostinato.patterns.theory.minterms import satisfiable_minterms

MAX_SYMBOLS = 4096
_MAX_UNSEEN = 256  # kinds of events that were never observed, but are provided for
_NEVER = -1  # the effect of what was never observed
_TYPE = Attribute(CURRENT, "#type")


@dataclass(frozen=True)
class Symbols:
    """The alphabet: a minterm (bit i for condition i) and an effect for each symbol; the `observed` ones come first."""

    pattern: ForecastPattern
    minterms: tuple[int, ...] = ()
    effects: tuple[int, ...] = ()
    observed: int = 0
    outcomes: tuple[Outcome, ...] = ()
    grid: Grid | None = None  # of a window along time or an attribute

    def __len__(self) -> int:
        return len(self.minterms)

    def with_more(self, found: Iterable[tuple[int, int]]) -> Symbols:
        """With symbols for further pairs of minterm and effect, all observed."""
        pairs = [*zip(self.minterms, self.effects, strict=True), *found]
        if len(pairs) > MAX_SYMBOLS:
            raise LimitError(
                "symbols",
                MAX_SYMBOLS,
                reason="too many different combinations of conditions and features hold on events",
                fix="give fewer features",
            )
        return replace(
            self,
            minterms=tuple(pair[0] for pair in pairs),
            effects=tuple(pair[1] for pair in pairs),
            observed=len(pairs),
        )

    def with_unseen(self) -> Symbols:
        """With a symbol for everything else that the pattern may have to read, so that it can be followed exactly. If
        events are compared, one symbol stands for everything unobserved, and a key begins anew after it."""
        if self.pattern.correlated:
            return replace(self.with_more([(0, _NEVER)]), observed=self.observed)
        known = {(self._moves(minterm), effect) for minterm, effect in self.pairs}
        missing: dict[tuple[SymbolMoves, int], int] = {}
        for minterm in _satisfiable(self.pattern.compiled.transducer.conditions()):
            for effect in sorted({*self.effects, *(() if self.grid is None else self.grid.provided)}):
                key = (self._moves(minterm), effect)
                if key not in known:
                    missing.setdefault(key, minterm)
        return replace(
            self.with_more((minterm, effect) for (_, effect), minterm in missing.items()), observed=self.observed
        )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.minterms, self.effects, strict=True))

    def nearest(self, minterm: int, effect: int) -> int:
        """The known symbol that stands for an unobserved one; if possible, the pattern reads it the same way."""
        if self.pattern.correlated:
            known = [symbol for symbol in range(self.observed) if self.effects[symbol] == effect]
            return min(known, key=lambda symbol: (self.minterms[symbol] ^ minterm).bit_count(), default=self.observed)
        own = self._moves(minterm)

        def far(symbol: int) -> tuple[bool, bool, int, int]:
            gap = self.effects[symbol] - effect
            other = self.minterms[symbol] ^ minterm
            return self._moves(self.minterms[symbol]) != own, gap < 0, abs(gap), other.bit_count()

        return min(range(len(self)), key=far)

    def automaton(self, max_states: int) -> SymbolAutomaton:
        """The pattern over these symbols, as small as it can be."""
        if self.pattern.correlated:
            assert self.bound is not None
            outcomes = [None if effect == _NEVER else self.outcomes[effect] for effect in self.effects]
            states = self.pattern.compiled.transducer.states
            return explore_outcomes(outcomes, states, self.bound, max_states).minimal()
        readings = [self._moves(minterm) for minterm in self.minterms]
        symbols = list(zip(readings, self.effects, strict=True))
        return self.explorer(max_states).explore(symbols).minimal()

    def with_grid(self, pace: Pace, max_states: int) -> Symbols:
        """With the finest grid that the pace calls for and a comfortable number of states allows. All events of a model
        are read by one grid, so it is chosen before the first of them is read."""
        window = self.pattern.compiled.query.window
        assert window is not None
        conditions = self.pattern.compiled.transducer.conditions()
        # If there are too many kinds of events to list, those of one condition each stand for all.
        kinds = _satisfiable(conditions) or (0, *(1 << place for place in range(len(conditions))))
        readings = dict.fromkeys(map(self._moves, kinds))

        def fits(parts: int, times: int) -> bool:
            tried = Grid(1.0, parts, 0)
            explorer = replace(self, grid=tried).explorer(max(1, max_states // times))
            try:
                explorer.explore([(read, step) for read in readings for step in tried.steps])
            except LimitError:
                return False
            return True

        return replace(self, grid=choose_grid(float(window.amount), pace, fits, compared=self.pattern.correlated))

    def explorer(self, max_states: int = 1) -> Explorer:
        compiled = self.pattern.compiled
        consume = compiled.query.consume != "NONE"
        step = 0 if self.measured else 1
        return Explorer(compiled.transducer, bound=self.bound, step=step, consume=consume, max_states=max_states)

    @property
    def provides(self) -> bool:
        """Whether there is a symbol for every kind of event, so that the automaton follows any of them exactly."""
        return bool(_satisfiable(self.pattern.compiled.transducer.conditions()))

    @property
    def measured(self) -> bool:
        """Whether the window is along time or an attribute, so that ages grow by more than events."""
        window = self.pattern.compiled.query.window
        return window is not None and window.kind != "events"

    @property
    def bound(self) -> int | None:
        """The largest age, in events or lines of the grid, of a run that may still complete."""
        if self.grid is not None:
            return self.grid.parts
        if self.pattern.compiled.query.window is None and not self.pattern.correlated:
            return None
        return None if self.pattern.reach is None else self.pattern.reach - 1

    def texts(self) -> list[str]:
        """What holds on an event, per symbol."""
        conditions = self.pattern.conditions
        texts = []
        for minterm, effect in self.pairs:
            names = [str(condition) for place, condition in enumerate(conditions) if minterm >> place & 1]
            texts.append(" AND ".join(names) or "nothing")
            if self.pattern.correlated:
                texts[-1] += ", never observed" if effect == _NEVER else f", outcome {effect}"
            elif self.grid is not None:
                whole = f"{effect} of {self.grid.parts} parts of the window later"
                texts[-1] += f", {whole}" if effect < self.grid.end else ", later than the window"
        return texts

    def _moves(self, minterm: int) -> SymbolMoves:
        own = minterm & self.pattern.own_bits
        if own not in self._known_moves:
            compiled = self.pattern.compiled
            self._known_moves[own] = symbol_moves(compiled.transducer, compiled.transducer.conditions(), own)
        return self._known_moves[own]

    @cached_property
    def _known_moves(self) -> dict[int, SymbolMoves]:
        return {}


@lru_cache(maxsize=64)
def _satisfiable(conditions: tuple[Condition, ...]) -> tuple[int, ...]:
    """Minterms of all kinds of events there can be; none if there are too many."""
    try:
        found = satisfiable_minterms([_test(condition) for condition in conditions], _MAX_UNSEEN)
    except LimitError:
        return ()
    return tuple(sum(1 << place for place, true in enumerate(holds) if true) for holds in found)


def _test(condition: Condition) -> Expr:
    where = TRUE if condition.where is None else condition.where
    if condition.relation is None:
        return where
    return Call("and", (Call("=", (_TYPE, Literal(condition.relation))), where))
