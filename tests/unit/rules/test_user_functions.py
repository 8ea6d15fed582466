"""Functions of users: typed by annotations or a signature, NULL where an argument is, named in snapshots."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato import RuleEngine, UserFunction
from ostinato.errors import DataError, OstinatoError, QueryError
from ostinato.rules.semantics.fixpoint import derived_events
from support.derived import events_in
from support.generators.rules import events_of


def halved(value: float) -> float | None:
    return value / 2 if value >= 0 else None


def by(value: int, divisor: int = 3) -> int:
    return value % divisor


def longer(text: str, than: int) -> bool:
    return len(text) > than


FUNCTIONS: dict[str, Any] = {"Halved": halved, "by": by, "longer": longer}
HEAD = "DETECT d { v { %s } } ON event e: a {{ v {{ var V }} }} END"


def rows(*values: Any) -> list[dict[str, Any]]:
    return [{"type": "a", "ts": place, "v": value} for place, value in enumerate(values)]


def both(text: str, events: Any, functions: Any = FUNCTIONS) -> list[Any]:
    """The values that a table and a live engine, event by event, agree on."""
    rules = ost.rules(text, functions=functions)
    found = rules.detect(events)
    engine = rules.engine(schema=found.schema if not events else pa.Table.from_pylist(events).schema)
    live = [*[engine.push([event]) for event in events], engine.flush()]
    stepwise = [row for table in live for row in table.to_pylist()]
    assert stepwise == found.to_pylist()
    return [row["v"] for row in found.to_pylist()]


def test_null_and_what_does_not_fit_give_null() -> None:
    assert both(HEAD % "coalesce(halved(var V), 9)", rows(1, -1, None, 4)) == [0.5, 9.0, 2.0]
    assert both(HEAD % "coalesce(by(var V), 9)", rows(4.0, 4.5, 1e300, float("inf"))) == [1, 9, 9, 9]
    assert both(HEAD % "by(var V, 2)", rows(2**62 + 1)) == [1]
    assert both(HEAD % "CASE WHEN longer(var V, 1) THEN upper(var V) ELSE '-' END", rows("a", "bc")) == ["-", "BC"]


def test_results_that_are_null() -> None:
    given = {
        "nan": UserFunction(lambda value: float("nan"), (int,), float),
        "wide": UserFunction(lambda value: 2**63 + value, (int,), int),
    }
    assert both(HEAD % "CASE WHEN nan(var V) IS NULL THEN 1 END", rows(1), given) == [1]
    assert both(HEAD % "coalesce(wide(var V), -1)", rows(1), given) == [-1]


def test_values_of_documents() -> None:
    texts = ['{"type": "a", "ts": 1, "v": 3}', '{"type": "a", "ts": 2, "v": "x"}', '{"type": "a", "ts": 3, "v": 2.5}']
    events = [{"ts": place, "doc": text} for place, text in enumerate(texts)]
    rules = ost.rules(HEAD % "coalesce(by(var V), -1)", functions=FUNCTIONS)
    assert rules.detect(events, document="doc")["v"].to_pylist() == [0, -1, -1]
    engine = rules.engine(document="doc")
    live = [*[engine.push([event]) for event in events], engine.flush()]
    assert [value for table in live for value in table["v"].to_pylist()] == [0, -1, -1]


def test_in_aggregates_recursion_and_conditions_on_groups() -> None:
    text = """DETECT d { v { sum(each by(var V)) } } ON event e: a {{ v {{ var V }} }} where { max(all by(var V)) > 0 }
    END DETECT n { v { halved(var V) } } ON or { event e: d {{ v {{ var V }} }}, event e: n {{ v {{ var V }} }}
    } where { halved(var V) > 0.4 } END"""
    rules = ost.rules(text, functions=FUNCTIONS)
    events = [{**row, "begin": row["ts"], "end": row["ts"]} for row in rows(4, 5, 6)]
    found = rules.detect([{key: row[key] for key in ("type", "begin", "end", "v")} for row in events])
    strata = [list(group.rules) for groups in rules._plan.strata.strata for group in groups]
    assert events_in(found) == derived_events(strata, events_of(events), ticks_per_second=1)
    engine = rules.engine()
    assert events_in(pa.concat_tables([engine.push(events), engine.flush()])) == events_in(found)
    assert {"d", "n"} == set(found["type"].to_pylist())


def test_what_fails_is_said_alike() -> None:
    def failing(value: int) -> int:
        raise ValueError(f"no {value}")

    for given, message in (
        (failing, r"f\(7\) failed: ValueError: no 7"),
        (UserFunction(str, (int,), int), "f gives int, and gave '7'"),
        (UserFunction(str, (int,), bool), "f gives bool, and gave '7'"),
        (UserFunction(bool, (int,), float), "f gives float, and gave True"),
    ):
        rules = ost.rules(HEAD % "f(var V)", functions={"f": given})
        with pytest.raises(DataError, match=message):
            rules.detect(rows(7))
        engine = rules.engine()
        engine.push(rows(7))
        with pytest.raises(DataError, match=message):
            engine.flush()


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("halve(var V)", "unknown function `halve`\n.*\n.*\nfix: did you mean `halved`"),
        ("xyz(var V)", "unknown function `xyz`\n.*\n.*\nfix: give a function of your own in Python"),
        ("by()", r"by takes 1 to 2 arguments, found none\n.*\n.*\nfix: it is by\(int, int\) -> int"),
        ("longer('x')", "longer takes 2 arguments, found 1"),
        ("halved('x')", r"halved takes \(float\), and `'x'` is a string\n.*\n *\^\^\^"),
    ],
)
def test_calls_that_do_not_fit(expression: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        ost.rules(HEAD % expression, functions=FUNCTIONS)


def test_columns_that_do_not_fit() -> None:
    rules = ost.rules(HEAD % "halved(var V)", functions=FUNCTIONS)
    with pytest.raises(QueryError, match=r"halved takes \(float\), and `V` is a string\n.*\n *\^\^\^\^\^"):
        rules.detect(rows("x"))


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ([halved], "functions by name"),
        ({"a b": halved}, "a name of letters, digits and _"),
        ({"ABS": halved}, "rules have abs already"),
        ({"end": halved}, "rules have end already"),
        ({"f": halved, "F": halved}, "upper and lower case are the same"),
        ({"f": 3}, "a function with annotations"),
        ({"f": lambda value: value}, "`value` has none of these"),
        ({"f": max}, "a function with annotations"),
        ({"f": dict.fromkeys}, "give"),
    ],
)
def test_functions_that_cannot_be_used(functions: Any, message: str) -> None:
    with pytest.raises(OstinatoError, match=message):
        ost.rules(HEAD % "f(var V)", functions=functions)


def test_signatures_that_cannot_be_used() -> None:
    def nothing() -> int:
        return 1

    def untold(value: int):  # type: ignore[no-untyped-def]
        return value

    def many(*values: int) -> int:
        return sum(values)

    for function, message in (
        (nothing, "at least one argument"),
        (untold, "its result a type"),
        (many, r"`\*values: 'int'` has none"),
    ):
        with pytest.raises(OstinatoError, match=message):
            ost.rules(HEAD % "f(var V)", functions={"f": function})
    for takes, gives, message in (
        ((), int, "at least one type"),
        ((list,), int, "a list of types"),
        ((int,), set, "a type: int"),
    ):
        with pytest.raises(OstinatoError, match=message):
            UserFunction(len, takes, gives)
    with pytest.raises(OstinatoError, match="give a function"):
        UserFunction(3, (int,), int)  # type: ignore[arg-type]


class _Scaled:
    """A function that is an object, with a state of its own."""

    def __init__(self, factor: float) -> None:
        self.factor = factor

    def __call__(self, value: float) -> float:
        return self.factor * value


def test_programs_have_functions_of_their_own() -> None:
    """They may have the same names: one does not see those of another."""
    found = [ost.rules(HEAD % "f(var V)", functions={"f": _Scaled(factor)}).detect(rows(2)) for factor in (2.0, 3.0)]
    assert [table["v"].to_pylist() for table in found] == [[4.0], [6.0]]


def test_deployed_rules_call_them_and_snapshots_name_them() -> None:
    engine = ost.rules(HEAD % "var V", functions=FUNCTIONS).engine()
    engine.push(rows(8))
    assert RuleEngine.restore(engine.snapshot()).flush()["v"].to_pylist() == [8]
    engine.deploy("half", "DETECT h { v { halved(var V) } } ON event e: a {{ v {{ var V }} }} END")
    saved = engine.snapshot()
    with pytest.raises(DataError, match=r"call halved\(float\) -> float, a function of yours\nfix: .*functions="):
        RuleEngine.restore(saved)
    with pytest.raises(DataError, match=r"and halved\(int, int\) -> int is given"):
        RuleEngine.restore(saved, functions={"halved": by})
    restored = RuleEngine.restore(saved, functions=FUNCTIONS)
    assert sorted(restored.push([{"type": "a", "ts": 5, "v": 4}])["v"].to_pylist()) == [4, 8]
    restored.undeploy("half")
    with pytest.raises(QueryError, match="unknown function `xyz`"):
        restored.deploy("more", HEAD % "xyz(var V)")
    restored.deploy("other", "DETECT h { v { by(var V) } } ON event e: a {{ v {{ var V }} }} END")
    assert sorted(restored.flush()["v"].to_pylist()) == [1, 4]
