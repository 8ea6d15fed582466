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
            raise DataError(
                f"the checkpoint holds the state of another query {name!r}: {known['text']}",
                fix=f"{_START}, or give the changed query another name",
            )
        if known["answer"] != query["answer"]:
            raise changed_columns(name, known["answer"])
    if kept["late"] != now["late"]:
        raise DataError(
            Message(f"the checkpoint was begun {'with' if kept['late'] else 'without'} ", Option("on_late", "collect")),
            fix=Message("go on with the same ", Option("on_late", None), f", or {_START}"),
            option="on_late",
        )
    return json.dumps({**now, "queries": kept["queries"] | now["queries"]}).encode()


def changed_columns(name: str, before: str) -> DataError:
    """Whichever task finds that out first says the same."""
    columns = ", ".join(before.split("\n"))
    return DataError(
        f"the answer of {name!r} had other columns when the checkpoint was begun: {columns}",
        fix=Message("go on with the same ", Option("events"), f", or {_START}"),
        option="events",
    )
