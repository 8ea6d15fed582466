"""The header of a checkpoint: what it was started with, in a row of state of its own. A stream that goes on from the
checkpoint must agree with it.

Every micro-batch checks it, and a micro-batch that fails commits nothing, whatever its other parts did.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ostinato.core.stream_schema import check_wider
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
        _check_answer(name, known, query, evolves="schema" in kept)
    if "schema" in kept:
        check_wider(_read_schema(kept["schema"]), _read_schema(now["schema"]))
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


def schema_text(schema: pa.Schema) -> str:
    """The columns that a stream reads, for its header."""
    return base64.b64encode(schema.serialize()).decode()


def _read_schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def _check_answer(name: str, known: Mapping[str, Any], query: Mapping[str, Any], *, evolves: bool) -> None:
    """Raises DataError where the state of a query has not what its answer shows now. With `evolves`, the columns that
    it was read from are known, and only their types are another matter."""
    if not evolves and known["answer"] != query["answer"]:
        raise _changed_columns(name, known["answer"])
    if _names(known["answer"]) != _names(query["answer"]):
        raise _changed_columns(name, known["answer"])
    if gone := [column for column in known.get("columns", ()) if column not in query.get("columns", ())]:
        raise DataError(
            f"the column `{gone[0]}` is gone, which {name!r} reads or shows since the checkpoint was begun",
            fix=f"give it as NULL, with withColumn('{gone[0]}', lit(None).cast(…)), or {_START}",
        )


def _names(answer: str) -> list[str]:
    """The columns of a schema that was written as text; what is inside of them is indented there."""
    return [line.partition(": ")[0] for line in answer.split("\n") if not line.startswith(" ")]


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
