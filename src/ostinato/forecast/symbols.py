"""Events as symbols (SRA paper, section 8.1): which conditions hold on an event, and what it does to ages.

A symbol is a minterm, that is, a set of conditions of the pattern and of the features that hold together, with an
effect. Under WITHIN n EVENTS, and without a window, every event has the same effect. Where a window is measured in time
or along an attribute, the effect is the class of the gap since the last event of the key, by its share of the window;
an age grows by the mean of the class. Where events are compared with each other, it is the number of an outcome
(outcomes.py). Only symbols that were observed get probability; the others are there so that any event can be followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from math import floor

import numpy as np

from ostinato.automata.sra.minterms import minterms
from ostinato.automata.transducer import Condition
from ostinato.errors import LimitError
from ostinato.forecast.automaton import Explorer, Reading, SymbolAutomaton, reading
from ostinato.forecast.gaps import Gaps
from ostinato.forecast.outcomes import Outcome, explore
from ostinato.forecast.pattern import Pattern
from ostinato.lang.expr import CURRENT, TRUE, Attribute, Call, Expr, Literal

MAX_SYMBOLS = 4096
# Classes of gaps by their share of the window: up to each of these, and longer than the window, which ends everything.
GAPS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 3 / 16, 1 / 4, 3 / 8, 1 / 2, 3 / 4, 1.0)
# Ages in parts of a window along time or an attribute: as fine as a comfortable number of states allows.
_FINENESS = (1000, 200, 60, 20, 10)
_COARSE, _COMFORTABLE = 100, 4000
_MAX_UNSEEN = 256  # kinds of events that were never observed, but are provided for
_NEVER = -1  # the effect of what was never observed
_TYPE = Attribute(CURRENT, "#type")


@dataclass(frozen=True)
class Symbols:
    """The alphabet: a minterm (bit i for condition i) and an effect for each symbol; the `observed` ones come first."""

    pattern: Pattern
    minterms: tuple[int, ...] = ()
    effects: tuple[int, ...] = ()
    observed: int = 0
    outcomes: tuple[Outcome, ...] = ()

    def __len__(self) -> int:
        return len(self.minterms)

    def with_more(self, found: Iterable[tuple[int, int]]) -> Symbols:
        """With symbols for further pairs of minterm and effect, all observed."""
        pairs = [*zip(self.minterms, self.effects, strict=True), *found]
        if len(pairs) > MAX_SYMBOLS:
            raise LimitError(
                "symbols",
                MAX_SYMBOLS,
                reason="the conditions of the pattern and the features hold together in too many ways",
                fix="give fewer features",
            )
        return replace(
            self,
            minterms=tuple(pair[0] for pair in pairs),
            effects=tuple(pair[1] for pair in pairs),
            observed=len(pairs),
        )

    def completed(self) -> Symbols:
        """With a symbol for whatever else the pattern may have to read, so that it can be followed exactly; where
        events are compared, with one for all that was never observed, after which a key begins anew."""
        if self.pattern.correlated:
            return replace(self.with_more([(0, _NEVER)]), observed=self.observed)
        known = {(self._reading(minterm), effect) for minterm, effect in self.pairs}
        missing: dict[tuple[Reading, int], int] = {}
        for minterm in _satisfiable(self.pattern.compiled.transducer.conditions()):
            for effect in sorted(set(self.effects)):
                key = (self._reading(minterm), effect)
                if key not in known:
                    missing.setdefault(key, minterm)
        return replace(
            self.with_more((minterm, effect) for (_, effect), minterm in missing.items()), observed=self.observed
        )

    @property
    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.minterms, self.effects, strict=True))

    def nearest(self, minterm: int, effect: int) -> int:
        """The symbol that stands for one that was never observed: the pattern reads it the same way, if it can be."""
        if self.pattern.correlated:
            known = [symbol for symbol in range(self.observed) if self.effects[symbol] == effect]
            return min(known, key=lambda symbol: (self.minterms[symbol] ^ minterm).bit_count(), default=self.observed)
        own = self._reading(minterm)

        def far(symbol: int) -> tuple[bool, bool, int, int]:
            gap = self.effects[symbol] - effect
            other = self.minterms[symbol] ^ minterm
            return self._reading(self.minterms[symbol]) != own, gap < 0, abs(gap), other.bit_count()

        return min(range(len(self)), key=far)

    def automaton(self, max_states: int, gaps: Gaps | None = None) -> SymbolAutomaton:
        """The pattern over these symbols, as small as it can be; `gaps` tell how long those of each class are."""
        if self.pattern.correlated:
            assert self.bound is not None
            outcomes = [None if effect == _NEVER else self.outcomes[effect] for effect in self.effects]
            states = self.pattern.compiled.transducer.states
            return explore(outcomes, states, self.bound, max_states).minimal()
        readings = [self._reading(minterm) for minterm in self.minterms]
        if not self.measured:
            explorer = self.explorer(max_states)
            return explorer.explore(list(zip(readings, self.effects, strict=True))).minimal()
        classes = self._classes(gaps)
        for parts in _FINENESS:
            steps = _steps(classes, parts)
            explorer = replace(
                self.explorer(max_states),
                bound=parts,
                step=min((steps[effect] for effect in self.effects), default=0),
                max_states=max_states if parts == _FINENESS[-1] else min(_COMFORTABLE, max_states),
            )
            try:
                symbols = [(read, steps[effect]) for read, effect in zip(readings, self.effects, strict=True)]
                return explorer.explore(symbols).minimal()
            except LimitError:
                if parts == _FINENESS[-1]:
                    raise
        raise AssertionError("the coarsest is tried last")

    def _classes(self, gaps: Gaps | None) -> list[tuple[float, float]]:
        """Per class of gaps, how many there are and the share of the window that they take on average; the middle of
        the class where no event tells, as along an attribute."""
        window = self.pattern.compiled.query.window
        assert window is not None
        found = [(1.0, (below + up_to) / 2) for below, up_to in pairwise((0.0, *GAPS))]
        if gaps is None or window.kind != "time":
            return found
        effects = np.array(self.effects[: len(gaps.sums)])
        for effect, (_, middle) in enumerate(found):
            weight, seconds, _ = gaps.sums[: len(effects)][effects == effect].sum(axis=(0, 1))
            known = weight > 0 and window.amount
            share = min(float(seconds / weight) * 1e9 / float(window.amount), 1.0) if known else middle
            found[effect] = (float(weight), share)
        return found

    def explorer(self, max_states: int = 1) -> Explorer:
        compiled = self.pattern.compiled
        consume = compiled.query.consume != "NONE"
        return Explorer(compiled.transducer, bound=self.bound, step=1, consume=consume, max_states=max_states)

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
        """The largest age, in events, of a run that may still complete."""
        window = self.pattern.compiled.query.window
        return None if window is None or self.measured else int(window.amount) - 1

    def texts(self) -> list[str]:
        """What holds on an event, per symbol."""
        conditions = self.pattern.conditions
        told = []
        for minterm, effect in self.pairs:
            held = [str(condition) for place, condition in enumerate(conditions) if minterm >> place & 1]
            told.append(" AND ".join(held) or "nothing")
            if self.pattern.correlated:
                told[-1] += ", never observed" if effect == _NEVER else f", outcome {effect}"
            elif self.measured:
                told[-1] += f", up to {GAPS[effect]:.3g} of the window later" if effect < len(GAPS) else ", later"
        return told

    def _reading(self, minterm: int) -> Reading:
        own = minterm & self.pattern.own_bits
        if own not in self._readings:
            compiled = self.pattern.compiled
            self._readings[own] = reading(compiled.transducer, compiled.transducer.conditions(), own)
        return self._readings[own]

    @cached_property
    def _readings(self) -> dict[int, Reading]:
        return {}


def _steps(classes: Sequence[tuple[float, float]], parts: int) -> list[int]:
    """By how many parts of the window gaps of each class make a run older.

    Of fine parts what is left over is dropped: seven gaps of a seventh are not longer than the window. Of coarse ones
    classes are rounded so that the mean over all gaps stays what it is: else short gaps would make nothing older.
    """
    if parts > _COARSE:
        return [*(floor(share * parts + 1e-9) for _, share in classes), parts + 1]
    steps, owed = [], 0.0
    for weight, share in classes:
        exact = share * parts
        step = max(0, round(exact + (owed / weight if weight > 0 else 0.0)))
        owed += weight * (exact - step)
        steps.append(step)
    return [*steps, parts + 1]


@lru_cache(maxsize=64)
def _satisfiable(conditions: tuple[Condition, ...]) -> tuple[int, ...]:
    """Minterms of all kinds of events there can be; none where they are too many to provide for."""
    try:
        found = minterms([_test(condition) for condition in conditions], _MAX_UNSEEN)
    except LimitError:
        return ()
    return tuple(sum(1 << place for place, held in enumerate(holds) if held) for holds in found)


def _test(condition: Condition) -> Expr:
    where = TRUE if condition.where is None else condition.where
    if condition.relation is None:
        return where
    return Call("and", (Call("=", (_TYPE, Literal(condition.relation))), where))
