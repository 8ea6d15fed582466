"""The command line writes errors with its own options."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from ostinato.cli.failures import report_errors
from ostinato.cli.main import make_app
from ostinato.errors import DataError, Limit, LimitError, Message, Option, OstinatoError, QueryError, Verb

Time = Annotated[str | None, typer.Option("--time", "-t", metavar="COLUMN")]
Most = Annotated[list[str] | None, typer.Option("--max", metavar="LIMIT=N")]
Model = Annotated[Path, typer.Argument(metavar="MODEL")]
NAMED = Message(Option("time"), ", ", Option("time", "at"), ", ", Option("time", None), ", ", Limit("states"))


def fail(error: OstinatoError, kind: str) -> tuple[int, str]:
    app = typer.Typer()

    @report_errors
    def plain(time: Time = None, most: Most = None) -> None:
        raise error

    @report_errors
    def scored(model: Model) -> None:
        raise error

    app.command()(plain)
    app.command()(scored)
    result = CliRunner().invoke(app, [kind, *(["m"] if kind == "scored" else [])])
    return result.exit_code, result.stderr.strip()


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (
            QueryError("wrong", fix=NAMED),
            2,
            "query error: wrong\nfix: --time COLUMN, --time at, --time, --max states=N",
        ),
        (DataError("wrong", source="a.csv", fix="mend it"), 1, "data error: a.csv: wrong\nfix: mend it"),
        (LimitError("states", 7, reason="many", fix="mend"), 1, "limit reached: many (limit states=7)\nfix: mend"),
        (
            OstinatoError("wrong", fix=Message("run ", Verb("fit()", "train"))),
            1,
            "error: wrong\nfix: run ostinato train",
        ),
        (OstinatoError(Message(Option("buckets"), " is wrong")), 1, "error: buckets=… is wrong"),
    ],
)
def test_errors_name_the_options_of_the_verb(error: OstinatoError, code: int, text: str) -> None:
    assert fail(error, "plain") == (code, text)


def test_options_that_only_training_takes() -> None:
    assert make_app().registered_commands
    named = Message("name it: ", Option("type"))
    assert fail(DataError("wrong", fix=named), "scored")[1].endswith("--type COLUMN, when the model is trained")
    assert fail(DataError("wrong", fix=Message(Limit("memory"))), "scored")[1].endswith("Limits(memory=…) in Python")
