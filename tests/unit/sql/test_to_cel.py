"""A clause and the CEL that `explain` shows for it find the same."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ostinato as ost
from ostinato.sql.to_cel import cel_text

SCHEMA = pa.schema([("t0", pa.int64()), ("k", pa.string()), ("v", pa.int64()), ("w", pa.float64())])


def cel_of(text: str) -> str | None:
    return cel_text(ost.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({text})").query.clauses[0].match)


@st.composite
def clauses(draw: st.DrawFn) -> str:
    names = ["A", "B", "C"][: draw(st.integers(1, 3))]
    definitions = []
    for place, name in enumerate(names):
        own, other = draw(st.sampled_from(["v", "w", f"{name}.w"])), draw(st.sampled_from(names[: place + 1]))
        sign = draw(st.sampled_from(["<", "<=", "=", "<>", "!=", ">", ">="]))
        against = draw(st.sampled_from(["1", "2", f"{other}.v", f"{other}.w", f"LAST({other}.v)"]))
        more = draw(st.sampled_from(["", f" AND v < 3 AND k = {names[0]}.k"]))
        definitions.append(f"{name} AS ({own} {sign} {against}){more}")
    keys = draw(st.sampled_from(["", "PARTITION BY k", "PARTITION BY k, v"]))
    measures = f"{names[-1]}.t0 AS last, LAST({names[0]}.w) AS w"
    defined = f"DEFINE {', '.join(definitions)}" if draw(st.booleans()) else ""
    return f"{keys} ORDER BY t0 MEASURES {measures} AFTER MATCH SKIP TO NEXT ROW PATTERN ({' '.join(names)}) {defined}"


@given(clauses(), st.data())
def test_both_find_the_same(clause: str, data: st.DataObject) -> None:
    rows: list[dict[str, Any]] = [
        {"t0": at // 2, "k": data.draw(st.sampled_from(["x", "y", None])),
         "v": data.draw(st.sampled_from([0, 1, 2, 3, None])), "w": data.draw(st.sampled_from([0.5, 1.0, 2.0, None]))}
        for at in range(data.draw(st.integers(0, 8)))
    ]  # fmt: skip
    table = pa.Table.from_pylist(rows, SCHEMA)
    text = cel_of(clause)
    assert text is not None
    expected = ost.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({clause})").detect(table)
    found = ost.cel(text).detect(table, time="t0")
    assert found.column_names == expected.column_names
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))


@pytest.mark.parametrize(
    "text",
    [
        "ORDER BY ts MEASURES A.v AS v PATTERN (A B)",  # goes on after its last row
        "ORDER BY ts MEASURES A.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (A B+)",
        "ORDER BY ts MEASURES A.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (A | B)",
        "ORDER BY ts DESC MEASURES A.v AS v PATTERN (A)",
        "ORDER BY ts, v MEASURES A.v AS v PATTERN (A)",
        "ORDER BY ts MEASURES count(*) AS v PATTERN (A)",
        "ORDER BY ts MEASURES A.v + 1 AS v PATTERN (A)",
        "ORDER BY ts MEASURES A.v AS v PATTERN (A) WITHIN 3",
        "ORDER BY ts MEASURES A.v AS v PATTERN (A) DEFINE A AS v < PREV(v)",
        "ORDER BY ts MEASURES A.v AS v PATTERN (A) DEFINE A AS abs(v) < 3",
        "ORDER BY ts MEASURES A.v AS v PATTERN (A) DEFINE A AS v < 1.5",
        "ORDER BY ts MEASURES A.v AS v AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE A AS v < B.v",
        "ORDER BY ts MEASURES MATCH_NUMBER() AS v PATTERN (A)",
        "PARTITION BY v % 2 ORDER BY ts MEASURES A.v AS v PATTERN (A)",
    ],
)
def test_what_cel_finds_in_another_way(text: str) -> None:
    assert cel_of(text) is None


def test_explain_says_so() -> None:
    text = "ORDER BY ts MEASURES A.v AS v PATTERN (A) DEFINE A AS v > 3"
    explained = ost.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({text})").explain()
    assert "in CEL       SELECT a.v AS v WHERE ANY AS a FILTER a.v > 3\n" in explained
    assert "with the time `ts`" in explained
