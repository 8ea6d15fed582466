"""Labels that rules read and no event has: most are misspelt."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
import pyarrow.compute as pc

from ostinato.errors import did_you_mean
from ostinato.rules.runtime.ingest import IncomingColumns


def read_labels(rows: pa.Table, columns: IncomingColumns) -> set[str] | None:
    """The labels of incoming rows; None where each document has its own."""
    if columns.document is not None:
        return None
    if columns.type is None:
        return set() if columns.label is None else {columns.label}
    return {label for label in pc.unique(rows[columns.type].cast(pa.string())).to_pylist() if label is not None}


def missing_label_warnings(labels: pa.ChunkedArray) -> list[str]:
    """A warning where events have no label."""
    if not labels.null_count:
        return []
    what = "an event has" if labels.null_count == 1 else f"{labels.null_count} events have"
    return [f"{what} no label (NULL), so that no rule reads it"]


def unknown_label_warnings(incoming: Iterable[str], seen: Iterable[str] | None) -> list[str]:
    """A warning for each incoming label that no event has."""
    if seen is None:
        return []
    known = set(seen)
    warnings = []
    for label in sorted(set(incoming) - known):
        hint = did_you_mean(label, known)
        warnings.append(f"no event has the label `{label}`" + (f"; {hint}" if hint else ""))
    return warnings
