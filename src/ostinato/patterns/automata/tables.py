"""Dense arrays for the kernels: what to do for each (configuration, event code), filled when first needed.

Each configuration places its cells in slots. A cell that merely waits keeps its slot, so that most events move nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ostinato.core.arrays import Int32
from ostinato.errors import Limit, LimitError, Message
from ostinato.patterns.automata.determinise import Config, MachineStep, StrategyMachine
from ostinato.patterns.kernels.protocol import UNKNOWN

# Columns of `entries`: next configuration, range of `ops`, range of `emits`.
NEXT, OP_BEGIN, OP_END, EMIT_BEGIN, EMIT_END = range(5)


@dataclass(frozen=True)
class PlacedConfiguration:
    """A configuration and the slot of each of its cells (the run without marks, cell 0, needs none)."""

    config: Config
    slots: tuple[int, ...]


class StepTables:
    """The lazily determinised machine as arrays. `ops` rows are (source slot, symbol, destination slot).

    Rows of one destination follow each other, unmarked sources first; only the last of them names the destination.
    """

    def __init__(self, machine: StrategyMachine, *, max_states: int) -> None:
        self.machine = machine
        self.max_states = max_states
        self.placed: list[PlacedConfiguration] = []
        self.index: dict[Config, int] = {}
        self.stride = 8
        self.entries: Int32 = np.full((0, 5), UNKNOWN, np.int32)
        self.ops = GrowingTable(3)
        self.emits = GrowingTable(2)
        self.slot_ends = GrowingTable(1)  # where the slots of each configuration end in slot_list
        self.slot_list = GrowingTable(1)
        self.width = 1  # slots a key needs
        self.place(PlacedConfiguration(machine.initial, ()))

    def place(self, placed: PlacedConfiguration) -> int:
        """The number of a configuration, adding it when new."""
        known = self.index.get(placed.config)
        if known is not None:
            return known
        number = len(self.placed)
        if number >= self.max_states:
            raise LimitError(
                "states",
                self.max_states,
                reason="the pattern's automaton grows beyond its bound when made deterministic",
                fix=Message(
                    "simplify the pattern (fewer overlapping repetitions), add WITHIN, or raise ", Limit("states")
                ),
            )
        self.placed.append(placed)
        self.index[placed.config] = number
        self.width = max([self.width, *(slot + 1 for slot in placed.slots)])
        for slot in self.listed_slots(placed):
            self.slot_list.add(slot)
        self.slot_ends.add(len(self.slot_list))
        if len(self.placed) * self.stride > len(self.entries):
            self._resize(2 * len(self.placed), self.stride)
        return number

    def listed_slots(self, placed: PlacedConfiguration) -> tuple[int, ...]:
        """The slots that a kernel reads: all that hold a list."""
        return placed.slots

    def fill(self, number: int, code: int) -> None:
        """Compute the step of a configuration on a code and store it."""
        if code >= self.stride:
            self._resize(len(self.placed), 1 << code.bit_length())
        placed = self.placed[number]
        step = self.machine.step(placed.config, code)
        target = self.place(PlacedConfiguration(step.config, self._assign(step, placed)))
        self._write(self.entries[number * self.stride + code], step, placed, target)

    def _assign(self, step: MachineStep, before: PlacedConfiguration) -> tuple[int, ...]:
        """Slots for the cells of a new configuration: a list that only waits stays where it is."""
        cells = len(step.config) - 1
        slots = [-1] * cells
        for move in step.moves:
            if move.symbol == 0 and slots[move.target] < 0 and before.slots[move.source] not in slots:
                slots[move.target] = before.slots[move.source]
        free = iter(slot for slot in range(cells) if slot not in slots)
        return tuple(slot if slot >= 0 else next(free) for slot in slots)

    def _write(self, entry: Int32, step: MachineStep, before: PlacedConfiguration, target: int) -> None:
        after = self.placed[target].slots
        op_begin = len(self.ops)
        arriving: list[list[tuple[int, int]]] = [[] for _ in after]
        for move in step.moves:
            arriving[move.target].append((move.symbol, move.source))
        for moves, destination in zip(arriving, after, strict=True):
            # By cells rather than slots: the slots of a configuration depend on how it was first reached, and so would
            # the order of matches.
            sources = [(symbol, before.slots[cell] if cell >= 0 else -1) for symbol, cell in sorted(moves)]
            if sources == [(0, destination)]:
                continue
            for symbol, source in sources[:-1]:
                self.ops.add(source, symbol, -1)
            symbol, source = sources[-1]
            self.ops.add(source, symbol, destination)
        emits = [(-1 if source < 0 else before.slots[source], symbol) for source, symbol in step.emits]
        entry[:] = (target, op_begin, len(self.ops), *self.write_emits(emits))

    def write_emits(self, emits: list[tuple[int, int]]) -> tuple[int, int]:
        """Store what completes; returns its range in `emits`."""
        begin = len(self.emits)
        for source, symbol in emits:
            self.emits.add(source, symbol)
        return begin, len(self.emits)

    def _resize(self, configs: int, stride: int) -> None:
        """Room for more configurations or more codes."""
        known = min(configs, len(self.entries) // self.stride)
        entries = np.full((configs, stride, 5), UNKNOWN, np.int32)
        entries[:known, : self.stride] = self.entries[: known * self.stride].reshape(known, self.stride, 5)
        self.entries, self.stride = entries.reshape(-1, 5), stride


class GrowingTable:
    """An int32 table that grows by doubling; `array` is always contiguous."""

    def __init__(self, columns: int) -> None:
        self.array: Int32 = np.zeros((16, columns), np.int32)
        self.used = 0

    def __len__(self) -> int:
        return self.used

    def add(self, *row: int) -> None:
        if self.used == len(self.array):
            self.array = np.concatenate([self.array, np.zeros_like(self.array)])
        self.array[self.used] = row
        self.used += 1

    def add_all(self, rows: Int32) -> None:
        """Many rows at once."""
        end = self.used + len(rows)
        while end > len(self.array):
            self.array = np.concatenate([self.array, np.zeros_like(self.array)])
        self.array[self.used : end] = rows
        self.used = end
