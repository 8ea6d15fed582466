"""What a wrong query is told: the reason, the place and the fix."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ostinato.errors import QueryError


def assert_told(run: Callable[[], object], text: str, reason: str, place: str, fix: str) -> None:
    """`run` fails with a QueryError for this reason, that points to what begins with `place` in the text."""
    with pytest.raises(QueryError) as raised:
        run()
    error = raised.value
    assert reason in error.reason and error.text == text
    assert error.span is not None and text[error.span.start :].startswith(place)
    assert fix in (error.fix or "")
