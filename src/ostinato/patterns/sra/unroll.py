"""Unrolling (SRA paper, Lemma 5.13, Algorithms 4-7): a windowed automaton without loops.

This is an operation of `ost.Automaton`; the counts {n,m} of an SREM are compiled in from_srem.py.
"""

from __future__ import annotations

from collections.abc import Iterator

from ostinato.errors import OstinatoError
from ostinato.patterns.sra.automaton import Automaton, check_window
from ostinato.patterns.sra.configurations import Configuration, Configurations, place_name
from ostinato.patterns.sra.explore import Move, explore
from ostinato.patterns.sra.live_registers import drop_idle_writes
from ostinato.patterns.sra.trim import trim

Walk = tuple[Configuration, int]  # where a walk has led, and its length


def unroll(automaton: Automaton, window: int | None = None) -> Automaton:
    """The same strings of at most `window` events, without loops and without writing a register twice.

    The paper clones a register each time a walk writes it. What the clone holds is the event at that position, so here
    the register is named after the position, e1, e2, …: walks that lead to the same state with the same events in the
    same registers then meet again, and a graph takes the place of the paper's tree. No rule writes two registers.
    """
    width = narrower_window(automaton, window, "unrolled")
    configurations = Configurations(automaton)

    def moves(walk: Walk) -> Iterator[Move[Walk]]:
        source, length = walk
        if length < width:
            for _, test, target in configurations.moves(source, length + 1, width - length - 1):
                writes = (place_name(length + 1),) if length + 1 in target.places else ()
                yield test, writes, (target, length + 1)

    walks = explore((configurations.start, 0), moves, lambda walk: configurations.is_final(walk[0]), width)
    return trim(drop_idle_writes(walks))


def narrower_window(automaton: Automaton, window: int | None, purpose: str) -> int:
    """The narrower of the automaton's own window and the one given: both limit its strings."""
    check_window(window)
    width = min((each for each in (automaton.window, window) if each is not None), default=None)
    if width is None:
        raise OstinatoError(
            f"an automaton without a window cannot be {purpose}: it may need to store more events than any number of "
            "registers holds (Theorem 5.11 of the SRA paper)",
            fix="give window=n, or write WITHIN n EVENTS in the pattern",
        )
    return width
