"""Text to syntax tree."""

from __future__ import annotations

import pytest

from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.format import expression_text, pattern_text
from ostinato.sql.syntax.parse import parse


def clause(text: str) -> n.MatchRecognize:
    return parse(f"SELECT * FROM t MATCH_RECOGNIZE ({text})").clauses[0].match


def measure(text: str, pattern: str = "A B C", more: str = "SUBSET U = (A, B)") -> n.Sql:
    return clause(f"MEASURES {text} AS m PATTERN ({pattern}) {more}").measures[0].value


def test_the_whole_clause() -> None:
    text = """
        SELECT * FROM ticks AS t MATCH_RECOGNIZE (
            PARTITION BY sym, upper(x) ORDER BY ts DESC NULLS LAST, y
            MEASURES FIRST(ts) AS t0, price AS "Last price"
            ALL ROWS PER MATCH WITH UNMATCHED ROWS
            AFTER MATCH SKIP TO FIRST up
            PATTERN (strt down+ UP) WITHIN INTERVAL '1' HOUR
            SUBSET move = (down, up)
            DEFINE down AS price < PREV(price), Up AS true) AS m"""
    (found,) = parse(text).clauses
    match = found.match
    assert text[found.input.start : found.input.end] == "ticks AS t"
    assert text[found.place.start : found.place.end].startswith("ticks AS t MATCH") and text[found.place.end - 1] == ")"
    assert [expression_text(key.value) for key in match.partition_by] == ["sym", "upper(x)"]
    assert [(expression_text(k.value), k.descending, k.nulls) for k in match.order_by] == [
        ("ts", True, "LAST"), ("y", False, None),
    ]  # fmt: skip
    assert [each.name for each in match.measures] == ["t0", "Last price"]
    assert match.rows == "ALL ROWS WITH UNMATCHED"
    assert (match.skip.to, match.skip.variable) == ("FIRST", "UP")
    assert pattern_text(match.pattern) == "STRT DOWN+ UP"
    assert match.within is not None and expression_text(match.within) == "INTERVAL '1' HOUR"
    assert [(each.name, each.members) for each in match.subsets] == [("MOVE", ("DOWN", "UP"))]
    assert [each.name for each in match.definitions] == ["DOWN", "UP"]


def test_defaults() -> None:
    match = clause("ALL ROWS PER MATCH PATTERN (A)")
    assert match == n.MatchRecognize(n.Symbol("A"), rows="ALL ROWS SHOW EMPTY")
    assert clause("MEASURES 1 AS x PATTERN (A)").rows == "ONE ROW"


@pytest.mark.parametrize(
    "text",
    [
        "A B C", "A | B C | D", "(A | B) C", "A* B+? C{2} D{2,} E{,3}? F{1,2} G??", "(A B)+ C", "PERMUTE(A, B C, D*)",
        "{- A B -} C", "^ A $", "() | A", "(A+)*", "A {- {- B -} C -}", '"a b" C', "(()) | A", "^* A", "{- A -}+",
    ],
)  # fmt: skip
def test_patterns_there_and_back(text: str) -> None:
    pattern = clause(f"ALL ROWS PER MATCH PATTERN ({text})").pattern
    assert clause(f"ALL ROWS PER MATCH PATTERN ({pattern_text(pattern)})").pattern == pattern
    if text != "(()) | A":
        assert pattern_text(pattern).replace("{,3}?", "{0,3}?") == text.replace("{,3}?", "{0,3}?")


@pytest.mark.parametrize(
    ("sign", "expected"),
    [
        ("*", (0, None, True)), ("+?", (1, None, False)), ("??", (0, 1, False)), ("{3}", (3, 3, True)),
        ("{2,5}", (2, 5, True)), ("{2,}?", (2, None, False)), ("{,5}", (0, 5, True)), ("{ , } ?", (0, None, False)),
    ],
)  # fmt: skip
def test_quantifiers(sign: str, expected: tuple[int, int | None, bool]) -> None:
    repeat = clause(f"ALL ROWS PER MATCH PATTERN (A{sign})").pattern
    assert repeat == n.Repeat(n.Symbol("A"), *expected)


