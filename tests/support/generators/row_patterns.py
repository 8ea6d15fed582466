"""Random MATCH_RECOGNIZE clauses over a table of few rows with the columns k, ts, x, y and s."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import strategies as st

from support.generators.draws import Draw

VARIABLES = ("A", "B", "C")
_LOCAL = (
    "x > 1",
    "{v}.x < 2",
    "x > PREV(x)",
    "PREV({v}.x, 2) IS NULL",
    "NEXT(x) >= x",
    "y = 1 OR x IS NULL",
    "s = 'b'",
    "s > LAST({v}.s) OR PREV(y) = LAST({v}.y)",
    "CLASSIFIER() = '{v}' AND y < 2",
    "false",
    "abs(x - NEXT({v}.x)) < 1.5",
)
LOOKS_BACK = (
    "x > LAST({o}.x)",
    "x >= FIRST({o}.x) AND y < 2",
    "x - FIRST(x) < 2",
    "LAST({o}.x, 1) IS NULL",
    "FIRST({o}.y, 1) = y",
    "COUNT(*) < 3",
    "COUNT({o}.x) >= 1 OR x IS NULL",
    "SUM(y) < 3",
    "SUM({o}.x) + x > 2.5",
    "AVG({o}.y) <= y",
    "MIN(x) < MAX({o}.x)",
    "PREV(LAST({o}.y), 1) = y",
    "NEXT(FIRST({o}.x), 1) > x",
    "CLASSIFIER({o}) = '{o}'",
    "PREV(CLASSIFIER()) = '{o}'",
    "LAST(CLASSIFIER(U), 1) = '{o}'",
    "FIRST(CLASSIFIER({o}), 1) = '{v}' OR CLASSIFIER(U) = '{o}'",
    "PREV(FIRST(CLASSIFIER({o}), 1), 2) IS NULL",
    "NEXT(FIRST(CLASSIFIER({o}))) <> '{v}'",
    "MATCH_NUMBER() < 2",
    "{o}.s < {v}.s",
    "ts - {o}.ts < 3",
    "LAST(x, 2) < x",
    "COUNT(U.y) < 3",
    "MAX(U.y) > y",
    "CASE WHEN {o}.y > 1 THEN x > 1 ELSE x < 2 END",
    "x BETWEEN {o}.x AND {o}.x + 1",
    "{o}.y * 2 - y % 2 IN (2, 3, 4)",
    "coalesce({o}.x, 1.5) < x / 2",
    "least(x, {o}.x, 2) < greatest({o}.y, 1)",
    "greatest(s, {o}.s) = 'b'",
    "floor(x - {o}.x / 3) < 1",
    "sqrt(abs({o}.x - x)) < ceil(x / 4)",
    "pow(x, {o}.y - 1) < 3",
    "epoch(TIMESTAMP '2026-01-30' + INTERVAL 25 HOUR * y - (TIMESTAMP '2026-01-31' + INTERVAL 1 DAY * {o}.y)) < 90000",
    "COUNT(DISTINCT {o}.s) < 2",
    "COUNT(DISTINCT x) = COUNT(x)",
    "COUNT({o}.*) FILTER (WHERE {o}.y > 0) < 2",
    "date_diff('day', DATE '2026-01-30' + {o}.y, DATE '2026-01-31' + y) < 2",
    "date_diff('month', TIMESTAMP '2026-01-30' + INTERVAL 1 DAY * y, TIMESTAMP '2026-01-31') <= {o}.y",
)
_UNCOMMON = (
    "COUNT(DISTINCT {o}.y) < 2",
    "s || {o}.s <> 'ab'",
    "round({o}.x * x, 1) > 2",
    "round(x / 3 - {o}.x, 2) IN (0.67, -1.33)",
    "length(s || {o}.s) + COUNT(*) < 4",
    "s LIKE {o}.s || '%' OR starts_with(CLASSIFIER(U), {o}.s)",
    "date_sub('day', DATE '2026-01-30' + {o}.y, DATE '2026-01-31' + y) < 1",
    "CAST(x AS DECIMAL(9, 2)) % CAST({o}.y + 1 AS DECIMAL(5, 1)) < 0.5",
    "pow(x, {o}.y) < 3 OR sin(MATCH_NUMBER() + x) > 0",
    "TRY_CAST(s || {o}.y AS INTEGER) > 1 OR {o}.y IS NULL",
    "string_agg({o}.s, '') LIKE 'a%'",
)
_MEASURES = (
    "FIRST(ts)",
    "LAST({v}.x)",
    "FIRST({v}.y, 1)",
    "CLASSIFIER()",
    "MATCH_NUMBER()",
    "COUNT(*)",
    "FINAL COUNT({v}.*)",
    "SUM({v}.y)",
    "FINAL AVG(x)",
    "MAX({v}.s)",
    "PREV(LAST(x), 2)",
    "NEXT({v}.ts)",
    "FINAL LAST({v}.x, 1)",
    "x",
    "y * 2 + {v}.y",
    "SUM(DISTINCT y)",
    "string_agg({v}.s || CLASSIFIER({v}), '-')",
    "FIRST({v}.y + MATCH_NUMBER())",
    "CLASSIFIER(U)",
    "LAST(U.ts)",
    "PREV(CLASSIFIER())",
)


@st.composite
def tables(draw: Draw, most: int = 9) -> pa.Table:
    size = draw(st.integers(0, most))
    xs = draw(st.lists(st.sampled_from([None, 0.0, 1.0, 1.5, 2.0, 3.0]), min_size=size, max_size=size))
    ys = draw(st.lists(st.sampled_from([None, 0, 1, 2]), min_size=size, max_size=size))
    names = draw(st.lists(st.sampled_from(["a", "b", None]), min_size=size, max_size=size))
    keys = draw(st.lists(st.sampled_from(["p", "p", "q", None]), min_size=size, max_size=size))
    times = draw(st.permutations(range(size)))
    columns = {"k": keys, "ts": times, "x": xs, "y": ys, "s": names}
    kinds = {"k": pa.string(), "ts": pa.int64(), "x": pa.float64(), "y": pa.int32(), "s": pa.string()}
    return pa.table({name: pa.array(values, kinds[name]) for name, values in columns.items()})


@st.composite
def patterns(draw: Draw, depth: int = 3) -> str:
    kinds = ["symbol"] * 3 + (["sequence", "sequence", "or", "repeat", "repeat", "other"] if depth else [])
    kind = draw(st.sampled_from(kinds))
    if kind == "symbol":
        return draw(st.sampled_from(VARIABLES))
    if kind in ("sequence", "or"):
        parts = draw(st.lists(patterns(depth - 1), min_size=2, max_size=3))
        return "(" + (" " if kind == "sequence" else " | ").join(parts) + ")"
    body = draw(patterns(depth - 1))
    if kind == "repeat":
        quantifier = draw(st.sampled_from(["*", "+", "?", "{2}", "{2,}", "{,2}", "{1,3}", "{0,1}"]))
        return f"({body}){quantifier}{draw(st.sampled_from(['', '', '?']))}"
    other = draw(st.sampled_from(["()", "^", "$", "exclude", "permute"]))
    if other == "exclude":
        return f"{{- {body} -}}"
    return f"PERMUTE({body}, {draw(patterns(depth - 1))})" if other == "permute" else other


@st.composite
def clauses(draw: Draw, *, looks_back: bool = False, uncommon: bool = False, within: bool = False) -> str:
    """The text in the brackets of MATCH_RECOGNIZE.

    looks_back: conditions may look at the match so far; uncommon: with functions that only the engine has.
    """
    pattern = draw(patterns())
    if not any(name in pattern for name in VARIABLES):
        pattern += " A"
    used = [name for name in VARIABLES if name in pattern.replace("PERMUTE", "")]
    conditions = [*_LOCAL, *(LOOKS_BACK * 2 if looks_back else ()), *(_UNCOMMON * 2 if uncommon else ())]
    defined = draw(st.lists(st.sampled_from(used), min_size=1, unique=True))
    definitions = ", ".join(f"{name} AS {_written(draw, conditions, name, used)}" for name in defined)
    names = draw(st.lists(st.sampled_from(_MEASURES), min_size=1, max_size=4))
    measures = ", ".join(f"{_filled(draw, text, used[0], used)} AS m{at}" for at, text in enumerate(names))
    rows = draw(
        st.sampled_from(
            [
                "ONE ROW PER MATCH",
                "ALL ROWS PER MATCH",
                "ALL ROWS PER MATCH OMIT EMPTY MATCHES",
                "ALL ROWS PER MATCH WITH UNMATCHED ROWS",
            ]
        )
    )
    if "{-" in pattern and "UNMATCHED" in rows:
        rows = "ALL ROWS PER MATCH"
    skip = draw(st.sampled_from(["PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST {o}", "TO LAST {o}"]))
    skip = skip.format(o=draw(st.sampled_from(used)))
    partition = draw(st.sampled_from(["", "PARTITION BY k "]))
    order = draw(st.sampled_from(["ts", "ts DESC", "y, ts", "ts + 1"]))
    bound = ""
    if within:
        order, bound = draw(st.sampled_from(["ts", "ts DESC"])), f" WITHIN {draw(st.integers(0, 5))}"
    return (
        f"{partition}ORDER BY {order} MEASURES {measures} {rows} AFTER MATCH SKIP {skip}"
        f" PATTERN ({pattern}){bound} SUBSET U = ({', '.join(used[:2])}) DEFINE {definitions}"
    )


def _written(draw: Draw, conditions: list[str], name: str, used: list[str]) -> str:
    parts = draw(st.lists(st.sampled_from(conditions), min_size=1, max_size=2))
    return f" {draw(st.sampled_from(['AND', 'AND', 'OR']))} ".join(
        f"({_filled(draw, text, name, used)})" for text in parts
    )


def _filled(draw: Draw, text: str, name: str, used: list[str]) -> str:
    return text.format(v=name, o=draw(st.sampled_from(used)))
