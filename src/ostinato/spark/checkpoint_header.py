"""The header of a checkpoint: what it was started with, in a row of state of its own. A stream that goes on from the
checkpoint must agree with it.

Every micro-batch checks it, and a micro-batch that fails commits nothing, whatever its other parts did.
"""

from __future__ import annotations

import json
from typing import Any

from ostinato.errors import DataError, Message, Option

HEADER = "#stream"  # the split of the header, beside those of the queries
_START = "start with a new checkpointLocation"


def check_header(before: bytes | None, now: dict[str, Any]) -> bytes:
    """The header to keep; raises DataError where the two do not go together. Queries may come and go."""
    kept = json.loads(before) if before is not None else {**now, "queries": {}}
    if kept.get("layout") != now.get("layout"):
        raise DataError(
            "the checkpoint was begun by another version of Ostinato, whose state is laid out differently", fix=_START
        )
    if kept["buckets"] != now["buckets"]:
        raise DataError(
            Message(
                "the checkpoint was begun with ", Option("buckets", kept["buckets"]), f", now it is {now['buckets']}"
            ),
            fix=Message("go on with ", Option("buckets", kept["buckets"]), f", or {_START}"),
            option="buckets",
        )
    for name, query in now["queries"].items():
        known = kept["queries"].get(name, query)
        if (known["text"], known["language"]) != (query["text"], query["language"]):
            raise another_query(name, known["text"])
        if known["answer"] != query["answer"]:
            raise _changed_columns(name, known["answer"])
    if kept["late"] != now["late"]:
        raise DataError(
            Message(f"the checkpoint was begun {'with' if kept['late'] else 'without'} ", Option("on_late", "collect")),
            fix=Message("go on with the same ", Option("on_late", None), f", or {_START}"),
            option="on_late",
        )
    for option, column in now.get("columns", {}).items():
        if (known := kept["columns"][option]) != column:
            raise DataError(
                Message("the checkpoint was begun ", *_given(option, known), ", now it is ", *_given(option, column)),
                fix=Message("go on ", *_given(option, known), f", or {_START}"),
                option=option,
            )
    return json.dumps(now).encode()


def _given(option: str, value: Any) -> tuple[Any, ...]:
    return ("with ", Option(option, value)) if value else ("without ", Option(option, None))


def another_query(name: str, text: str) -> DataError:
    """Whichever task finds that out first says the same."""
    return DataError(
        f"the checkpoint holds the state of another query {name!r}: {text}",
        fix=f"{_START}, or give the changed query another name",
    )


def _changed_columns(name: str, before: str) -> DataError:
    """Whichever task finds that out first says the same."""
    columns = ", ".join(before.split("\n"))
    return DataError(
        f"the answer of {name!r} had other columns when the checkpoint was begun: {columns}",
        fix=Message("go on with the same ", Option("events"), " and ", Option("identity"), f", or {_START}"),
        option="events",
    )