def test_names_of_variables_are_those_of_the_pattern() -> None:
    """Any case of letters names them; quoted ones keep theirs."""
    match = clause('ALL ROWS PER MATCH PATTERN (a "b" C) DEFINE A AS "B".x > c.x, b AS true')
    assert n.symbols(match.pattern) == ("A", "b", "C")
    assert [each.name for each in match.definitions] == ["A", "b"]
    terms = match.definitions[0].condition.terms
    assert [term.variable for term in terms if isinstance(term, n.Navigation)] == ["b", "C"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A.x", n.Navigation("A", n.Sql(("x",)))),
        ("LAST(A.x)", n.Navigation("A", n.Sql(("x",)))),
        ("FIRST(x + 1, 2)", n.Navigation(n.ALL, n.Sql(("x + 1",)), "FIRST", 2)),
        ("FINAL LAST(U.x)", n.Navigation("U", n.Sql(("x",)), mode="FINAL")),
        ("PREV(x)", n.Navigation(n.ALL, n.Sql(("x",)), step=-1)),
        ("NEXT(A.x, 3)", n.Navigation("A", n.Sql(("x",)), step=3)),
        ("PREV(FINAL FIRST(A.x + A.y, 1), 2)", n.Navigation("A", n.Sql(("x + y",)), "FIRST", 1, -2, "FINAL")),
        ("FIRST(PREV(x, 2), 1)", n.Navigation(n.ALL, n.Sql(("x",)), "FIRST", 1, -2)),
        ("CLASSIFIER()", n.Navigation(n.ALL, n.Sql((n.Classifier(),)))),
        ("CLASSIFIER(u)", n.Navigation("U", n.Sql((n.Classifier(),)))),
        ("PREV(CLASSIFIER(U))", n.Navigation("U", n.Sql((n.Classifier(),)), step=-1)),
        ("MATCH_NUMBER()", n.MatchNumber()),
        ("sum(A.x * 2)", n.Aggregate("A", "sum", n.Sql(("sum(x * 2)",)), (n.Sql(("x * 2",)),))),
        ("count(*)", n.Aggregate(n.ALL, "count", n.Sql(("count(*)",)))),
        ("COUNT(A.*)", n.Aggregate("A", "count", n.Sql(("COUNT(*)",)))),
        (
            "max_by(A.x, CLASSIFIER(A))",
            n.Aggregate(
                "A", "max_by", n.Sql(("max_by(x, ", n.Classifier(), ")")), (n.Sql(("x",)), n.Sql((n.Classifier(),)))
            ),
        ),
        ("FINAL sum(DISTINCT x)", n.Aggregate(n.ALL, "sum", n.Sql(("sum(DISTINCT x)",)), (), False, "FINAL")),
        (
            "list(A.x ORDER BY A.y) FILTER (WHERE A.z)",
            n.Aggregate("A", "list", n.Sql(("list(x ORDER BY y) FILTER (WHERE z)",)), (), False),
        ),
    ],
)
def test_terms(text: str, expected: n.Term) -> None:
    assert measure(text).parts == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        "x + 1", "t.x", "x.a.b", "lower(x) || 'A.x'", "CAST(x AS INTEGER)", "x::DECIMAL(10, 2)", "INTERVAL '1' DAY",
        "list_transform(xs, lambda A: A.x)", "(SELECT max(y) FROM u)", "'first(x)'", '"A.x"', "s.prev",
        "running + final", "CASE WHEN x THEN 1 ELSE 2 END", "x /* A.x */ + 1",
    ],
)  # fmt: skip
def test_what_is_the_engines_stays_text(text: str) -> None:
    assert measure(text).parts == (text,)


def test_terms_among_text() -> None:
    assert measure("1 + A.x.v * 2").parts == ("1 + ", n.Navigation("A", n.Sql(("x",))), ".v * 2")


def test_a_name_of_a_lambda_hides_a_variable_up_to_the_end_of_its_argument() -> None:
    parts = measure("f(lambda A, b: A.x + B.x, A.x)").parts
    assert parts == ("f(lambda A, b: A.x + B.x, ", n.Navigation("A", n.Sql(("x",))), ")")


def test_parts_come_in_any_order_and_are_names_elsewhere() -> None:
    match = clause(
        "DEFINE A AS measures > subset PATTERN (A) MEASURES define AS within, measures AS pattern ORDER BY x"
    )
    assert [each.name for each in match.measures] == ["within", "pattern"]
    assert expression_text(match.definitions[0].condition) == "measures > subset"


def test_what_a_clause_reads() -> None:
    clause = "MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A))"
    text = f"""WITH a AS (SELECT 1), b(x) AS MATERIALIZED (SELECT * FROM a {clause})
               SELECT * FROM c, (SELECT * FROM b WHERE x IN (1, 2)) AS s(y) {clause},
                    d JOIN e ON d.x = e.x {clause} {clause}"""
    query = parse(text)
    reads = [" ".join(text[each.input.start : each.input.end].split())[:60] for each in query.clauses]
    assert reads == [
        "a",
        "(SELECT * FROM b WHERE x IN (1, 2)) AS s(y)",
        "d JOIN e ON d.x = e.x",
        "d JOIN e ON d.x = e.x MATCH_RECOGNIZE (MEASURES 1 AS x PATTE",
    ]
    scopes = [[text[s.definitions.start : s.definitions.end] for s in each.scopes] for each in query.clauses]
    assert scopes[0] == ["a AS (SELECT 1)"] and scopes[1][0].endswith("PATTERN (A)))")


def test_common_table_expressions_of_queries_around() -> None:
    text = """WITH RECURSIVE a AS (SELECT 1) SELECT * FROM (
                  WITH b AS (SELECT 2), c AS (SELECT 3)
                  SELECT * FROM b MATCH_RECOGNIZE (MEASURES 1 AS x PATTERN (A)))"""
    (found,) = parse(text).clauses
    assert [(text[s.definitions.start : s.definitions.end], s.recursive) for s in found.scopes] == [
        ("a AS (SELECT 1)", True), ("b AS (SELECT 2), c AS (SELECT 3)", False),
    ]  # fmt: skip
