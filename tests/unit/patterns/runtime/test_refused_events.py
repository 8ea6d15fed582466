"""A push that fails leaves an engine as it was, in whatever form the events come."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost

CAST = ost.cel("A AS x FILTER CAST(x.s AS INT) > 3")
PAIR = ost.cel("A AS x ; A AS y FILTER x[CAST(s AS INT) > 3] AND y[CAST(s AS INT) > 3] WITHIN 10 seconds")
Form = Callable[[dict[str, Any]], Any]
FORMS: dict[str, Form] = {
    "dict": lambda event: event,
    "list": lambda event: [event],
    "table": lambda event: pa.Table.from_pylist([event]),
    "many": lambda event: [event | {"s": "1"}] * 20 + [event],
}


def event(ts: Any, s: str | None, kind: str = "A") -> dict[str, Any]:
    return {"ts": ts, "type": kind, "s": s}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lateness", [0, 2])
def test_a_bad_value_is_refused_and_later_events_are_read(form: str, lateness: int) -> None:
    make, engine, clean = FORMS[form], PAIR.engine(lateness=lateness), PAIR.engine(lateness=lateness)
    found, expected = [], []
    for ts, text in enumerate(["7", "q", "8", "w", "9"]):
        batch = make(event(ts, text))
        if text.isdigit():
            found += engine.push(batch).to_pylist()
            expected += clean.push(batch).to_pylist()
            continue
        seen = engine.stats().events
        with pytest.raises(ost.DataError, match=f"row {seen + 20 * (form == 'many')}: '{text}' cannot be cast"):
            engine.push(batch)
        assert replace(engine.stats(), bytes=0) == replace(clean.stats(), bytes=0)
    found, expected = found + engine.flush().to_pylist(), expected + clean.flush().to_pylist()
    assert found == expected and len(found) == 3


def test_a_bad_value_in_the_middle_of_events_as_dicts() -> None:
    engine = CAST.engine()
    engine.push(event(0, "7"))
    with pytest.raises(ost.DataError, match="row 2: 'q'"):
        engine.push([event(1, "8"), event(2, "q"), event(3, "9")])
    assert engine.push(event(3, "9"))["positions"].to_pylist() == [[1]]


@pytest.mark.parametrize("form", ["dict", "list", "table"])
def test_what_comes_too_late_is_not_looked_at(form: str) -> None:
    engine, make = CAST.engine(), FORMS[form]
    engine.push(event(5, "7"))
    assert not len(engine.push(make(event(4, "q")))) and engine.stats().late == 1


def test_a_bad_value_that_a_not_at_the_start_reads() -> None:
    query = ost.cel("NOT (B AS b FILTER CAST(b.s AS INT) > 3) FOR 3 seconds ; A AS x")
    engine = query.engine()
    engine.push(event(0, "1"))
    for form in FORMS.values():
        with pytest.raises(ost.DataError, match="'q' cannot be cast"):
            engine.push(form(event(1, "q", "B")))
    assert not len(engine.push(event(2, "9", "B")))
    assert engine.push([event(3, "q"), event(9, "q")])["positions"].to_pylist() == [[3]]


def test_an_attribute_that_decreases_under_a_window_over_it() -> None:
    engine = ost.cel("A AS x ; A AS y WITHIN 5 ON v").engine()
    engine.push([{"ts": 0, "type": "A", "v": 1}])
    with pytest.raises(ost.DataError, match="row 2: `v` decreases"):
        engine.push([{"ts": 1, "type": "A", "v": 5}, {"ts": 2, "type": "A", "v": 4}])
    assert engine.push([{"ts": 1, "type": "A", "v": 2}])["positions"].to_pylist() == [[0, 1]]


def test_a_first_push_that_fails_sets_no_columns() -> None:
    engine = ost.cel("A ; B WITHIN 5 seconds").engine()
    with pytest.raises(ost.DataError, match="ts"):
        engine.push({"ts": None, "type": "A"})
    engine.push({"ts": 1, "type": "A"})
    assert engine.push({"ts": 3600, "type": "B"}).to_pylist() == []
    engine.push({"ts": 3601, "type": "A"})
    assert engine.push({"ts": 3602, "type": "B"})["start"].to_pylist() == [3601]


def test_a_first_push_with_a_bad_value_sets_no_columns() -> None:
    engine = CAST.engine()
    with pytest.raises(ost.DataError, match="row 0: 'q'"):
        engine.push([{"ts": 1.5, "type": "A", "s": "q"}])
    assert engine.push({"ts": 1, "type": "A", "s": 7})["start"].to_pylist() == [1]


@pytest.mark.parametrize(
    "bad",
    [{"ts": None, "type": "A", "s": "5"}, {"ts": 1, "type": ["A"], "s": "5"}, {"ts": 1, "type": "A", "s": "q"}],
)
def test_a_push_that_fails_gives_no_types(bad: dict[str, Any]) -> None:
    engine = CAST.engine()
    engine.push(event(0, None))
    with pytest.raises(ost.DataError):
        engine.push(bad)
    assert pa.types.is_null(engine.stream.schema.field("s").type)
    assert engine.push(event(1, None) | {"s": 7})["positions"].to_pylist() == [[1]]


@pytest.mark.parametrize("form", FORMS)
def test_an_answer_that_cannot_be_computed_stops_nothing(form: str) -> None:
    make, engine = FORMS[form], ost.cel("SELECT CAST(x.s AS INT) + 0 * y.ts AS s WHERE A AS x ; B AS y").engine()
    engine.push(make(event(0, "1")))
    engine.push([event(1, "q")])
    given = engine.stats().matches
    with pytest.raises(ost.DataError, match="'q' cannot be cast"):
        engine.push(make(event(2, "q", "B")) if form != "many" else [event(2, "", "B")] * 20)
    assert engine.stats().matches == given
    engine = ost.cel("SELECT CAST(x.s AS INT) AS s WHERE A AS x").engine()
    for ts, text in enumerate(["7", "q", "8"]):
        if text == "q":
            with pytest.raises(ost.DataError, match="'q' cannot be cast"):
                engine.push(make(event(ts, text)))
        else:
            assert engine.push(make(event(ts, text)))["s"].to_pylist()[-1] == int(text)
    size = 21 if form == "many" else 1
    assert (engine.stats().events, engine.stats().matches) == (3 * size, 2 * size)


def test_waiting_matches_that_cannot_be_computed() -> None:
    engine = ost.cel("SELECT CAST(x.s AS INT) AS s WHERE A AS x ; NOT B FOR 5 seconds").engine()
    engine.push([event(0, "q"), event(3, "7")])
    with pytest.raises(ost.DataError, match="'q' cannot be cast"):
        engine.push([event(6, None, "C")] * 30)
    assert engine.push([event(9, None, "C")] * 30)["s"].to_pylist() == [7]
