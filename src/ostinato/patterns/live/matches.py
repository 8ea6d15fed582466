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
    """The matches of one query, as a table that is made when it is asked for."""

    query: str
    count: int
    build: Callable[[], pa.Table]


@dataclass(frozen=True)
class Answers:
    """Matches of several queries, which are told apart when that is asked for."""

    count: int
    expand: Callable[[], list[QueryMatches]]


class LiveMatches:
    """Matches by query.

    It is a collection of rows, each a dict whose `query` names the query. Rows are made when they are asked for, so
    that to push events whose matches nobody reads costs nothing more.
    """

    def __init__(self, answers: Sequence[Answers], schemas: Callable[[], Mapping[str, pa.Schema]]) -> None:
        self._answers, self._schemas = answers, schemas

    @cached_property
    def _parts(self) -> list[QueryMatches]:
        return [part for answers in self._answers for part in answers.expand()]

    def __len__(self) -> int:
        return sum(answers.count for answers in self._answers)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for name, table in self.tables.items():
            for row in table.to_pylist():
                yield {QUERY: name} | row

    def counts(self) -> dict[str, int]:
        """How many matches each query has that has any."""
        found: dict[str, int] = {}
        for part in self._parts:
            found[part.query] = found.get(part.query, 0) + part.count
        return found

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """The matches of each query that has any, with the columns of its own answer."""
        found: dict[str, list[pa.Table]] = {}
        for part in self._parts:
            found.setdefault(part.query, []).append(part.build())
        return {name: pa.concat_tables(tables) for name, tables in found.items()}

    def to_arrow(self) -> pa.Table:
        """All matches as one table, as `detect_many` returns them."""
        schema = joint_schema(self._schemas())
        fitted = [fit_to_schema(name, table, schema) for name, table in self.tables.items()]
        return pa.concat_tables([schema.empty_table(), *fitted])

    def __repr__(self) -> str:
        counts = self.counts()
        shown = ", ".join(f"{name}: {count:,}" for name, count in list(counts.items())[:8])
        return f"<{len(self):,} matches{': ' if shown else ''}{shown}{', …' if len(counts) > 8 else ''}>"
