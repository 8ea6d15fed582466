"""A query as plain data that travels to the workers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import pyarrow as pa

from ostinato.core.options import OnLate
from ostinato.patterns.compile import CompiledPattern, compile_text
from ostinato.patterns.joint_answers import fit_to_schema
from ostinato.patterns.limits import Limits
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.syntax.format import to_text
from ostinato.patterns.syntax.nodes import Language

compile_cached = lru_cache(maxsize=4096)(compile_text)


@dataclass(frozen=True)
class ShippedQuery:
    """`binding` holds the columns that the user named, with tie-breakers; `columns` are those that the query is given,
    and `answer` those of its matches. `identity` are the columns that identify events beside those that the query
    reads, where matches are told apart.
    """

    name: str
    text: str
    binding: dict[str, Any]
    events: bool
    limits: Limits
    columns: tuple[str, ...]
    answer: pa.Schema
    language: Language = "cel"
    identity: tuple[str, ...] | None = None

    @property
    def compiled(self) -> CompiledPattern:
        found: CompiledPattern = compile_cached(self.text, self.language)
        return found

    @property
    def plain_text(self) -> str:
        """Without comments, and with one space where there are more."""
        return _plain_text(self.text, self.language)

    def engine(self, lateness: int | None = 0, on_late: OnLate = "count") -> Engine:
        return Engine(self.compiled, self.options(dict(self.binding), lateness, on_late))

    def options(self, binding: dict[str, Any], lateness: int | None, on_late: OnLate) -> EngineOptions:
        return EngineOptions(binding, lateness, on_late, self.events, self.limits, identity=self.identity)

    def without_order(self) -> ShippedQuery:
        """For rows that are in order."""
        return replace(self, binding={**self.binding, "order_by": ()})

    def select_columns(self, rows: pa.Table) -> pa.Table:
        """The columns of this query: those that other queries read must not matter to it, nor to its state."""
        return rows.select(self.columns)

    def fit_to_output(self, matches: pa.Table, output: pa.Schema) -> pa.Table:
        """Matches with the columns of the output."""
        return fit_to_schema(self.name, matches.select(self.answer.names), output)


@lru_cache(maxsize=4096)
def _plain_text(text: str, language: Language) -> str:
    return to_text(compile_cached(text, language).query)
