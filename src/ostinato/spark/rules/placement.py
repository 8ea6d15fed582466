"""Which rules run together (rules/algebra/partition.py), and to which task each row of a DataFrame goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.patterns.joint_answers import fit_to_schema
from ostinato.rules.algebra.partition import RuleUnit, partition_rules
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.relational.kinds import TERM, Attributes, Kind, type_family
from ostinato.rules.runtime.bound_program import BoundProgram, bind_program
from ostinato.rules.runtime.ingest import LABEL
from ostinato.spark.columns import column

if TYPE_CHECKING:
    from pyspark.sql import Column

    from ostinato.rules.program import RuleProgram


@dataclass(frozen=True)
class UnitProgram:
    """Some rules as a program of their own: plain data that travels to the workers."""

    text: str
    columns: dict[str, str | None]
    schema: pa.Schema  # of incoming rows

    def bind(self, tables: Mapping[str, pa.Schema] | None = None) -> BoundProgram:
        from ostinato.rules.program import RuleProgram

        program = RuleProgram(self.text)
        return bind_program(program.program, program.text, self.schema, self.columns, near=True, tables=tables)


def plan_units(program: RuleProgram, bound: BoundProgram, *, streams: bool) -> tuple[RuleUnit, ...]:
    """In a stream, rows of tables that are given beside it go to their task; in a batch, they are joined in SQL."""
    given = bound.sql.plan_types.given
    tables = {label: _hashable(known) for label, known in given.items()}
    plain = _hashable(bound.columns.attributes)
    return partition_rules(normalise(program.program), plain, tables if streams else dict.fromkeys(given))


def _hashable(attributes: Attributes) -> list[str]:
    return [name for name, kind in attributes.types.items() if _is_hashable(kind)]


def unit_program(program: RuleProgram, unit: RuleUnit, columns: dict[str, Any], schema: pa.Schema) -> UnitProgram:
    parts = [table.span for table in program.program.tables]
    parts += [rule.span for rule in program.program.rules if rule.number in unit.rules]
    return UnitProgram("\n".join(program.text[part.start : part.end] for part in parts), columns, schema)


def key_hash(bound: BoundProgram, unit: RuleUnit, relevant: Callable[[str], Column | None] = lambda _: None) -> Column:
    """A number for a row's key, equal for rows that may meet; NULL for a row that the unit does not read.

    `relevant` says which rows of a label it may read; None: all. The label is in the column LABEL already, but for
    documents, which all units read.
    """
    from pyspark.sql import functions as f

    zero, types = f.lit(0).cast("long"), bound.columns.attributes.types
    if bound.columns.document is not None or unit.labels is None:
        return zero
    whole: dict[tuple[str, ...], list[str]] = {}  # labels of which all rows are read, by their keys
    found: Column | None = None  # one CASE, however many labels: Spark goes into nested ones by recursion

    def add(wanted: Column, names: tuple[str, ...]) -> Column:
        number = f.xxhash64(*(_key(name, types[name]) for name in names)) if names else zero
        return f.when(wanted, number) if found is None else found.when(wanted, number)

    for label in sorted(unit.labels):
        # An event without an attribute of the key meets no others.
        names = tuple(name for name in unit.keys.get(label, ()) if name in types)
        if (read := relevant(label)) is None:
            whole.setdefault(names, []).append(label)
        else:
            found = add((column(LABEL) == label) & read, names)
    for names, labels in whole.items():
        found = add(column(LABEL).isin(labels), names)
    return f.lit(None).cast("long") if found is None else found


def row_hash(unit: RuleUnit, label: str, types: Mapping[str, Kind]) -> Column:
    """The same for a row of a table that is given beside the stream."""
    from pyspark.sql import functions as f

    keys = [_key(name, types[name]) for name in unit.keys.get(label, ())]
    return f.xxhash64(*keys) if keys else f.lit(0).cast("long")


def _is_hashable(kind: Kind) -> bool:
    """Whether equal values of such an attribute have equal hashes."""
    return kind is not TERM and type_family(kind) in ("number", "string", "boolean")


def _key(name: str, kind: Kind) -> Column:
    """Equal numbers of any type are equal doubles; 0.0 and -0.0 are equal too."""
    from pyspark.sql import functions as f

    return column(name).cast("double") + f.lit(0.0) if type_family(kind) == "number" else column(name)


def conform_answer(table: pa.Table, output: pa.Schema) -> pa.Table:
    """Events that some rules derive, in the columns of the whole program."""
    for field in output:
        if field.name not in table.column_names:
            table = table.append_column(field.name, pa.nulls(len(table), field.type))
    return fit_to_schema("", table, output)
