"""Rows of tables that are given beside a stream: what they hold, and how engines read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ostinato.core.events import to_arrow
from ostinato.errors import DataError, Message, Option, did_you_mean
from ostinato.rules.relational.kinds import Attributes, logical_type
from ostinato.rules.runtime.map_columns import check_maps


def row_attributes(schema: pa.Schema) -> Attributes:
    """What the rows of a table hold. All columns are data: they hold from before all events."""
    kinds = {field.name: logical_type(field.type) for field in schema}
    for name, kind in kinds.items():
        check_maps(name, kind)
    return Attributes.of(kinds)


def read_rows(rows: pa.Table) -> pa.Table:
    """The rows under the names that rules give their columns."""
    attributes = row_attributes(rows.schema)
    columns = {}
    for name, kind in attributes.types.items():
        column = rows[name]
        columns[attributes.columns[name]] = column if column.type == kind else column.cast(kind)
    return pa.table(columns)


def given_tables(given: Any, known: Mapping[str, tuple[str, ...]]) -> dict[str, pa.Table]:
    """The option `tables` as tables of Arrow. `known` are those that rules look into, each with its key."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        fix = Message("write ", Option("tables"), '={"customers": rows}')
        raise DataError("tables are given by their labels", fix=fix)
    found = {}
    for label, rows in given.items():
        check_table(label, known)
        found[label] = to_arrow(rows)
        check_key(label, found[label].schema.names, known[label])
    return found


def check_table(label: str, known: Mapping[str, tuple[str, ...]]) -> None:
    """Raise DataError where no rule looks into a table of this label."""
    if label not in known:
        reason = f"no rule looks into a table `{label}`"
        fix = did_you_mean(label, known) or f"declare it, TABLE {label} KEY …, and write at i: {label} {{{{ … }}}}"
        raise DataError(reason, fix=fix)


def check_key(label: str, columns: list[str], key: tuple[str, ...]) -> None:
    """Raise DataError where the rows have no column for the key."""
    for name in key:
        if columns and name not in columns:
            reason = f"the rows of the table `{label}` have no column `{name}`, which is its key"
            raise DataError(reason, fix=did_you_mean(name, columns))
