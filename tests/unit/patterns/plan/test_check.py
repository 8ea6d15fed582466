"""Every fault that is found before a query runs: the place, the reason and the fix."""

from __future__ import annotations

import pytest

from ostinato.core.types import StructKind
from ostinato.errors import QueryError
from ostinato.patterns.plan.check import check_query, check_schema
from ostinato.patterns.syntax.cel.parse import parse

KINDS = {
    "id": "number",
    "temp": "number",
    "name": "string",
    "ok": "boolean",
    "at": "timestamp",
    "day": "date",
    "took": "duration",
    "blob": "binary",
    "tags": "nested",
    "nothing": "null",
    "place": StructKind({"city": "string", "at": StructKind({"lat": "number"})}),
    "a.b": "number",
}


def plain(marked: str) -> str:
    return marked.replace("«", "").replace("»", "")


def assert_fault(error: QueryError, marked: str, reason: str, fix: str) -> None:
    """The error points at the part of the text between « and »."""
    assert reason in error.reason
    assert fix in (error.fix or "")
    assert error.text == plain(marked)
    assert error.span is not None
    assert error.text[error.span.start : error.span.end] == marked[marked.index("«") + 1 : marked.index("»")]


FAULTS = [
    # Filters: not well-formed.
    ("(H AS x) FILTER «y.value» <= 30", "variable `y` is not bound anywhere", "`x`"),
    ("(H AS x1 ; T AS z) FILTER «x2.v» > 3", "variable `x2` is not bound anywhere", "did you mean `x1`"),
    ("(T ; H) FILTER «T.v» > 3", "variable `T` is not bound anywhere", "T AS x"),
    ("H FILTER «x.v» > 3", "variable `x` is not bound anywhere", "T AS x"),
    ("T+ UNTIL H AS y ; K FILTER «y.v» > 3", "`y` is the event that ends a loop", "UNTIL (H AS y FILTER …)"),
    ("(H AS x)+ FILTER «x.v» > 3", "`x` is bound only inside a loop", "inside the brackets of the loop"),
    (
        "(A AS y ; (H AS x)+) FILTER y.v > 3 AND «x.v» > 3",
        "`x` is bound only inside a loop",
        "inside the brackets of the loop",
    ),
    ("(T AS x OR H AS y) FILTER «x.v» > 3", "`x` is bound in only one branch", "inside that branch"),
    ("T AS x OR (H AS y FILTER «x.v» > 3)", "`x` is not bound where this condition stands", "where x is defined"),
    ("(T AS x)+ ; (H AS y FILTER «x.v» > 3)", "`x` is not bound where this condition stands", "where x is defined"),
    # Inside the +, x is the + 's own x, which one branch leaves open.
    ("A AS x ; ((A AS x ; B) OR C FILTER «x.v» > 1)+", "`x` is bound in only one branch", "every branch"),
    ("T AS x ; NOT H AS y ; K FILTER «y.v» > 3", "must not come", "(NOT H AS y FILTER …)"),
    ("T AS x ; (NOT H AS y FILTER «z.v» > 3) ; K", "variable `z` is not bound anywhere", "`x`"),
    # Filters: not conditions on events.
    ("T AS x FILTER «x» > 3", "`x` is a whole event", "x.attr"),
    ("T AS x FILTER «temp» > 3", "`temp` has no variable", "x.temp"),
    ("T AS x FILTER «sum(x.v)» > 3", "sum(…) cannot be used in FILTER", "SELECT"),
    (
        "T AS x ; (H AS y FILTER y.v > «prev(x.v)»)+",
        "prev(…) cannot be used in FILTER",
        "(T AS x FILTER prev(x.attr) …)+",
    ),
    ("(T AS x)+ FILTER «sum(x.v)» > 3", "no event after it can test it", "after the loop"),
    ("(T AS x)+ FILTER «count(x)» > 3", "no event after it can test it", "(T AS x){3,}"),
    ("((T AS x)+ AND H AS y) FILTER y.v > «sum(x.v)»", "no event after it can test it", "after the loop"),
    ("(T AS x)+ UNTIL (H AS y FILTER y.v > «sum(x.v)»)", "what must not come cannot be compared", "single events"),
    ("(T AS x)+ ; H AS y FILTER y.v > «prev(x.v)»", "stands in a condition inside the loop", "last(x.…)"),
    ("(T AS x)+ ; H AS y FILTER «count(DISTINCT x.v)» > 3", "all values would", "SELECT"),
    ("(T AS x)* ; H AS y FILTER y.v > «max(x.v)»", "a loop that may be missing here", "surely ended"),
    ("((T AS x)+ ; H)+ ; K AS y FILTER y.v > «max(x.v)»", "in a round of another one", "in the same round"),
    ("(T AS x)+ ; (H AS x)+ ; K AS y FILTER y.v > «max(x.v)»", "`x` is in several loops", "a name of their own"),
    ("(T AS x OR H)+ ; K AS y FILTER y.v > «max(x.v)»", "not in every round", "in every branch"),
    ("(T AS x FILTER «count(DISTINCT x.v)» < 3)+", "all values would have to be remembered", "prev"),
    ("(T AS x OR H AS y FILTER «prev(x.v)» > 3)+", "`x` is not in every round of the loop", "every branch"),
    ("(H AS y ; (T AS x FILTER «prev(x.v)» > 3)?)+", "`x` is not in every round of the loop", "optional"),
    (
        "(NOT (H AS n FILTER n.v > «prev(x.v)») FOR 5 s ; T AS x)+",
        "cannot be compared with earlier rounds",
        "leave FOR out",
    ),
    ("(T AS x FILTER «sum(x)» > 3)+", "sum needs an attribute", "sum(x.attr)"),
    ("(T AS x FILTER sum(«max(x.v)») > 3)+", "an aggregate cannot stand inside another", "own"),
    ("(T AS x ; H AS y FILTER sum(«x.v + y.v») > 3)+", "aggregates the events of one variable", "on its own"),
    ("SELECT «prev(x.v)» WHERE (T AS x)+", "prev(…) stands in a FILTER inside a loop", "last"),
    ("T AS x FILTER «3»", "FILTER needs a condition", "compare it"),
    ("T AS x FILTER «x.v + 1»", "FILTER needs a condition", "x.v + 1 = …"),
    ("T AS x FILTER «'a' > 3»", "a string and a number cannot be compared", "'3'"),
    ("T AS x FILTER NOT «'a'»", "NOT needs conditions", "compare it"),
    ("T AS x FILTER x.v LIKE «x.w»", "pattern of LIKE must be a constant", "literal"),
    ("T AS x FILTER round(x.v, «x.w») > 3", "number of digits must be a constant", "literal"),
    ("T AS x FILTER x.v RLIKE «x.w»", "pattern of RLIKE must be a constant", "literal"),
    ("T AS x FILTER x.v RLIKE «'a(b'»", "not a regular expression: missing )", "RE2"),
    (r"T AS x FILTER x.v RLIKE «'(a)\1'»", "not a regular expression: invalid escape", "back references"),
    ("T AS x FILTER «'a' < 5 minutes»", "a string and a duration cannot be compared", ""),
    ("T AS x FILTER «TIMESTAMP '2026-01-01' < 5 min»", "a timestamp and a duration", "a difference of times"),
    ("T AS x FILTER CAST(«'a'» AS int) > 1", "'a' cannot be cast to int", ""),
    ("T AS x FILTER «CAST(5 minutes AS text)» = 'a'", "which cannot be cast to text", "text is made of a number"),
    ("T AS x FILTER CASE WHEN «3» THEN TRUE END", "WHEN needs a condition", "compare it"),
    ("SELECT «CASE WHEN x.a THEN 1 ELSE 'a' END» AS c WHERE T AS x", "cannot be values of one CASE", ""),
    ("T AS x FILTER «CASE WHEN x.a THEN 1 END»", "FILTER needs a condition", "compare it"),
    ("SELECT «count(DISTINCT x)» WHERE T AS x", "needs an attribute, not a whole event", "count(DISTINCT x.attr)"),
    ("T AS x FILTER «count(DISTINCT x.v)» > 3", "count(DISTINCT …) cannot be used in FILTER", "SELECT"),
    ("(T AS x ; H) AS g FILTER «g.v» > 3", "`g` is a group of events", "name the event in the group"),
    ("SELECT «g.v» + 1 AS n WHERE (T ; H) AS g", "since g is a group", "avg(g.v)"),
    ("SELECT count(«gg») WHERE T+ AS g", "unknown variable `gg`", "did you mean `g`"),
    ("T AS x FILTER «5 minutes»", "FILTER needs a condition", "compare it"),
    ("T AS x FILTER x.a < 2 * «5 minutes»", "`*` needs numbers, and `5 minutes` is a duration", ""),
    # NOT.
    ("«NOT T AS x»", "NOT needs events around it", "T AS x ; NOT H AS y ; T AS z"),
    ("«NOT T» ; H", "NOT cannot come first", "NOT H FOR 5 minutes"),
    ("«NOT T» ; NOT H", "NOT cannot come first", "NOT H FOR 5 minutes"),
    ("T ; «NOT H»", "NOT at the end needs a time limit", "WITHIN 10 minutes"),
    ("(T AS x ; «NOT H») FILTER x.v > 3", "NOT at the end needs a time limit", "WITHIN 10 minutes"),
    ("T ; «NOT H» WITHIN 10 EVENTS", "NOT at the end needs a time limit", "WITHIN 10 minutes"),
    ("T ; «NOT H» WITHIN 10 ON n", "NOT at the end needs a time limit", "WITHIN 10 minutes"),
    (
        "T ; «NOT H» WITHIN 10 s AFTER MATCH SKIP TO NEXT ROW",
        "AFTER MATCH SKIP cannot go with NOT at the end",
        "remove",
    ),
    ("T ; «NOT H FOR 10 s» AFTER MATCH SKIP PAST LAST ROW", "(SKIP PAST LAST ROW) cannot go with NOT", "remove it"),
    ("(T ; «NOT H FOR 10 s») OR K AFTER MATCH SKIP TO NEXT ROW", "AFTER MATCH SKIP cannot go with NOT", "remove AFTER"),
    ("T AS xx ; H AFTER MATCH SKIP TO LAST «xy»", "no event is called `xy`", "did you mean `xx`"),
    ("T ; «NOT H» WITHIN 10 s CONSUME BY ANY", "CONSUME BY ANY cannot go with NOT at the end", "remove it"),
    (
        "SELECT NXT * WHERE K OR (T ; «NOT H») WITHIN 10 s LIMIT 2",
        "NXT with NOT at the end of a branch of OR decides late",
        "let every match wait",
    ),
    ("T : «NOT H» : K", "NOT cannot stand next to `:`", "use `;`"),
    ("(T : «NOT H») : K", "NOT cannot stand next to `:`", "one event between the two that is no B"),
    ("T : «NOT (H ; K)» : K", "NOT cannot stand next to `:`", "A : (C AS c FILTER …)"),
    ("T ; «NOT H» : K", "NOT cannot stand next to `:`", "use `;`"),
    ("T -> «not H for 5 sec»", "NOT cannot stand next to `->`", "use `;` before NOT: A ; NOT B FOR 5 minutes"),
    ("T -> «NOT H» -> K", "NOT cannot stand next to `->`", "on both sides: A ; NOT B ; C"),
    ("T and «not H»", "NOT cannot be a part of AND", "A ; NOT C ; B"),
    ("T ; «NOT (H ; K)»", "at the end it takes a single event", "A ; NOT (B ; C) ; D"),
    ("T OR «NOT H»", "NOT cannot be a branch of OR", "between two parts"),
    ("(«NOT H»)+", "NOT cannot be what a loop repeats", "between two parts"),
    ("(T ; «NOT H»)+ WITHIN 10 s", "NOT can come last only in the outermost sequence", "between two parts"),
    ("K AND (T ; «NOT H») WITHIN 10 s", "NOT can come last only in the outermost sequence", "between two parts"),
    ("(T ; «NOT H») : K WITHIN 10 s", "NOT can come last only in the outermost sequence", "between two parts"),
    ("T ; ((«NOT H» ; K AS k) FILTER k.v > 1)", "NOT cannot come first", "move the FILTER"),
    ("((T AS t ; «NOT H») FILTER t.v > 1) : K", "NOT can come last only in the outermost", "between two parts"),
    # SELECT.
    ("SELECT «z» WHERE T AS x", "unknown variable `z` in SELECT", "`x`"),
    ("SELECT «tmp.v» WHERE T AS temp", "unknown variable `tmp` in SELECT", "did you mean `temp`"),
    ("SELECT «MAX» WHERE T AS x", "unknown variable `MAX`", "SELECT MAX *"),
    ("SELECT «y» WHERE T AS x ; NOT H AS y ; K", "must not come", "remove `y`"),
    ("SELECT sum(«max(x.v)») WHERE T AS x", "an aggregate cannot stand inside another", "items of their own"),
    ("SELECT «x.v» + 1 WHERE (T AS x)+", "`x.v` is a list of values", "avg(x.v)"),
    ("SELECT abs(«x.v») AS a WHERE (T AS x ; H AS y)+", "`x.v` is a list of values", "avg(x.v)"),
    ("SELECT «x» + 1 WHERE T AS x", "`x` is a whole event", "count(x)"),
    ("SELECT «sum(x)» WHERE T AS x", "sum needs an attribute", "sum(x.attr)"),
    ("SELECT sum(«x.v * y.v») WHERE T AS x ; H AS y", "this mentions 2", "each variable on its own"),
    ("SELECT sum(«x + 1») WHERE T AS x", "sum cannot take this", "sum(x.attr)"),
    ("SELECT «1 + 1» WHERE T AS x", "mentions no event", "select a variable"),
    # FROM.
    ("SELECT * FROM T, H WHERE T ; «Hh AS y»", "`Hh` is not in FROM", "did you mean `H`"),
    ("SELECT * FROM T WHERE T ; NOT «H» ; T", "`H` is not in FROM", "`T`"),
]


