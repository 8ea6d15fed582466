"""Why an engine reads no more: as text, since snapshots keep it."""

from __future__ import annotations

from ostinato.errors import OstinatoError

INCOMPLETE = str(
    OstinatoError(
        "this engine stopped in the middle of a step: its state is incomplete", fix="restore it from a snapshot"
    )
)


def stream_ended(builder: str) -> str:
    """Of an engine that was flushed; `builder` is the call that makes a new one."""
    return str(OstinatoError("this engine was flushed: its stream has ended", fix=f"build a new one with {builder}"))
