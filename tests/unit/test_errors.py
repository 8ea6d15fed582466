"""Errors are data: their fields survive pickling, and each surface renders them."""

from __future__ import annotations

import copy
import pickle

import pytest

from ostinato.core.options import bad_option
from ostinato.errors import (
    Call,
    DataError,
    Limit,
    LimitError,
    Message,
    Option,
    OstinatoError,
    Part,
    Position,
    QueryError,
    Span,
)
from ostinato.patterns.runtime.count import OutOfOrder

FIX = Message("narrow WITHIN, or raise ", Limit("states"), ", or ", Option("overwrite", True))
ERRORS = [
    OstinatoError("wrong", fix="mend it", option="lateness"),
    QueryError("wrong", text="A AS x", span=Span(2, 4), fix=FIX),
    DataError("wrong", source="a.csv", row=3, fix=FIX),
    LimitError("states", 1000, reason="wrong", fix=FIX),
    OutOfOrder("wrong"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling_and_copying(error: OstinatoError) -> None:
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert type(other) is type(error) and vars(other) == vars(error) and other.args == error.args
        assert str(other) == str(error) and other.render(_shout) == error.render(_shout)


def _shout(part: Part) -> str:
    return part if isinstance(part, str) else f"<{part.name.upper()}>" if not isinstance(part, Call) else part.verb


def test_fields_and_text() -> None:
    plain, query, data, limit, _ = ERRORS
    assert (plain.option, plain.limit, plain.position) == ("lateness", None, None)
    assert str(plain) == "wrong\nfix: mend it"
    assert query.position == Span(2, 4)
    assert (
        str(query)
        == "wrong\n   1 | A AS x\n         ^^\nfix: narrow WITHIN, or raise Limits(states=…), or overwrite=True"
    )
    assert data.position == Position("a.csv", 3)
    assert str(data).startswith("a.csv, row 3: wrong\nfix: ")
    assert limit.limit == "states" and str(limit).startswith("wrong (limit states=1,000)\nfix: ")
    assert limit.render(_shout).endswith("fix: narrow WITHIN, or raise <STATES>, or <OVERWRITE>")


def test_an_error_with_other_fields() -> None:
    moved = DataError("wrong", row=3, fix=FIX).replace(source="a.csv", row=None)
    assert str(moved).startswith("a.csv: wrong\n") and moved.fix is FIX


def test_text_is_read_back() -> None:
    assert vars(OstinatoError.parse("wrong\nfix: mend it")) == vars(OstinatoError("wrong", fix="mend it"))
    assert OstinatoError.parse("wrong").fix is None


def test_messages_keep_their_parts() -> None:
    message = Message(
        "in {name}: ", Message(Option("time"), " or ", Option("encoding", "latin-1")), Call("save()", "train")
    )
    assert message == 'in {name}: time=… or encoding="latin-1"save()'
    assert message.format(name="a").render(_shout) == "in a: <TIME> or <ENCODING>train"


def test_the_option_that_is_wrong() -> None:
    error = bad_option("lateness", -1, "a number from 0")
    assert error.option == "lateness" and str(error) == "lateness cannot be -1\nfix: give a number from 0"
    assert error.render(_shout) == "<LATENESS> cannot be -1\nfix: give a number from 0"
