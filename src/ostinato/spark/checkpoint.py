"""What a checkpoint was begun with, kept in a row of state of its own: a stream that goes on from it must agree.

It is looked at in every micro-batch, and a micro-batch that fails commits nothing, whatever its other parts did.
"""

from __future__ import annotations

import json
from typing import Any

from ostinato.errors import DataError

STREAM = "#stream"  # the split that holds this, beside those of the queries


def agreed(before: bytes | None, now: dict[str, Any]) -> bytes:
    """What to keep; DataError where the two do not go together. Queries may come and go."""
    told = json.loads(before) if before is not None else {**now, "queries": {}}
    start = "start with a new checkpointLocation"
    if told["buckets"] != now["buckets"]:
        raise DataError(
            f"the checkpoint was begun with buckets={told['buckets']}, now it is {now['buckets']}",
            fix=f"go on with buckets={told['buckets']}, or {start}",
        )
    for name, query in now["queries"].items():
        known = told["queries"].get(name, query)
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
    if told["late"] != now["late"]:
        raise DataError(
            f"the checkpoint was begun {'with' if told['late'] else 'without'} on_late='collect'",
            fix=f"go on with the same on_late, or {start}",
        )
    return json.dumps({**now, "queries": told["queries"] | now["queries"]}).encode()
