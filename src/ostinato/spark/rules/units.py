"""The rules of a program that are run together (algebra.partition), and where the rows of a DataFrame go by them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ostinato.patterns.many import fit_to_schema as retyped
from ostinato.rules.algebra.partition import Unit, partition
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.relational.kinds import TERM, Kind, family
from ostinato.rules.runtime.batch import Fitted, fit
from ostinato.rules.runtime.ingest import LABEL
from ostinato.spark.columns import column

if TYPE_CHECKING:
    from pyspark.sql import Column

    from ostinato.rules.program import RuleProgram


@dataclass(frozen=True)
class Rules:
    """Some rules as a program of their own: plain data that travels to the workers."""

    text: str
    columns: dict[str, str | None]
    schema: pa.Schema  # of incoming rows

    def fitted(self) -> Fitted:
        from ostinato.rules.program import RuleProgram

        program = RuleProgram(self.text)
        return fit(program.program, program.text, self.schema, self.columns, near=True)


def units_of(program: RuleProgram, fitted: Fitted) -> tuple[Unit, ...]:
    attributes = fitted.columns.attributes.types
    return partition(normalise(program.program), [name for name, kind in attributes.items() if _hashed(kind)])


def rules_of(program: RuleProgram, unit: Unit, columns: dict[str, Any], schema: pa.Schema) -> Rules:
    parts = [rule.span for rule in program.program.rules if rule.number in unit.rules]
    return Rules("\n".join(program.text[part.start : part.end] for part in parts), columns, schema)


def hash_of(fitted: Fitted, unit: Unit, relevant: Callable[[str], Column | None] = lambda _: None) -> Column:
    """A number for a row's key, equal for rows that may meet; NULL for a row that the unit does not read.

    `relevant` says which rows of a label it may read; None: all. The label is in the column LABEL already, but for
    documents, which all units read.
    """
    from pyspark.sql import functions as f

    zero, types = f.lit(0).cast("long"), fitted.columns.attributes.types
    if fitted.columns.document is not None or unit.labels is None:
        return zero
    found = f.lit(None).cast("long")
    for label in sorted(unit.labels):
        # An event without an attribute of the key meets no others.
        keys = [_key(name, types[name]) for name in unit.keys.get(label, ()) if name in types]
        read = relevant(label)
        wanted = column(LABEL) == label if read is None else (column(LABEL) == label) & read
        found = f.when(wanted, f.xxhash64(*keys) if keys else zero).otherwise(found)
    return found


def _hashed(kind: Kind) -> bool:
    """Whether equal values of such an attribute have equal hashes."""
    return kind is not TERM and family(kind) in ("number", "string", "boolean")


def _key(name: str, kind: Kind) -> Column:
    """Equal numbers of any type are equal doubles; 0.0 and -0.0 are equal too."""
    from pyspark.sql import functions as f

    return column(name).cast("double") + f.lit(0.0) if family(kind) == "number" else column(name)


def in_columns(table: pa.Table, output: pa.Schema) -> pa.Table:
    """Events that some rules derive in the columns of the whole program."""
    for field in output:
        if field.name not in table.column_names:
            table = table.append_column(field.name, pa.nulls(len(table), field.type))
    return retyped("", table, output)
