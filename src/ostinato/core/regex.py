"""Regular expressions of RLIKE: RE2, as Arrow has it, so that no pattern takes more than linear time."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def find_fault(pattern: str) -> str | None:
    """What is wrong with a pattern; None for nothing."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


def matches_regex(text: str, pattern: str) -> bool:
    """Whether some part of the text fits the pattern."""
    return bool(pc.match_substring_regex(pa.scalar(text, pa.large_string()), pattern).as_py())
