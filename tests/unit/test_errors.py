"""Errors are data: their fields survive pickling, and each surface renders them."""

from __future__ import annotations

import ast
import copy
import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

import ostinato
from ostinato.core.options import bad_option
from ostinato.errors import (
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
    Verb,
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
    return part if isinstance(part, str) else f"<{part.name.upper()}>" if not isinstance(part, Verb) else part.verb


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
    assert str(data).startswith("a.csv, row 3 (from 0): wrong\nfix: ")
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
        "in {name}: ", Message(Option("time"), " or ", Option("encoding", "latin-1")), Verb("save()", "train")
    )
    assert message == 'in {name}: time=… or encoding="latin-1"save()'
    assert message.format(name="a").render(_shout) == "in a: <TIME> or <ENCODING>train"


def test_the_option_that_is_wrong() -> None:
    error = bad_option("lateness", -1, "a number from 0")
    assert error.option == "lateness" and str(error) == "lateness cannot be -1\nfix: give a number from 0"
    assert error.render(_shout) == "<LATENESS> cannot be -1\nfix: give a number from 0"


@pytest.mark.parametrize(
    "fix",
    [
        FIX,
        Message("give ", Option("on_error", "skip"), ", ", Option("time"), " or ", Limit("states", "XSeqLimits")),
        Message("nothing is named"),
    ],
)
def test_text_is_read_back_with_its_options(fix: Message) -> None:
    read = OstinatoError.parse(str(OstinatoError("wrong", fix=fix)))
    assert read.fix == fix and read.render(_shout) == OstinatoError("wrong", fix=fix).render(_shout)


@pytest.mark.parametrize(
    ("attempt", "kind", "option", "text"),
    [
        (lambda: ostinato.cel("A").detect([{"ts": 1}], time="nope"), DataError, "time", "time is `nope`, but there is"),
        (lambda: ostinato.xseq("/a", matches=cast(Any, "foo")), QueryError, "matches", 'matches="foo" is unknown'),
        (lambda: ostinato.cel("A").engine(lateness="3 parsecs"), OstinatoError, "lateness", "unknown unit `parsecs`"),
        (lambda: ostinato.Limits(matches=0), OstinatoError, "matches", "cannot be 0\nfix: give a whole number from 1"),
    ],
)
def test_errors_name_the_option(
    attempt: Callable[[], object], kind: type[OstinatoError], option: str, text: str
) -> None:
    with pytest.raises(kind) as caught:
        attempt()
    assert type(caught.value) is kind and caught.value.option == option and caught.value.fix
    assert text in str(caught.value)


def test_a_limit_that_is_wrong() -> None:
    with pytest.raises(OstinatoError) as caught:
        ostinato.Limits(states=0)
    assert caught.value.limit == "states"


# An option as Python or the command line writes it. A message names it with Option, and each surface writes its own.
_WRITTEN = re.compile(r"(?<![\w{])[a-z_]+=(?:…|True\b|False\b|'|\{\})|(?<!\w)--[a-z]")
_OF_BOTH = "on the command line"  # says how each of the two does it, and they differ
_NO_OPTIONS = {  # what only looks like one
    "documents/encoding.py": "the declaration says encoding=",
    "documents/xml/tokeniser.py": "<?xml version=",
    "forecast/model.py": "(Pattern(text=",
    "spark/failures.py": "PYSPARK_SUBMIT_ARGS=",
    "spark/java.py": "--add-modules",
    "viz/picture.py": "[label=",
}


def _strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings of a module that are not docstrings, nor in a `__repr__`, with their lines."""
    passed: set[ast.AST] = set()
    for node in ast.walk(tree):
        if node in passed or (isinstance(node, ast.FunctionDef) and node.name in ("__repr__", "__str__")):
            passed.update(ast.iter_child_nodes(node))
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            passed.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            passed.update(node.values)
            texts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            yield node.lineno, "".join(map(str, texts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@pytest.mark.slow
def test_messages_name_options_by_option() -> None:
    root = Path(ostinato.__file__).parent
    found = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name.startswith("cli/"):
            continue
        for line, text in _strings(ast.parse(path.read_text(encoding="utf-8"))):
            allowed = _OF_BOTH in text or (name in _NO_OPTIONS and _NO_OPTIONS[name] in text)
            if _WRITTEN.search(text) and not allowed:
                found.append(f"{name}:{line}: {text}")
    assert not found
