"""Rows that are no events: without a time, ending before they begin, or with a document that cannot be read."""

from __future__ import annotations

import pyarrow as pa

from ostinato.errors import DataError
from ostinato.rules.runtime.ingest import IncomingColumns


def split_unusable(columns: IncomingColumns, rows: pa.Table) -> tuple[pa.Table, list[tuple[int, str]]]:
    """The rows that can be read as events, and for each other one its number and what is wrong with it.

    Rows are halved until the faulty ones are alone: most tables have none or few of them.
    """
    good: list[pa.Table] = []
    faults: list[tuple[int, str]] = []
    left = [(0, rows)]
    while left:
        first, part = left.pop()
        try:
            columns.read(part)
        except DataError as error:
            if error.row is None:
                raise
            if len(part) == 1:
                faults.append((first, error.reason))
                continue
            half = len(part) // 2
            left += [(first + half, part.slice(half)), (first, part.slice(0, half))]
        else:
            good.append(part)
    return pa.concat_tables([rows.slice(0, 0), *good]), faults
