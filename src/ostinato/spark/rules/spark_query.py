"""Rules as one Spark SQL query over a batch DataFrame, which runs when its rows are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from ostinato.rules.algebra.nodes import CelStream, Source
from ostinato.rules.relational.dialects import write_sql
from ostinato.rules.relational.evaluate import evaluate_program
from ostinato.rules.relational.kinds import Attributes
from ostinato.rules.relational.match_plan import MatchPlan
from ostinato.rules.relational.sql_names import INCOMING, ColumnNames, given_table
from ostinato.rules.runtime.bound_program import BoundProgram
from ostinato.rules.runtime.given_rows import row_attributes
from ostinato.spark.columns import arrow_schema, column
from ostinato.spark.rules.columns import match_terms, pattern_matches, periodic_times, read_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CONSTRAINTS = "spark.sql.constraintPropagation.enabled"
_MANY = 500  # readings of incoming events in one plan, beyond which Spark plans longer than it works

# Events that differ in nothing else may differ in microseconds.
_FORMAT = "yyyy-MM-dd HH:mm:ss.SSSSSS"
_WHOLE_TIMES = exp.Anonymous(
    this="MAP",
    expressions=[
        exp.Literal.string(text) for text in ("timestampFormat", _FORMAT + "XXX", "timestampNTZFormat", _FORMAT)
    ],
)


def run_in_sql(bound: BoundProgram, frame: DataFrame, tables: Mapping[str, DataFrame] | None = None) -> DataFrame:
    """All derived events with ticks, in no order. Lazy, but for recursion: its rounds are counted as they are made."""
    relations = SparkStore(frame.sparkSession, bound)
    relations.provide(INCOMING, read_events(frame, bound.columns))
    for label, rows in (tables or {}).items():
        columns = row_attributes(arrow_schema(rows.schema)).columns
        shown = (column(name).alias(place) for name, place in columns.items())
        relations.provide(given_table(label), rows.select(*shown))
    return relations.frame_of(evaluate_program(bound.sql, relations))


@dataclass(frozen=True)
class _Relation:
    """A relation as it was defined: a frame, or SQL over others. `weight` is how often it reads incoming events."""

    needs: tuple[str, ...]
    weight: int
    text: str = ""
    frame: DataFrame | None = None


class SparkStore:
    """The RelationStore of Spark.

    A name may be defined again, and what was made of it before stays: so every definition has a name of its own in SQL.
    """

    def __init__(self, spark: SparkSession, bound: BoundProgram) -> None:
        self.spark, self.bound = spark, bound
        self._made: dict[str, _Relation] = {}
        self._latest: dict[str, str] = {}

    def provide(self, name: str, frame: DataFrame, weight: int = 1) -> None:
        self._add(name, _Relation((), weight, frame=frame))

    def define(self, name: str, query: exp.Query, *, kept: bool) -> None:
        made = self._relation(query)
        if kept and (made.weight > _MANY or self._latest.get(name) in made.needs):
            self.provide(name, _made_now(self._frame(made)))
        else:
            self._add(name, made)

    def match(self, name: str, stream: str, found: MatchPlan, attributes: Attributes) -> None:
        made = self._made[self._latest[stream]]
        self.provide(name, match_terms(self._frame(made), found, attributes, self._names), made.weight)

    def source(self, name: str, stream: Source, events: exp.Query | None) -> None:
        read = self._frame(self._made[self._latest[INCOMING]] if events is None else self._relation(events))
        if isinstance(stream, CelStream):
            self.provide(name, pattern_matches(read, self.bound.patterns[stream]))
        else:
            self.provide(name, periodic_times(read, self.bound.periods[stream]))

    def count(self, name: str) -> int:
        """Also keeps the relation: the next round reads it, and compares with it what it makes."""
        frame = _made_now(self._frame(self._made[self._latest[name]]))
        self.provide(name, frame)
        return frame.count()

    @property
    def _names(self) -> ColumnNames:
        return self.bound.sql.generator.names

    def frame_of(self, query: exp.Query) -> DataFrame:
        return self._frame(self._relation(query))

    def _add(self, name: str, made: _Relation) -> None:
        self._latest[name] = f"r{len(self._made)}"
        self._made[self._latest[name]] = made

    def _relation(self, query: exp.Query) -> _Relation:
        needs: dict[str, int] = {}

        def renamed(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Anonymous) and node.name == "TO_JSON":
                return exp.Anonymous(this="TO_JSON", expressions=[*node.expressions, _WHOLE_TIMES.copy()])
            if not isinstance(node, exp.Table) or node.name not in self._latest:
                return node
            name = self._latest[node.name]
            needs[name] = needs.get(name, 0) + self._made[name].weight
            return exp.alias_(exp.to_table(name), node.alias, table=True) if node.alias else exp.to_table(name)

        text = write_sql(query.transform(renamed), "spark")
        return _Relation(tuple(needs), sum(needs.values()), text)

    def _frame(self, made: _Relation) -> DataFrame:
        """One text with all that the relation is made of."""
        if made.frame is not None:
            return made.frame
        frames: dict[str, Any] = {}
        parts = []
        for name in self._required_relations(made):
            relation = self._made[name]
            if relation.frame is not None:
                frames[name] = relation.frame
                parts.append(f"{name} AS (SELECT * FROM {{{name}}})")
            else:
                parts.append(f"{name} AS ({_literal(relation.text)})")
        text = f"WITH {', '.join(parts)} SELECT * FROM ({_literal(made.text)})"
        return self.spark.sql(text, **frames)

    def _required_relations(self, made: _Relation) -> list[str]:
        found: dict[str, None] = {}

        def visit(relation: _Relation) -> None:
            for name in relation.needs:
                if name not in found:
                    visit(self._made[name])
                    found[name] = None

        visit(made)
        return list(found)


def _made_now(frame: DataFrame) -> DataFrame:
    """The rows of a frame, without how they were made.

    Spark keeps what it knows about columns across a checkpoint, and cannot plan a union with them: so it shall find
    out nothing, and columns are renamed.
    """
    settings = frame.sparkSession.conf
    known = settings.get(_CONSTRAINTS, "true")
    settings.set(_CONSTRAINTS, "false")
    try:
        made = frame.localCheckpoint()
    finally:
        settings.set(_CONSTRAINTS, known or "true")
    return made.select(*(column(name).alias(name) for name in made.columns))


def _literal(text: str) -> str:
    """For Spark, which puts frames in the place of {names}."""
    return text.replace("{", "{{").replace("}", "}}")
