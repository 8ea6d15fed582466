from __future__ import annotations

from datetime import datetime

import pyarrow as pa
from rich.console import Console
from rich.table import Table

from ostinato.viz.table import terminal_table


def printed(table: Table) -> str:
    console = Console(width=160, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get()


def test_lists_are_shortened_and_rows_limited() -> None:
    rows = pa.table({"positions": [list(range(9)), [1, 2], []], "n": [1, 2, 3]})
    text = printed(terminal_table(rows, limit=2))
    assert "0, 1, 2, 3, 4, 5, … (9 in all)" in text
    assert "1, 2" in text and " 3\n" not in text


def test_values_read_plainly() -> None:
    rows = pa.table(
        {
            "at": pa.array([datetime(2026, 7, 6, 12), datetime(2026, 7, 6, 12, 0, 0, 5)], pa.timestamp("us")),
            "value": [40.0, None],
            "event": [{"id": 1, "value": 0.1}, None],
        }
    )
    text = printed(terminal_table(rows))
    assert "2026-07-06 12:00:00 " in text and "2026-07-06 12:00:00.000005" in text
    assert " 40 " in text and "null" in text and "{id: 1, value: 0.1}" in text


def test_nanoseconds_are_rounded_away_wherever_they_are() -> None:
    kind = pa.timestamp("ns", tz="UTC")
    moment = pa.array([1_783_000_000_000_000_001], kind)
    rows = pa.table(
        {"at": moment, "x": pa.StructArray.from_arrays([moment], ["ts"]), "y": pa.array([[1]], pa.list_(kind))}
    )
    assert "2026-07-02 13:46:40Z" in printed(terminal_table(rows))
    assert "0:01:30 " in printed(terminal_table(pa.table({"long": pa.array([90_000_000_001], pa.duration("ns"))})))


def test_data_can_neither_style_nor_steer_the_terminal() -> None:
    text = printed(terminal_table(pa.table({"a[red]b": ["[bold]x[/bold]", "\x1b[31mred\nnext"]})))
    assert "[bold]x[/bold]" in text and "a[red]b" in text
    assert "\x1b" not in text and "\\x1b[31mred\\nnext" in text
