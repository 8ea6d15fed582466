"""From counts to forecasts: the tree, its product with the pattern, waiting times, and the forecast of each state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ostinato.core.arrays import Bools, Float32, Int32
from ostinato.forecast.chain.completion_times import CompletionTimes, SecondsAhead, completion_times, seconds_ahead
from ostinato.forecast.chain.intervals import Forecasts, forecasts
from ostinato.forecast.chain.product import Product, product
from ostinato.forecast.chain.state_tracking import track, track_ages
from ostinato.forecast.chain.waiting import waiting_times
from ostinato.forecast.learn.counts import Counts
from ostinato.forecast.learn.gaps import Gaps
from ostinato.forecast.learn.ground_truth import completions
from ostinato.forecast.learn.suffix_tree import SuffixTree, learn_tree
from ostinato.forecast.settings import Settings
from ostinato.forecast.symbols.automaton import SymbolAutomaton
from ostinato.forecast.symbols.reader import SymbolBatch


@dataclass(frozen=True, eq=False)
class Predictor:
    """Everything that follows from the counts; each part is computed when it is first needed."""

    automaton: SymbolAutomaton
    tree: SuffixTree
    gaps: Gaps
    settings: Settings

    @classmethod
    def of(cls, automaton: SymbolAutomaton, counts: Counts, gaps: Gaps, settings: Settings, order: int) -> Predictor:
        """Symbols that were never counted have no probability."""
        whole = replace(counts.at_order(order), alphabet=automaton.next.shape[1])
        return cls(automaton, learn_tree(whole, settings.learning), gaps, settings)

    @cached_property
    def product(self) -> Product:
        limit = self.settings.limits.states
        return product(self.automaton, self.tree, max_states=limit, remembered=self.remembered)

    @cached_property
    def remembered(self) -> tuple[int, ...]:
        """Symbols that states remember only for the gaps after them; none where that could make too many states."""
        symbols, limits = self.gaps.kinds.remembered, self.settings.limits
        states = self.automaton.states * (len(self.tree.contexts) + len(symbols))
        return symbols if states * max(4 * self.settings.horizon / limits.memory, 1 / limits.states) <= 1 else ()

    @cached_property
    def waiting(self) -> Float32:
        return waiting_times(self.product, self.settings.horizon, max_bytes=self.settings.limits.memory)

    @cached_property
    def completion_times(self) -> CompletionTimes | None:
        """None where the time of events was not known."""
        return completion_times(self.product, self.gaps, self.settings.horizon) if self.gaps.total else None

    def forecasts(self, nominal: float) -> Forecasts:
        return forecasts(self.waiting, nominal)

    def seconds(self, nominal: float, within: Float32) -> SecondsAhead | None:
        """`within` is the probability per state of a completion within the horizon."""
        return None if self.completion_times is None else seconds_ahead(self.completion_times, within, nominal)

    def states(self, read: SymbolBatch) -> Int32:
        """The state after each event of a stream that begins here."""
        return self.follow(read, np.zeros(read.key_count, np.int32))

    def follow(self, read: SymbolBatch, states: Int32) -> Int32:
        """The state after each event; `states` has that of each key and is updated."""
        state_by_ages = self.automaton.state_by_ages
        if state_by_ages is None or read.age_ids is None:
            return track(self.product.next, read.symbols, read.keys, states)
        numbers = np.array([state_by_ages.get(ages, -1) for ages in read.known_ages], np.int32)
        return track_ages(self.product, read, numbers[read.age_ids], states)


def find_completions(automaton: SymbolAutomaton, read: SymbolBatch) -> Bools:
    """Whether each event of a stream that begins here completes a match."""
    if read.completes is not None:
        return read.completes
    states = np.full(read.key_count, automaton.start, np.int32)
    return completions(automaton.next, automaton.completes, read.symbols, read.keys, states)
