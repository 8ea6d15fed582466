"""The matches that become known in some time: after one moment, and up to another. Only what can matter to them is
read.

They are those of the whole stream, so that increments which follow each other give each match once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ostinato.core.clock import Clock
from ostinato.core.window_bounds import lower_bounds
from ostinato.errors import DataError, Message, Option, QueryError
from ostinato.patterns.compile import CompiledPattern
from ostinato.patterns.runtime.identity import END, KNOWN
from ostinato.patterns.runtime.locality import shows_events, windows_back


@dataclass(frozen=True)
class Period:
    """Ticks: matches that are known after `since`, and up to `until`. None: no bound."""

    since: int | None
    until: int | None

    @staticmethod
    def of(clock: Clock | None, since: Any, until: Any) -> Period:
        """The times that a user gives."""
        if clock is None:
            raise DataError("the stream has no time column to go by", fix=Message("name it with ", Option("time")))
        return Period(*(None if moment is None else _tick(clock, moment) for moment in (since, until)))

    def contains(self, clock: Clock, matches: pa.Table) -> pa.Array:
        """Which matches, with the columns that tell them apart, are known in this time."""
        known = matches[KNOWN if KNOWN in matches.column_names else END].combine_chunks()
        there = known.is_valid()
        ticks = np.zeros(len(known), np.int64)
        ticks[np.asarray(there.to_numpy(zero_copy_only=False), bool)] = clock.ticks(known.filter(there))
        inside = np.ones(len(known), np.bool_)
        if self.since is not None:
            inside &= ticks > self.since
        if self.until is not None:
            inside &= ticks <= self.until
        return pc.and_(there, pa.array(inside))


def _tick(clock: Clock, moment: Any) -> int:
    if not isinstance(moment, str):
        return clock.tick(moment)
    try:
        if clock.kind == "moment":
            return clock.tick(_moment(moment))
        return clock.tick(float(moment) if "." in moment or "e" in moment else int(moment))
    except (pa.ArrowInvalid, ValueError):
        raise DataError(
            f"{moment!r} is no time of `{clock.column}`, which holds {clock.type}",
            fix="write it as 2026-07-31 or 2026-07-31 23:59:59.5, or as a number, as the column has it",
        ) from None


def _moment(text: str) -> pa.Scalar:
    """A text as a time: in UTC, if it does not say where."""
    given = pa.scalar(text)
    try:
        return given.cast(pa.timestamp("us"))
    except pa.ArrowInvalid:
        return given.cast(pa.timestamp("us", tz="UTC"))


def check_increments(compiled: CompiledPattern) -> None:
    """Raise QueryError where what lies far back may matter to a match, and nothing says how far."""
    query, window = compiled.query, compiled.query.window
    reason = ""
    if window is None:
        reason = "the query has no window, so a match may begin at any time before"
    elif window.kind == "attribute":
        reason = f"the window is measured along `{window.attribute}`, so no time bounds what a match may begin with"
    elif window.kind == "events" and (query.partition_by or compiled.preceding):
        reason = "the window counts the events of each key, which may lie at any time before"
    elif query.consume != "NONE" or query.limit is not None or compiled.skip is not None or query.skip is not None:
        reason = "CONSUME BY, LIMIT and AFTER MATCH SKIP go by all earlier matches"
    elif any(absence.at_once for absence in compiled.trailing):
        reason = "the NOT after `:` waits for the next event, which may come at any time"
    elif not shows_events(compiled):
        reason = "an answer that shows no event is given once in the whole stream"
    if reason:
        raise QueryError(
            reason,
            fix=Message(
                "use WITHIN with a length of time" if window is None or window.kind != "time" else "leave that out",
                ", or go on from a snapshot of an engine instead of with ",
                Option("since", None),
            ),
        )


def first_tick(compiled: CompiledPattern, clock: Clock, since: int) -> int:
    """The first tick that can matter to matches known after `since`, where time is what bounds them."""
    window = compiled.query.window
    assert window is not None
    waits = [absence.lasting or 0 for absence in compiled.trailing]
    spans = [window.amount] * (windows_back(compiled) + bool(waits))
    spans += [max(waits, default=0), max((absence.lasting for absence in compiled.preceding), default=0)]
    for span in filter(None, spans):
        since = int(lower_bounds(clock, np.array([since]), span)[0])
    return since


def events_back(compiled: CompiledPattern) -> int | None:
    """How many events up to the beginning can matter, where their number is what bounds matches."""
    window = compiled.query.window
    if window is None or window.kind != "events":
        return None
    return windows_back(compiled) * (int(window.amount) - 1)