@pytest.mark.parametrize(("marked", "reason", "fix"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_faults(marked: str, reason: str, fix: str) -> None:
    query = parse(plain(marked))
    with pytest.raises(QueryError) as caught:
        check_query(query)
    assert_fault(caught.value, marked, reason, fix)


@pytest.mark.parametrize(
    "text",
    [
        "T",
        "(T AS x OR H AS x) FILTER x.v > 3",
        "T AS x ; (H AS y FILTER x.v > 3)+",
        "T AS x ; ((T AS x FILTER x.v > 3)+ ; H AS y FILTER x.v < 3)",
        "T AS x ; T AS x",
        "(A AS x) ; ((B AS x OR C AS c) FILTER x.v > 1)",
        "T ; (NOT H ; K)",
        "(T ; NOT H) ; K",
        "T ; NOT H ; NOT (K AS k FILTER k.v > 1) ; L",
        "(T ; NOT H ; K)+ ; (T : (K ; NOT H ; K))",
        "T ; NOT H WITHIN 1 s",
        "(T AS x ; NOT H ; NOT K) FILTER x.v > 1 PARTITION BY k WITHIN 1 s CONSUME BY NONE",
        "T AS x ; ((K AS k ; NOT H ; K) FILTER k.v > 1) ; L",
        "SELECT x, x.v, count(x), y.v + 1, sum(x.v) / count(x) AS mean WHERE (T AS x)+ ; H AS y",
        "SELECT * FROM T, H WHERE T ; NOT H ; ANY",
        "T AS x FILTER x.flag AND NOT (x.flag OR x.v IS NULL) AND x.v = NULL",
        "T AS x FILTER x.v LIKE concat('a', '%') AND round(x.v, 2) > 1",
    ],
)
def test_legal(text: str) -> None:
    check_query(parse(text))


SCHEMA_FAULTS = [
    ("T AS x FILTER «x.tmp» > 3", "unknown attribute `tmp` of T", "did you mean `temp`"),
    ("(T AS x OR H AS x) FILTER «x.tmp» > 3", "unknown attribute `tmp` of T or H", "did you mean `temp`"),
    ("ANY AS x FILTER «x.Temp» > 3", "unknown attribute `Temp` of any event", "did you mean `temp`"),
    ("T ; (NOT H AS x FILTER «x.tmp» > 3) ; T", "unknown attribute `tmp` of H", "did you mean `temp`"),
    ("SELECT «x.tmp» WHERE T AS x", "unknown attribute `tmp` of T", "did you mean `temp`"),
    ("SELECT count(«x.tmp») WHERE T AS x", "unknown attribute `tmp` of T", "did you mean `temp`"),
    ("T AS x FILTER «x.name > 3»", "a string and a number cannot be compared", "single quotes: '3'"),
    ("T AS x FILTER «x.temp = '3'»", "a number and a string cannot be compared", "without quotes: 3"),
    ("T AS x FILTER «x.temp BETWEEN '1' AND '2'»", "a number and a string cannot be compared", "without quotes: 1"),
    ("T AS x FILTER «x.at > '2026-01-01'»", "a timestamp and a string cannot be compared", "TIMESTAMP '2026-01-01'"),
    ("T AS x FILTER «'2026-01-01' < x.day»", "a string and a date cannot be compared", "TIMESTAMP '2026-01-01'"),
    ("T AS x FILTER «x.ok = 'true'»", "a boolean and a string cannot be compared", "TRUE or FALSE without quotes"),
    ("T AS x FILTER «x.ok = 1»", "a boolean and a number cannot be compared", "TRUE or FALSE"),
    ("T AS x FILTER «x.took > 3»", "a duration and a number cannot be compared", ""),
    ("T AS x FILTER «x.blob = 'a'»", "a binary and a string cannot be compared", ""),
    ("T AS x FILTER «x.name IN ('a', 3)»", "a string and a number cannot be compared", ""),
    ("T AS x FILTER «x.tags» = 1", "`x.tags` is nested data", "column of its own"),
    ("T AS x FILTER «x.place» = 1", "`x.place` is nested data", "x.place.city"),
    ("T AS x FILTER x.place.«town» = 'a'", "`x.place` has no field `town`", "`city`"),
    ("T AS x FILTER x.place.at.«lon» = 1", "`x.place.at` has no field `lon`", ""),
    ("T AS x FILTER «x.temp.low» = 1", "`x.temp` is a number, which has no fields", ""),
    ("T AS x FILTER «x.tags.a» = 1", "`x.tags` is nested data, which has no fields", ""),
    ("T AS x FILTER «x.a.b» = 1", "unknown attribute `a`, but there is `a.b`", "x.`a.b`"),
    ("T AS x FILTER «x.place.city > 1»", "a string and a number cannot be compared", ""),
    ("T AS x FILTER «x.took < 5»", "a duration and a number cannot be compared", "5 seconds"),
    ("T AS x FILTER «CAST(x.at AS int)» = 1", "`x.at` is a timestamp, which cannot be cast to int", "of a number"),
    ("T AS x FILTER «CAST(x.temp AS date)» = x.day", "a number, which cannot be cast to date", "timestamp"),
    ("SELECT «count(DISTINCT x.tags)» WHERE T AS x", "DISTINCT needs values that can be compared", ""),
    ("SELECT «coalesce(x.temp, 1 s)» AS c WHERE T AS x", "a number and a duration cannot stand in", ""),
    ("T AS x FILTER «x.took = x.temp»", "a duration and a number cannot be compared", ""),
    ("T AS x FILTER «x.at < 5 minutes»", "a timestamp and a duration cannot be compared", "x.at - y.ts < 5 minutes"),
    ("T AS x FILTER «x.at» + 5 > x.at", "`+` needs numbers, and `x.at` is a timestamp", "5 seconds"),
    ("T AS x FILTER «x.temp» RLIKE 'a'", "RLIKE needs text, and `x.temp` is a number", ""),
    ("T AS x FILTER «x.temp»", "FILTER needs a condition, and `x.temp` is a number", "x.temp = …"),
    ("T AS x FILTER x.ok AND «x.name»", "AND needs conditions, and `x.name` is a string", "x.name = …"),
    ("T AS x FILTER «x.name» + 1 = 2", "`+` needs numbers, and `x.name` is a string", "concat"),
    ("T AS x FILTER «x.at» * 2 = 2", "`*` needs numbers, and `x.at` is a timestamp", ""),
    ("T AS x FILTER -«x.name» = 2", "- needs a number, and `x.name` is a string", ""),
    ("T AS x FILTER abs(«x.name») = 2", "abs needs a number, and `x.name` is a string", ""),
    ("T AS x FILTER length(«x.temp») = 2", "length needs text, and `x.temp` is a number", ""),
    ("T AS x FILTER «x.temp» LIKE 'a'", "LIKE needs text, and `x.temp` is a number", ""),
    ("T AS x FILTER «coalesce(x.name, 3)» = 3", "cannot stand in for each other", "'3'"),
    ("SELECT sum(«x.name») WHERE T AS x", "sum needs numbers, and `x.name` is a string", ""),
    ("SELECT «max(x.tags)» WHERE T AS x", "max needs values that have an order", ""),
    ("SELECT upper(«x.temp») AS u WHERE T AS x", "upper needs text", ""),
    ("T PARTITION BY id, «idd»", "unknown attribute `idd` in PARTITION BY", "did you mean `id`"),
    ("T partition  by «tags»", "PARTITION BY needs plain values, and `tags` is nested data", "another attribute"),
    ("T AS tmp WITHIN 5 ON «tmp»", "unknown attribute `tmp` in WITHIN", "did you mean `temp`"),
    ("T WITHIN 5 ON «at»", "WITHIN … ON needs a number, and `at` is a timestamp", "WITHIN 10 minutes"),
    ("T WITHIN 5 ON «name»", "WITHIN … ON needs a number, and `name` is a string", ""),
]


@pytest.mark.parametrize(("marked", "reason", "fix"), SCHEMA_FAULTS, ids=[fault[0] for fault in SCHEMA_FAULTS])
def test_schema_faults(marked: str, reason: str, fix: str) -> None:
    query = parse(plain(marked))
    with pytest.raises(QueryError) as caught:
        check_schema(query, KINDS)
    assert_fault(caught.value, marked, reason, fix)


@pytest.mark.parametrize(
    "text",
    [
        "T AS x FILTER x.temp > 1 AND x.name = 'a' AND x.ok AND NOT x.ok = FALSE",
        "T AS x FILTER x.at >= TIMESTAMP '2026-01-01' AND x.day < TIMESTAMP '2026-01-01' AND x.at > x.day",
        "T AS x FILTER x.at - x.day > x.took AND x.at + x.took > x.at AND x.took + x.took > x.took",
        "T AS x FILTER x.nothing > 1 OR x.nothing = 'a' OR x.nothing OR x.nothing LIKE 'a'",
        "T AS x FILTER x.temp = NULL OR x.temp + NULL > 1 OR x.name IN ('a', NULL)",
        "T AS x FILTER x.tags IS NULL OR x.blob IS NOT NULL OR x.blob = x.blob",
        "T AS x FILTER length(concat(lower(x.name), 'a')) % 2 = round(sqrt(x.temp), 1)",
        "T AS x FILTER coalesce(x.nothing, x.temp, 0) > 1",
        "T AS x FILTER CASE WHEN x.ok THEN x.temp WHEN x.temp > 1 THEN 0 END > 1 AND CASE WHEN x.ok THEN x.ok END",
        "T AS x FILTER CAST(x.name AS timestamp) > CAST(x.at AS date) AND CAST(x.nothing AS int) = CAST(x.ok AS float)",
        "SELECT count(DISTINCT x.name), count(DISTINCT x.temp + 1) AS n, CAST(x.temp AS text) AS t WHERE (T AS x)",
        "T AS x FILTER x.took < 5 minutes AND abs(x.at - x.day) > -x.took AND x.at + 5 min > x.day - 1 d",
        "T AS x FILTER x.temp < 5 minutes AND x.temp - x.id IN (1 s, 2) AND 5 s + x.temp > 1 s",
        "T AS x FILTER x.place.at.lat > 1 AND x.place.city NOT RLIKE '^a' AND x.nothing.a IS NULL",
        "SELECT x.place.at.lat, first(x).place.city, max(x.place.at.lat), x.place.at WHERE T AS x",
        "SELECT x, x.tags, count(x), first(x).tags, max(x.name), min(x.at), avg(x.temp) WHERE T AS x",
        "T PARTITION BY id, name, ok, blob, nothing WITHIN 2.5 ON temp",
        "T WITHIN 2 ON nothing",
    ],
)
def test_legal_for_the_schema(text: str) -> None:
    check_query(parse(text))
    check_schema(parse(text), KINDS)


def test_event_types() -> None:
    check_schema(parse("T ; ANY ; NOT H ; T"), KINDS, {"T", "H"})
    with pytest.raises(QueryError) as caught:
        check_schema(parse("T ; Temp AS x"), KINDS, ["T", "Tempe"])
    assert_fault(caught.value, "T ; «Temp AS x»", "`Temp` is not among the event types", "did you mean `Tempe`")


def test_long_sums_are_checked_once() -> None:
    """Checking each operand twice would double the work at each of the ninety levels."""
    check_schema(parse("T AS x FILTER x.temp" + " + 1" * 90 + " > 0"), KINDS)


@pytest.mark.parametrize("word", ["MAX", "LAST"])
def test_a_strategy_in_brackets_is_an_aggregate_and_the_error_says_so(word: str) -> None:
    for space in ("", " ", "\n"):
        with pytest.raises(QueryError, match="needs an attribute, not a whole event") as error:
            check_query(parse(f"SELECT {word}{space}(x) WHERE A AS x"))
        assert f"the strategy {word} is written without brackets: SELECT {word} x" in (error.value.fix or "")
