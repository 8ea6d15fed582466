"""What a wrong query is told: the reason, the place and the fix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ostinato.errors import QueryError


def refusal(run: Callable[[], object], text: str) -> tuple[str, str, str]:
    """The reason of the QueryError that `run` fails with, what its place covers in the text, and the fix."""
    with pytest.raises(QueryError) as raised:
        run()
    error = raised.value
    assert error.text in (text, None) and error.span is not None
    return error.reason, text[error.span.start : error.span.end], error.fix or ""


def assert_refused(run: Callable[[], object], text: str, reason: str, place: str, fix: str = "") -> None:
    """`run` fails with a QueryError for this reason, that points to just this place in the text."""
    found = refusal(run, text)
    assert reason in found[0]
    assert (found[1], fix in found[2]) == (place, True), found


def assert_told(run: Callable[[], object], text: str, reason: str, place: str, fix: str) -> None:
    """`run` fails with a QueryError for this reason, that points to what begins with `place` in the text."""
    with pytest.raises(QueryError) as raised:
        run()
    error = raised.value
    assert reason in error.reason and error.text == text
    assert error.span is not None and text[error.span.start :].startswith(place)
    assert fix in (error.fix or "")
