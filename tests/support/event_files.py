"""Events to write to files, and how tests read them back."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from ostinato.files import EventReader

Write = Callable[[str, str | bytes], Path]  # the name and the content of a file

EVENTS = pa.table(
    {
        "ts": pa.array([datetime(2026, 1, 1, 10, 0, second) for second in range(5)], pa.timestamp("us")),
        "type": ["T", "H", "T", "", None],
        "value": [1.5, None, 3.0, -2.25, 0.0],
        "id": [1, 2, 3, 4, 5],
    }
)


def rows(reader: EventReader) -> list[dict[str, Any]]:
    return [row for table in reader for row in table.to_pylist()]
