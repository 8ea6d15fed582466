"""Random clauses of MATCH_RECOGNIZE, as query texts, and tables for them.

Tables have the columns g (to partition by), ts (the order, with ties), v and w (small numbers, sometimes NULL).
"""

from __future__ import annotations

import re
from typing import Any

from hypothesis import strategies as st

from support.generators.draws import Draw, pick, rarely

VARIABLES = ("A", "B", "C")
UNION = "U"  # of A and B
_QUANTIFIERS = ("*", "+", "?", "{2}", "{1,2}", "{,2}", "{2,}", "*?", "+?", "??", "{1,2}?", "{,2}?")


@st.composite
def tables(draw: Draw, most: int = 7) -> list[dict[str, Any]]:
    def value() -> int | None:
        return pick(draw, 0, 1, 2, 3, None) if rarely(draw) else pick(draw, 0, 1, 2, 3)

    time = 0
    found = []
    for _ in range(draw(st.integers(0, most))):
        time += pick(draw, 1, 2, 0)
        found.append({"g": pick(draw, "x", "y"), "ts": time, "v": value(), "w": value()})
    return found


@st.composite
def patterns(draw: Draw, depth: int = 3, exclusions: bool = True, permutations: bool = True) -> str:
    """The text of a pattern over VARIABLES."""
    inner = patterns(max(depth - 1, 0), exclusions, permutations)
    kinds = ["variable", "variable"]
    if depth:
        kinds += ["sequence", "sequence", "repeat", "repeat", "alternation", "anchor", "empty"]
        kinds += ["exclude"] * exclusions + ["permute"] * permutations
    kind = pick(draw, *kinds)
    if kind == "variable":
        return str(pick(draw, *VARIABLES))
    if kind == "sequence":
        return f"({draw(inner)} {draw(inner)})"
    if kind == "alternation":
        return f"({draw(inner)} | {draw(inner)})"
    if kind == "repeat":
        return f"({draw(inner)}){pick(draw, *_QUANTIFIERS)}"
    if kind == "exclude":
        return f"{{- {draw(inner)} -}}"
    if kind == "permute":
        return f"PERMUTE({draw(inner)}, {draw(inner)})"
    return str(pick(draw, "^", "$")) if kind == "anchor" else "()"


def _row_condition(draw: Draw, name: str) -> str:
    """A condition that looks at rows by their places alone."""
    number, column = draw(st.integers(0, 3)), pick(draw, "v", "w", f"{name}.v")
    return str(
        pick(
            draw,
            f"{column} {pick(draw, '<', '<=', '=', '<>', '>')} {number}",
            f"v {pick(draw, '<', '=', '>')} PREV(v)",
            f"{name}.v >= NEXT({name}.v, {pick(draw, 1, 2)})",
            "v = w",
            "PREV(v, 2) IS NULL OR w > 0",
            f"({column} + w) % 2 = 0",
            "true",
        )
    )


def _match_condition(draw: Draw, name: str) -> str:
    """A condition that looks at the match so far."""
    other, number = pick(draw, *VARIABLES, UNION), draw(st.integers(0, 4))
    return str(
        pick(
            draw,
            f"v {pick(draw, '<', '>=')} FIRST({other}.v)",
            f"v <> LAST({other}.v, 1) OR LAST({other}.v, 1) IS NULL",
            f"sum({other}.v) < {number}",
            f"count(*) <= {number}",
            f"count({other}.*) < {number}",
            f"{name}.v >= avg({other}.v)",
            f"count(DISTINCT {other}.w) < 3",
            f"PREV(LAST({other}.v)) = {number} OR v > 1",
            "PREV(CLASSIFIER()) = 'A' OR v < 2",
            f"CLASSIFIER({other}) <> 'B'",
            f"LAST(CLASSIFIER({other}), 1) <> 'A'",
            f"NEXT(FIRST(CLASSIFIER({other}))) = 'B'",
            f"MATCH_NUMBER() < {number}",
            f"max({other}.v) - min(v) <= {number}",
            f"{other}.w < v",
        )
    )


def _measure(draw: Draw) -> str:
    other, mode = pick(draw, *VARIABLES, UNION), pick(draw, "", "RUNNING ", "FINAL ")
    return str(
        pick(
            draw,
            "v",
            f"{other}.v",
            f"{mode}FIRST({other}.v)",
            f"{mode}LAST(v, 1)",
            f"PREV({mode}LAST({other}.w), 1)",
            "NEXT(v)",
            "CLASSIFIER()",
            f"CLASSIFIER({other})",
            f"{mode}LAST(CLASSIFIER(), 1)",
            "MATCH_NUMBER()",
            f"{mode}count({other}.*)",
            f"{mode}count(*)",
            f"{mode}sum({other}.v)",
            f"{mode}array_agg(CLASSIFIER())",
            f"{mode}count(DISTINCT v)",
            f"{mode}max({other}.v) - {other}.w",
            f"coalesce({mode}avg({other}.v), -1) + MATCH_NUMBER()",
        )
    )


@st.composite
def clauses(draw: Draw, *, of_match: bool = True, skips: bool = True) -> str:
    """A query over the table `t` that is one clause; `of_match`: conditions may look at the match so far."""
    measures = ", ".join(f"{_measure(draw)} AS m{number}" for number in range(draw(st.integers(1, 3))))
    rows = pick(draw, "ONE ROW PER MATCH", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
                "ALL ROWS PER MATCH WITH UNMATCHED ROWS")  # fmt: skip
    pattern = draw(patterns(exclusions="UNMATCHED" not in rows))
    if not all(re.search(rf"\b{name}\b", pattern) for name in VARIABLES):
        pattern = f"({pattern} | A B C ^)"  # which never matches, and names them all
    definitions = []
    for name in VARIABLES:
        if not rarely(draw):
            parts = [_row_condition(draw, name)]
            if of_match and not rarely(draw):
                parts = [*parts[: draw(st.integers(0, 1))], _match_condition(draw, name)]
            definitions.append(f"{name} AS {' AND '.join(f'({part})' for part in parts)}")
    skip = pick(draw, "PAST LAST ROW", "TO NEXT ROW")
    if skips and rarely(draw):
        skip = f"TO {pick(draw, 'FIRST', 'LAST')} {pick(draw, *VARIABLES, UNION)}"
    return " ".join(
        (
            "SELECT * FROM t MATCH_RECOGNIZE (",
            pick(draw, "", "PARTITION BY g"),
            pick(draw, "ORDER BY ts", "ORDER BY ts DESC", "ORDER BY v NULLS FIRST, ts"),
            f"MEASURES {measures} {rows} AFTER MATCH SKIP {skip}",
            f"PATTERN ({pattern})",
            f"SUBSET {UNION} = (A, B)",
            f"DEFINE {', '.join(definitions)}" if definitions else "",
            ")",
        )
    )
