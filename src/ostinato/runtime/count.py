"""Counting matches: by adding up where a match is a run of the machine (kernels/count.py), else by walking them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ostinato.automata.determinise import AllMachine, Cell
from ostinato.errors import LimitError
from ostinato.kernels import protocol
from ostinato.kernels.count import count_matches
from ostinato.runtime.matcher import Events

if TYPE_CHECKING:
    from ostinato.runtime.engine import Engine

Int64 = npt.NDArray[np.int64]
Int32 = npt.NDArray[np.int32]

_MAX_CELLS = 64  # beyond this the products cost more than they save


def count_whole(engine: Engine, data: Any) -> int:
    """The number of rows `engine.whole(data)` would have."""
    compiled = engine.compiled
    if compiled.hides_variables or compiled.trailing:
        return len(engine.whole(data))
    released = engine.take_whole(data)
    events = engine.stream.events(released.rows, released.positions, released.order)
    machine = engine.matcher.tables.machine
    if isinstance(machine, AllMachine) and compiled.query.consume == "NONE":
        maps = linear_maps(machine, engine.stream.encoder.size)
        if maps is not None:
            return exact_count(maps, *_by_key(events, engine.stream.window, engine.stream.width))
    for _ in engine.matcher.run(events, protocol.WALK):
        raise AssertionError("walking writes nothing")
    return engine.matcher.walked


def _by_key(events: Events, window: int, width: int) -> tuple[Int32, Int32, Int64, Int64]:
    """Codes, keys, ticks and lower bounds with the events of each key together, in stream order."""
    codes, keys, ticks, lows = events.codes, events.keys, events.ticks, events.lows
    if len(keys):
        order = np.argsort(keys, kind="stable")
        codes, keys = codes[order], keys[order]
        ticks, lows = (ticks[order], lows[order]) if len(ticks) else (ticks, lows)
    else:
        keys = np.zeros(len(codes), np.int32)
    if window == protocol.EVENT_WINDOW:
        # Counting on across keys is harmless: windows never look beyond their own key.
        ticks = np.arange(len(codes))
        lows = ticks - width + 1
    return codes, keys, ticks, lows


@dataclass(frozen=True)
class Maps:
    """Every event code as a linear map over cells: `edges[edge_ends[c-1]:edge_ends[c]]`, and what it completes."""

    edges: Int32
    edge_ends: Int64
    completions: Int64
    idle: npt.NDArray[np.bool_]  # codes that change nothing


def linear_maps(machine: AllMachine, codes: int) -> Maps | None:
    """The maps of codes 0 … codes-1; None when the cells are too many."""
    start: Cell = machine.initial[0]
    numbers: dict[Cell, int] = {start: 0}
    todo = [start]
    arrows: list[list[tuple[int, int]]] = [[] for _ in range(codes)]
    completed: list[tuple[int, int]] = []
    while todo:
        cell = todo.pop()
        for code in range(codes):
            step = machine.step((start,) if cell == start else (start, cell), code)
            source = -1 if cell == start else 0
            if source < 0:
                arrows[code].append((0, 0))  # the run without marks goes on
            for move in step.moves:
                if move.source == source:
                    target = step.config[move.target + 1]
                    if target not in numbers:
                        numbers[target] = len(numbers)
                        todo.append(target)
                    arrows[code].append((numbers[cell], numbers[target]))
            completed += [(code, numbers[cell]) for origin, _ in step.emits if origin == source]
        if len(numbers) > _MAX_CELLS:
            return None
    completions = np.zeros((codes, len(numbers)), np.int64)
    for code, number in completed:
        completions[code, number] += 1
    loops = sorted((number, number) for number in range(len(numbers)))
    idle = np.array([sorted(arrows[c]) == loops and not completions[c].any() for c in range(codes)], bool)
    edges = np.array([arrow for code in range(codes) for arrow in arrows[code]], np.int32).reshape(-1, 2)
    return Maps(edges, np.cumsum([len(leaving) for leaving in arrows]), completions, idle)


def exact_count(maps: Maps, codes: Int32, groups: Int32, ticks: Int64, lows: Int64) -> int:
    """The number of matches; `lows` is empty without a window. Events must be in group order."""
    busy = ~maps.idle[codes]
    stream = (codes[busy], groups[busy], ticks[busy] if len(lows) else ticks, lows[busy] if len(lows) else lows)
    cells = maps.completions.shape[1]

    def run(dtype: Any, modulus: int) -> Any:
        product = np.zeros((cells if len(lows) else 1, cells), dtype)
        arguments: list[Any] = [*stream, maps.edges, maps.edge_ends, maps.completions.astype(dtype), product]
        arguments += [np.zeros((cells, cells), dtype), dtype(modulus)]
        return count_matches(*arguments)

    size = float(run(np.float64, 0))
    if not math.isfinite(size):
        raise LimitError(
            "count", 10**308, reason="there are more matches than a float can tell the size of", fix="add WITHIN"
        )
    count, modulus, prime = int(run(np.uint64, 0)), 1 << 64, 1 << 31
    while modulus <= 2 * size:
        # Chinese remainders: the one number below modulus · prime that has both residues.
        prime = _prime_below(prime)
        residue = int(run(np.uint64, prime))
        count += modulus * ((residue - count) * pow(modulus, -1, prime) % prime)
        modulus *= prime
    return count


def _prime_below(number: int) -> int:
    candidate = number - 1
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate -= 1
    return candidate
