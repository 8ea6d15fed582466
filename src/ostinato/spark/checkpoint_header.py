"""The header of a checkpoint: what it was started with, in a row of state of its own. A stream that goes on from the
checkpoint must agree with it.

Every micro-batch checks it, and a micro-batch that fails commits nothing, whatever its other parts did.
"""

from __future__ import annotations

import json
from typing import Any

from ostinato.errors import DataError

HEADER = "#stream"  # the split of the header, beside those of the queries


def check_header(before: bytes | None, now: dict[str, Any]) -> bytes:
    """The header to keep; raises DataError where the two do not go together. Queries may come and go."""
    kept = json.loads(before) if before is not None else {**now, "queries": {}}
    start = "start with a new checkpointLocation"
    if kept["buckets"] != now["buckets"]:
        raise DataError(
            f"the checkpoint was begun with buckets={kept['buckets']}, now it is {now['buckets']}",
            fix=f"go on with buckets={kept['buckets']}, or {start}",
        )
    for name, query in now["queries"].items():
        known = kept["queries"].get(name, query)
        if (known["text"], known["language"]) != (query["text"], query["language"]):
            raise DataError(
                f"the checkpoint holds the state of another query {name!r}: {known['text']}",
                fix=f"{start}, or give the changed query another name",
            )
        if known["answer"] != query["answer"]:
            columns = ", ".join(known["answer"].split("\n"))
            raise DataError(
                f"the answer of {name!r} had other columns when the checkpoint was begun: {columns}",
                fix=f"go on with the same events=…, or {start}",
            )
    if kept["late"] != now["late"]:
        raise DataError(
            f"the checkpoint was begun {'with' if kept['late'] else 'without'} on_late='collect'",
            fix=f"go on with the same on_late, or {start}",
        )
    return json.dumps({**now, "queries": kept["queries"] | now["queries"]}).encode()
