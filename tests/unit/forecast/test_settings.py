"""Options that are out of range, or not options."""

from __future__ import annotations

from typing import Any

import pytest

import ostinato as ost
from support.forecast import CYCLE


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": -1}, "order cannot be -1"),
        ({"order": "AUTO"}, "order cannot be 'AUTO'\nfix: .* or \"auto\""),
        ({"order": True}, "order cannot be True"),
        ({"treshold": 0.5}, "no option `treshold`\nfix: did you mean `threshold`"),
        ({"horizon": 0}, "horizon cannot be 0"),
        ({"threshold": 1.5}, "threshold cannot be 1.5"),
        ({"holdout": 0}, "holdout cannot be 0"),
        ({"prior": -1}, "prior cannot be -1"),
        ({"limits": 3}, "limits cannot be 3"),
    ],
)
def test_bad_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ost.OstinatoError, match=message):
        ost.Forecaster(CYCLE, **options)
