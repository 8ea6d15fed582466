"""Names of tables and columns in SQL, which does not tell `A` and `a` apart, as rules do."""

from __future__ import annotations

from dataclasses import dataclass, field

from ostinato.rules.algebra.nodes import CelStream, PeriodicStream, Stream, TableStream

_PATTERNS = {"cel": "M", "srem": "S", "sql": "R"}
INCOMING = "E"  # all incoming events: #label, begin, end, attributes


@dataclass(frozen=True)
class ColumnNames:
    """The columns of variables and of times, each with a name of its own in SQL."""

    _variables: dict[str, str] = field(default_factory=dict)
    _events: dict[str, str] = field(default_factory=dict)

    def variable(self, name: str) -> str:
        # A name in backticks may look like that of a time, or of a column that heads need.
        return _unique(name if name.isidentifier() else f"var {name}", self._variables)

    def time(self, ident: str, side: str) -> str:
        return f"{_unique(ident, self._events)}.{side}"


def _unique(name: str, met: dict[str, str]) -> str:
    if name not in met:
        used = {other.lower() for other in met.values()}
        found = name
        while found.lower() in used:
            found += "~"
        met[name] = found
    return met[name]


def stream_table(stream: Stream) -> str:
    """The events of a label, or of another source."""
    if isinstance(stream, TableStream):
        return f"R {escape_case(stream.label)}"
    if isinstance(stream, PeriodicStream):
        return f"T {stream.kind} {stream.nanoseconds}"
    if isinstance(stream, CelStream):
        return f"{_PATTERNS[stream.language]} {escape_case(stream.query)}"
    return f"E {escape_case(stream)}"


def escape_case(label: str) -> str:
    """A label as part of a name that SQL tells from others, which differ in case alone."""
    return "".join(letter if letter == letter.lower() and letter != "^" else f"^{ord(letter):x}^" for letter in label)


def matched_table(point: str) -> str:
    """Where the answers of the matcher of terms are, for a point that SQL cannot match by itself."""
    return f"QX {point}"


def new_table(name: str) -> str:
    """What a round of a recursion adds to a relation."""
    return f"Δ {name}"


def given_table(label: str) -> str:
    """The rows of a table that are given beside the stream."""
    return f"G {escape_case(label)}"


def derived_table(label: str) -> str:
    """The events of a label that rules derive."""
    return f"D {escape_case(label)}"
