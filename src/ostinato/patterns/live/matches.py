"""The matches that a push to many queries completes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa

from ostinato.patterns.joint_answers import QUERY, fit_to_schema, joint_schema


@dataclass(frozen=True)
class QueryMatches:
    """The matches of one query, as a table and as rows that are made when they are asked for."""

    query: str
    count: int
    table: Callable[[], pa.Table]
    rows: Callable[[], list[dict[str, Any]]]


@dataclass(frozen=True)
class Answers:
    """Matches of several queries, which are told apart when that is asked for."""

    count: int
    expand: Callable[[], list[QueryMatches]]


class LiveMatches:
    """Matches by query.

    It is a collection of rows, each a dict whose `query` names the query: one query after the other, each in order of
    time. Rows are made when they are asked for, so that to push events whose matches nobody reads costs nothing more.
    """

    def __init__(
        self,
        answers: Sequence[Answers],
        schemas: Callable[[], Mapping[str, pa.Schema]],
        stopped: Mapping[str, str],
    ) -> None:
        """`stopped` are the queries that this push stopped, and why."""
        self._answers, self._schemas, self.stopped = answers, schemas, stopped

    @cached_property
    def _by_query(self) -> dict[str, list[QueryMatches]]:
        found: dict[str, list[QueryMatches]] = {}
        for answers in self._answers:
            for part in answers.expand():
                found.setdefault(part.query, []).append(part)
        return found

    def __len__(self) -> int:
        return sum(answers.count for answers in self._answers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for name, parts in self._by_query.items():
            for part in parts:
                for row in part.rows():
                    yield {QUERY: name} | row

    def counts(self) -> dict[str, int]:
        """How many matches each query has that has any."""
        return {name: sum(part.count for part in parts) for name, parts in self._by_query.items()}

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The matches of each query that has any, with the columns of its own answer."""
        return {name: pa.concat_tables(part.table() for part in parts) for name, parts in self._by_query.items()}

    def to_arrow(self) -> pa.Table:
        """All matches as one table, as `detect_many` returns them."""
        schema = joint_schema(self._schemas())
        fitted = [fit_to_schema(name, table, schema) for name, table in self.tables.items()]
        return pa.concat_tables([schema.empty_table(), *fitted])

    def __repr__(self) -> str:
        counts = self.counts()
        shown = ", ".join(f"{name}: {count:,}" for name, count in list(counts.items())[:8])
        return f"<{len(self):,} matches{': ' if shown else ''}{shown}{', …' if len(counts) > 8 else ''}>"
