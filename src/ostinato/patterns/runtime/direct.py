"""Drives the kernel that reads every event once (patterns/kernels/match.py)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.arrays import Bools, Int32, Int64
from ostinato.core.jit.array_struct import ArrayStruct
from ostinato.patterns.automata.tables import StepTables
from ostinato.patterns.kernels import match, protocol
from ostinato.patterns.kernels.layout import DirectState
from ostinato.patterns.runtime.matcher import Scope, Stepped, extend, widen


class Direct(Stepped):
    """ALL, STRICT, and any strategy without a window: the machine reads every event once."""

    KEYED = (*Stepped.KEYED, "key_config", "slots")
    ARRAYS = ("cursor", *KEYED, "nodes")
    STATE, KERNEL, HELPERS = DirectState, match.run, (match.collect, match.find_live)
    state: DirectState

    def __init__(self, tables: StepTables, scope: Scope) -> None:
        nowhere = np.zeros(1 << protocol.SYMBOL_BITS, np.bool_)
        super().__init__(
            tables, scope, rows=0, key_config=np.zeros(0, np.int32), skipped_to=nowhere, to_first=0, chosen_next=0
        )

    def call(self) -> int:
        return match.run(self.state)

    def struct_of(self, name: str) -> tuple[ArrayStruct, str]:
        return (self.state.steps, name) if name == "slots" else super().struct_of(name)

    def grow_keys(self, more: int) -> None:
        super().grow_keys(more)
        state = self.state
        state.key_config = extend(state.key_config, more, 0)
        state.steps.slots = extend(state.steps.slots, more, protocol.NIL)
        # Collecting visits every key, so there must be work enough between two collections.
        while len(state.marks) < 2 * len(state.key_epoch):
            self.grow_nodes()

    def may_hold_last(self, live: int) -> bool:
        """No new node, and none that could be collected."""
        state = self.state
        return bool(state.cursor[protocol.USED] != live or live + len(state.steps.ops) > len(state.nodes) // 4)

    def live_positions(self) -> Int64:
        values = self.used_nodes()[::4]
        return values[values >= 0] >> protocol.SYMBOL_BITS

    def compact(self, low: int) -> None:
        match.collect(self.state, low)

    def give_back_nodes(self, fewest: int) -> None:
        """After `compact`, which moves those in use to the front: leave room for some more, for `fewest` at least."""
        state, used = self.state, self.live
        wanted = max(fewest, 8 * used, 2 * len(state.key_epoch))
        if 4 * wanted <= len(state.marks):
            state.nodes, state.marks = state.nodes[: 4 * wanted].copy(), np.zeros(wanted, np.int64)

    def live_keys(self) -> Bools:
        live: Bools = np.zeros(len(self.state.key_epoch), np.bool_)
        match.find_live(self.state, live)
        return live

    def follow_placing(
        self, numbers: Sequence[int], saved: list[Any], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> Mapping[str, npt.NDArray[Any]]:
        placed = [self.tables.placed[number].slots for number in numbers]
        moved = [place for place, (_, slots) in enumerate(saved) if tuple(slots) != placed[place]]
        if not moved and list(numbers) == list(range(len(saved))):
            return arrays
        config, before = arrays["key_config"], arrays["slots"]
        after: Int32 = widen(before, self.tables.width).copy()
        for place in moved:
            (keys,) = np.nonzero(config == place)
            after[keys[:, None], list(placed[place])] = before[keys[:, None], list(saved[place][1])]
        return {**arrays, "key_config": np.array(numbers, config.dtype)[config], "slots": after}

    @property
    def live(self) -> int:
        return int(self.state.cursor[protocol.USED])
