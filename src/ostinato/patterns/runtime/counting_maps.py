"""For counting: reading an event as a linear map over cells, and arithmetic that is exact at any size."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from ostinato.core.stopwatch import Stopwatch
from ostinato.errors import Limit, LimitError, Message
from ostinato.patterns.automata.determinise import AllMachine, Cell
from ostinato.patterns.limits import Limits


@dataclass(frozen=True)
class LinearMaps:
    """Every event code as a linear map over cells: `edges[edge_ends[c-1]:edge_ends[c]]`, and what it completes."""

    edges: npt.NDArray[np.int32]
    edge_ends: npt.NDArray[np.int64]
    completions: npt.NDArray[np.int64]
    idle: npt.NDArray[np.bool_]  # codes that change nothing

    @property
    def most_edges(self) -> int:
        """Of one code."""
        return int(np.diff(self.edge_ends, prepend=0).max(initial=0))

    @property
    def cells(self) -> int:
        return int(self.completions.shape[1])


class Cells:
    """The sets of states that runs can be in, found as a stream brings new codes; their numbers never change."""

    def __init__(self, machine: AllMachine) -> None:
        self.machine = machine
        self.start: Cell = machine.initial[0]
        self.numbers: dict[Cell, int] = {self.start: 0}
        self.arrows: list[list[tuple[int, int]]] = []  # per code: from cell to cell
        self.completed: list[tuple[int, int]] = []  # code, cell
        self.built: LinearMaps | None = None

    def extend(self, codes: int, most: int, clock: Stopwatch) -> bool:
        """Add the codes below `codes` that are new; False if that takes more than `most` cells."""
        known = len(self.arrows)
        self.arrows += [[] for _ in range(known, codes)]
        todo = [(cell, code) for cell in self.numbers for code in range(known, codes)]
        while todo:
            if len(self.numbers) > most:
                return False
            clock.check()
            cell, code = todo.pop()
            for target in self._targets(cell, code):
                if target not in self.numbers:
                    self.numbers[target] = len(self.numbers)
                    todo += [(target, other) for other in range(codes)]
                self.arrows[code].append((self.numbers[cell], self.numbers[target]))
            self.built = None
        return len(self.numbers) <= most

    def _targets(self, cell: Cell, code: int) -> Iterator[Cell]:
        first = cell == self.start
        source = -1 if first else 0
        step = self.machine.step((self.start,) if first else (self.start, cell), code)
        self.completed += [(code, self.numbers[cell]) for origin, _ in step.emits if origin == source]
        if first:
            yield cell  # the run without marks goes on
        yield from (step.config[move.target + 1] for move in step.moves if move.source == source)

    def maps(self, codes: int, limits: Limits) -> LinearMaps:
        """For the codes below `codes`, and any that were met before."""
        if not self.extend(codes, limits.states, limits.clock()):
            reason = "counting this query needs too many deterministic states"
            raise LimitError(
                "states", limits.states, reason=reason, fix=Message("simplify the query, or raise ", Limit("states"))
            )
        if self.built is None:
            self.built = self._build()
        return self.built

    def _build(self) -> LinearMaps:
        codes, cells = len(self.arrows), len(self.numbers)
        completions = np.zeros((codes, cells), np.int64)
        for code, number in self.completed:
            completions[code, number] += 1
        loops = [(number, number) for number in range(cells)]
        idle = np.array([sorted(self.arrows[c]) == loops and not completions[c].any() for c in range(codes)], bool)
        edges = np.array([arrow for leaving in self.arrows for arrow in leaving], np.int32).reshape(-1, 2)
        return LinearMaps(
            edges, np.cumsum([len(leaving) for leaving in self.arrows], dtype=np.int64), completions, idle
        )


def moduli(size: float) -> list[int]:
    """2⁶⁴ and as many primes as it takes to tell all numbers up to about `size` apart by their remainders."""
    bound = 2 * float(size)  # twice, since the size is rounded
    if not math.isfinite(bound):
        reason = "there are more matches than can be counted"
        fix = "a narrower WITHIN, or a strategy that chooses (SELECT NXT or LAST)"
        raise LimitError("count", 10**308, reason=reason, fix=fix)
    found, product = [1 << 64], 1 << 64
    while product <= bound:
        found.append(_prime(len(found) - 1))
        product *= found[-1]
    return found


@cache
def _prime(place: int) -> int:
    """The largest primes below 2³¹, whose products fit 64 bits, from the top."""
    candidate = (_prime(place - 1) if place else 1 << 31) - 1
    while any(candidate % divisor == 0 for divisor in range(2, math.isqrt(candidate) + 1)):
        candidate -= 1
    return candidate


def from_remainders(remainders: Sequence[Any], divisors: Sequence[int]) -> Any:
    """Chinese remainders: the one number below the product of the divisors that has them all; or an array of such."""
    number, product = remainders[0], divisors[0]
    for remainder, prime in zip(remainders[1:], divisors[1:], strict=True):
        number = number + product * ((remainder - number) * pow(product, -1, prime) % prime)
        product *= prime
    return number
