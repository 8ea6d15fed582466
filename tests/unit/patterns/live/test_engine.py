"""An engine for many queries: what it takes, what it gives, and that queries do not disturb each other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.patterns.live import shared_queries

SCHEMA = pa.schema(
    {"ts": pa.int64(), "type": pa.string(), "k": pa.int64(), "v": pa.float64(), "w": pa.string()}.items()
)
BURST = ost.cel("SELECT x.v AS v, y.w AS w WHERE A AS x ; B AS y FILTER x[v > 10] WITHIN 10 seconds")
PAIR = ost.cel("C ; B")
QUIET = ost.cel("A AS x ; NOT B FOR 5 seconds")


def event(kind: str, ts: int, **attributes: Any) -> dict[str, Any]:
    return {"type": kind, "ts": ts} | attributes


def test_matches_name_their_query() -> None:
    live = ost.engine({"burst": BURST, "pair": PAIR})
    live.push([event("A", 1, v=20.0), event("C", 2)])
    matches = live.push(event("B", 3, w="yes"))
    assert len(matches) == 2 and matches.counts() == {"burst": 1, "pair": 1}
    assert list(matches) == [
        {"query": "burst", "v": 20.0, "w": "yes"},
        {"query": "pair", "start": 2, "end": 3, "positions": [1, 2]},
    ]
    assert matches.to_arrow().to_pylist()[0] == {
        "query": "burst", "v": 20.0, "w": "yes", "start": None, "end": None, "positions": None,
    }  # fmt: skip
    assert repr(matches) == "<2 matches: burst: 1, pair: 1>"
    assert live.push(event("D", 4)).to_arrow().column_names == ["query", "v", "w", "start", "end", "positions"]


def test_one_query_needs_no_name() -> None:
    live = ost.engine(PAIR, schema=SCHEMA)
    assert live.queries == ["query"]
    assert not len(live.push((1, "C", None, None, None)))
    assert [match["positions"] for match in live.push([(2, "B", 1, 1.0, "x"), event("B", 3)])] == [[0, 1], [0, 2]]


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        ((1, "A"), "has 2 values, and the stream has 5 columns"),
        (event("A", 3, v="much"), "'much' as a scalar of type double"),
        ({"type": "A"}, "no column `ts`"),
        ([event("B", 1), 3], "events are"),
    ],
)
def test_what_is_no_event(batch: Any, message: str) -> None:
    live = ost.engine({"burst": BURST}, schema=SCHEMA)
    with pytest.raises(ost.DataError, match=message):
        live.push(batch)
    assert live.stats().events == 0


def test_a_tuple_needs_columns() -> None:
    with pytest.raises(ost.DataError, match="the columns are not known yet"):
        ost.engine(PAIR).push((1, "A"))


def test_bad_options() -> None:
    options: list[dict[str, Any]] = [
        {"queries": 3}, {"queries": {"a": "A ; B"}}, {"queries": PAIR, "schema": 1}, {"queries": PAIR, "limits": 2},
    ]  # fmt: skip
    for each in options:
        with pytest.raises(ost.OstinatoError, match=r"queries|schema|limits"):
            ost.engine(**each)


def test_a_query_that_does_not_fit_the_columns_is_named() -> None:
    live = ost.engine({"good": PAIR, "bad": ost.cel("A AS x FILTER x.missing > 1")})
    batch = pa.Table.from_pylist([event("C", 1, v=1.0)])
    with pytest.raises(ost.QueryError, match="bad: unknown attribute"):
        live.push(batch)
    live.remove("bad")
    assert live.push(batch).counts() == {}
    assert live.push(event("B", 2)).counts() == {"good": 1}
    with pytest.raises(ost.QueryError, match="worse: unknown attribute"):
        live.add("worse", ost.cel("A AS x FILTER x.missing > 1"))
    assert live.queries == ["good"]


def test_queries_come_and_go() -> None:
    live = ost.engine({"pair": PAIR}, schema=SCHEMA)
    live.push(event("C", 1))
    live.add("burst", BURST)
    live.add("again", PAIR)
    with pytest.raises(ost.OstinatoError, match="there is a query 'pair' already"):
        live.add("pair", BURST)
    live.push([event("A", 2, v=30.0), event("C", 3)])
    matches = live.push(event("B", 4))
    live.remove("pair")
    assert matches.counts() == {"pair": 2, "burst": 1, "again": 1}
    assert [match["positions"] for match in matches if match["query"] == "pair"] == [[2, 3], [0, 3]]
    assert live.push(event("B", 5)).counts() == {"burst": 1, "again": 1}
    live.add("pair", PAIR)
    assert live.push([event("C", 6), event("B", 7)]).counts() == {"burst": 1, "again": 2, "pair": 1}
    with pytest.raises(ost.OstinatoError, match="there is no query 'gone'"):
        live.remove("gone")


@pytest.mark.parametrize("many", ["A+ ; B", "SELECT MAX * WHERE A+ ; B ; NOT C FOR 1 second"])
@pytest.mark.parametrize("single", [True, False])
def test_a_query_that_reaches_a_limit_is_stopped_and_the_others_go_on(many: str, single: bool) -> None:
    live = ost.engine({"many": ost.cel(many), "pair": PAIR}, limits=ost.Limits(matches=100), schema=SCHEMA)
    rows = [event("A", ts) for ts in range(12)] + [event("C", 12), event("B", 13), event("D", 20)]
    found: dict[str, int] = {}
    for piece in rows if single else [rows]:
        for name, count in live.push(piece).counts().items():
            found[name] = found.get(name, 0) + count
    assert found == {"pair": 1}
    assert live.queries == ["pair"]
    stopped = live.stats().queries["many"].stopped
    assert stopped is not None and "limit matches=100" in stopped
    live.remove("many")
    assert list(live.stats().queries) == ["pair"]


def test_a_push_says_which_queries_it_stopped() -> None:
    live = ost.engine({"many": ost.cel("A+ ; B"), "pair": PAIR}, limits=ost.Limits(matches=100), schema=SCHEMA)
    assert live.push([event("A", ts) for ts in range(12)]).stopped == {}
    matches = live.push(event("B", 13))
    assert list(matches.stopped) == ["many"] and "limit matches=100" in matches.stopped["many"]
    assert live.push(event("B", 14)).stopped == {}
    stats = live.stats().queries["many"]
    assert (stats.matches, stats.events) == (0, 13)  # those that were dropped do not count


def test_options_of_other_types() -> None:
    live = ost.engine({"pair": PAIR}, schema=SCHEMA)
    with pytest.raises(ost.OstinatoError, match="limits cannot be 5"):
        live.add("more", PAIR, limits=5)  # type: ignore[arg-type]
    with pytest.raises(ost.DataError, match="the source is a NoneType"):
        asyncio.run(anext(live.stream(None)))  # type: ignore[arg-type]


def test_a_value_that_does_not_fit_is_told_by_its_column() -> None:
    live = ost.engine({"high": ost.cel("A AS x FILTER x.v > 1")})
    live.push({"type": "A", "ts": 1, "v": 3})
    with pytest.raises(ost.DataError, match=r"`v` is int64 in this stream.*3\.5"):
        live.push({"type": "A", "ts": 2, "v": 3.5})
    assert live.stats().events == 1


def test_limits_of_one_query() -> None:
    live = ost.engine({"pair": PAIR}, schema=SCHEMA)
    live.add("few", PAIR, limits=ost.Limits(matches=1))
    live.push([event("C", 1), event("C", 2)])
    assert live.push(event("B", 3)).counts() == {"pair": 2}
    assert live.stats().queries["few"].stopped


def test_statistics() -> None:
    live = ost.engine({"burst": BURST, "pair": PAIR, "quiet": QUIET}, schema=SCHEMA)
    live.push([event("A", 1, v=20.0), event("C", 2), event("D", 2), event("B", 3)])
    stats = live.stats()
    assert stats.events == 4 and stats.late == 0
    assert {name: (each.events, each.matches) for name, each in stats.queries.items()} == {
        "burst": (2, 1), "pair": (2, 1), "quiet": (2, 0),
    }  # fmt: skip
    assert all(each.bytes > 0 and each.seconds > 0 and each.stopped is None for each in stats.queries.values())


def test_time_passes_for_all_queries() -> None:
    live = ost.engine({"quiet": QUIET, "pair": PAIR}, lateness="2 seconds", schema=SCHEMA)
    assert live.due() is None
    live.push([event("C", 5), event("A", 4)])
    assert live.due() == 4
    assert not len(live.push(event("B", 3)))
    assert live.push(event("A", 9)).counts() == {}
    assert live.advance(to=16).counts() == {"quiet": 2}
    assert live.due() is None
    assert live.flush().counts() == {}
    with pytest.raises(ost.OstinatoError, match="was flushed"):
        live.push(event("B", 20))


def test_late_events_are_collected() -> None:
    live = ost.engine({"pair": PAIR}, on_late="collect", schema=SCHEMA)
    live.push([event("C", 5)])
    assert not len(live.push(event("B", 3)))
    assert live.stats().late == 1 and live.late_events()["ts"].to_pylist() == [3]
    strict = ost.engine({"pair": PAIR}, on_late="raise", schema=SCHEMA)
    strict.push(event("C", 5))
    with pytest.raises(ost.DataError, match="1 of 1 events came later"):
        strict.push(event("B", 3))


def test_a_column_without_values_gets_its_type_later() -> None:
    live = ost.engine({"burst": BURST, "pair": PAIR, "quiet": ost.cel("SELECT LAST x.v AS v WHERE A AS x ; B")})
    live.push(event("C", 1))
    live.push(event("A", 2, v=20.5))
    assert list(live.push(event("B", 3, w="x"))) == [
        {"query": "burst", "v": 20.5, "w": "x"},
        {"query": "pair", "start": 1, "end": 3, "positions": [0, 2]},
        {"query": "quiet", "v": 20.5},
    ]


def test_types_that_are_numbers() -> None:
    live = ost.engine({"pair": ost.cel("`3` AS x ; `4` AS y")})
    live.push([{"ts": 1, "type": 3}, {"ts": 2, "type": 5}])
    assert len(live.push({"ts": 3, "type": 4})) == 1


def test_a_stream_without_types_or_time() -> None:
    live = ost.engine({"rise": ost.cel("E AS x ; E AS y FILTER x[v > 10] AND y[v > 20]"), "any": ost.cel("ANY AS x")})
    assert live.push(pa.table({"v": [11, 30]})).counts() == {"rise": 1, "any": 2}
    assert live.push({"v": 5}).counts() == {"any": 1}
    assert live.push({"v": 50}).counts() == {"rise": 2, "any": 1}
    with pytest.raises(ost.DataError, match="no time column"):
        live.advance(to=1)


def test_memory_is_bounded_by_windows() -> None:
    live = ost.engine({f"q{n}": ost.cel(f"A ; B PARTITION BY k WITHIN {n} EVENTS") for n in range(1, 4)}, schema=SCHEMA)
    sizes = []
    for step in range(12):
        first = 10_000 * step
        rows = {"ts": range(first, first + 10_000), "type": ["A"] * 10_000, "k": range(first, first + 10_000)}
        empty = {"v": pa.nulls(10_000, pa.float64()), "w": pa.nulls(10_000, pa.string())}
        live.push(pa.table({name: pa.array(values) for name, values in rows.items()} | empty, schema=SCHEMA))
        stats = live.stats()
        sizes.append(stats.bytes + sum(each.bytes for each in stats.queries.values()))
    assert sizes[-1] <= 2 * max(sizes[:6])


def test_snapshots() -> None:
    live = ost.engine({"burst": BURST, "quiet": QUIET, "by key": ost.cel("A ; B PARTITION BY k WITHIN 9 EVENTS")})
    assert ost.LiveEngine.restore(live.snapshot()).queries == live.queries
    live.push([event("A", 1, v=20.0, k=1, w=None), event("A", 2, v=30.0, k=2, w=None)])
    saved = live.snapshot()
    for engine in (live, ost.LiveEngine.restore(saved), ost.LiveEngine.restore(saved)):
        assert engine.push(event("B", 3, k=2, w="x")).counts() == {"burst": 2, "by key": 1}
        assert engine.stats().queries["by key"].matches == 1
    assert ost.Engine.restore(saved).push(event("B", 3, k=2, w="x")).counts() == {"burst": 2, "by key": 1}
    with pytest.raises(ost.DataError, match="snapshot of an Engine"):
        ost.LiveEngine.restore(PAIR.engine().snapshot())


def test_an_asynchronous_source() -> None:
    asked: list[int] = []

    async def source() -> AsyncIterator[Any]:
        for ts, kind in enumerate("CBCB"):
            asked.append(ts)
            yield event(kind, ts)

    async def read() -> list[Any]:
        live, found = ost.engine(PAIR, schema=SCHEMA), []
        async for match in live.stream(source()):
            found.append((match["positions"], max(asked)))  # nothing is asked for ahead
        with pytest.raises(ost.OstinatoError, match="was flushed"):
            live.push(event("B", 9))
        return found

    assert asyncio.run(read()) == [([0, 1], 1), ([2, 3], 3), ([0, 3], 3)]


def test_an_asynchronous_stream_over_a_list_lets_others_go_on() -> None:
    order: list[str] = []

    async def read() -> None:
        live = ost.engine(PAIR, schema=SCHEMA)
        async for _ in live.stream([event("C", 1), event("B", 2), [event("B", 3)]], flush=False):
            order.append("match")
        live.push(event("B", 4))

    async def other() -> None:
        for _ in range(3):
            order.append("other")
            await asyncio.sleep(0)

    async def both() -> None:
        await asyncio.gather(read(), other())

    asyncio.run(both())
    assert order.index("match") < len(order) - 1 - order[::-1].index("other")


def test_threads_may_push_at_once() -> None:
    live = ost.engine({"by key": ost.cel("A ; B PARTITION BY k"), "all": ost.cel("C AS x")}, schema=SCHEMA)
    found: list[dict[str, int]] = []

    def push(key: int) -> None:
        for _ in range(200):
            for kind in "ABC":
                found.append(live.push({"ts": 1, "type": kind, "k": key}).counts())

    threads = [Thread(target=push, args=(key,)) for key in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert live.stats().events == 4 * 600
    assert sum(each.get("all", 0) for each in found) == 4 * 200
    assert sum(each.get("by key", 0) for each in found) == 4 * sum(range(1, 201))


def test_a_query_that_begins_with_the_past() -> None:
    live = ost.engine({"pair": PAIR}, schema=SCHEMA)
    past = [event("A", 1, v=20.0), event("C", 2), event("A", 3, v=5.0), event("A", 4, v=30.0)]
    live.push(past)
    live.add("burst", BURST, since=past)
    live.add("by key", ost.cel("A ; B PARTITION BY k WITHIN 3 EVENTS"), since=past)
    live.add("quiet", QUIET, since=past[3:])
    assert list(live.push(event("B", 5, w="x"))) == [
        {"query": "pair", "start": 2, "end": 5, "positions": [1, 4]},
        {"query": "burst", "v": 30.0, "w": "x"},
        {"query": "burst", "v": 20.0, "w": "x"},
        {"query": "by key", "k": None, "start": 4, "end": 5, "positions": [3, 4]},
        {"query": "by key", "k": None, "start": 3, "end": 5, "positions": [2, 4]},
    ]
    fresh = ost.engine({}, schema=SCHEMA)
    fresh.add("burst", BURST, since=past)
    assert [match["v"] for match in fresh.push(event("B", 5))] == [30.0, 20.0]
    many, other = [event("A", ts) for ts in range(8)], ost.engine({}, schema=SCHEMA)
    with pytest.raises(ost.LimitError):
        other.add("many", ost.cel("A+ ; A"), since=many, limits=ost.Limits(matches=10))
    assert other.queries == []


def test_a_stopped_query_is_not_run_again_in_the_same_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_queries, "_PAIRS", 8)
    live = ost.engine({"many": ost.cel("A+ ; B"), "pair": PAIR}, limits=ost.Limits(matches=20), schema=SCHEMA)
    rows = [event("A", 1)] * 6 + [event("B", 1), event("C", 1)] + [event("A", 1), event("B", 1)] * 20
    assert live.push([*rows, *([event("D", 1)] * 64)]).counts() == {"pair": 20}
    assert live.queries == ["pair"]


GOOD = ost.cel("A AS x")


def refusals(live: Any, batches: list[Any]) -> list[tuple[dict[str, int], dict[str, str]]]:
    return [(matches.counts(), dict(matches.stopped)) for matches in map(live.push, batches)]


@pytest.mark.parametrize("form", [lambda each: each, lambda each: [each], lambda each: pa.Table.from_pylist([each])])
@pytest.mark.parametrize(
    ("query", "values", "reason"),
    [
        ("A AS x FILTER CAST(x.s AS INT) > 3", ["7", "q", "8"], "row 1: bad: 'q' cannot be cast to int"),
        ("SELECT CAST(x.s AS INT) AS s WHERE A AS x", ["7", "q", "8"], "bad: 'q' cannot be cast to int"),
        ("SELECT x.s * x.s AS s WHERE A AS x", [7, 2**62, 8], "bad: a value of `s` is too large"),
        ("SELECT x.s * x.s AS s WHERE A AS x LIMIT 5", [7, 2**62, 8], "bad: a value of `s` is too large"),
    ],
)
def test_an_event_that_does_not_fit_one_query_stops_that_one(
    form: Callable[[Any], Any], query: str, values: list[Any], reason: str
) -> None:
    live = ost.engine({"bad": ost.cel(query), "good": GOOD})
    first, second, third = refusals(live, [form(event("A", ts, s=value)) for ts, value in enumerate(values)])
    assert first == ({"bad": 1, "good": 1}, {}) and third == ({"good": 1}, {})
    assert second[0] == {"good": 1} and reason in second[1]["bad"] and live.queries == ["good"]
    stats = live.stats()
    assert stats.events == 3 and stats.queries["good"].matches == 3 and stats.queries["bad"].matches == 1
    assert stats.queries["bad"].stopped == second[1]["bad"]
    other = ost.Engine.restore(live.snapshot())
    assert other.stats().queries["bad"].stopped == second[1]["bad"] and other.push(form(event("A", 9, s=values[0])))


def test_a_query_can_be_added_again_after_an_event_that_did_not_fit() -> None:
    query = ost.cel("SELECT x.s * y.s AS s WHERE A AS x ; B AS y")
    live = ost.engine({"bad": query})
    (_, stopped), (counts, _) = refusals(live, [[event("A", 0, s=2**62), event("B", 1, s=2)], event("B", 2, s=1)])
    assert list(stopped) == ["bad"] and not counts and not live.queries
    live.add("bad", query, since=[event("A", 0, s=2**62), event("B", 1, s=2), event("B", 2, s=1)])
    assert live.push(event("B", 3, s=1)).to_arrow()["s"].to_pylist() == [2**62]


def test_waiting_events_that_do_not_fit_stop_a_query_when_they_are_read() -> None:
    live = ost.engine({"bad": ost.cel("A AS x FILTER CAST(x.s AS INT) > 3"), "good": GOOD}, lateness=2)
    found = refusals(live, [event("A", 0, s="7"), event("A", 1, s="q"), event("A", 9, s="8")])
    assert [counts for counts, _ in found] == [{}, {}, {"good": 2}]
    assert [list(stopped) for _, stopped in found] == [[], [], ["bad"]]
    assert live.flush().counts() == {"good": 1}


@pytest.mark.parametrize("bad", [event("A", 0) | {"ts": None}, [event("A", 0) | {"ts": None}]])
def test_a_first_push_that_fails_sets_no_columns(bad: Any) -> None:
    live = ost.engine({"pair": ost.cel("A ; B WITHIN 5 seconds"), "near": ost.cel("A ; B WITHIN 2 EVENTS LIMIT 9")})
    with pytest.raises(ost.DataError, match="row 0: `ts` is NULL"):
        live.push(bad)
    assert live.front is None and not live.stats().events
    live.push(event("A", 1))
    assert live.push(event("B", 3600)).counts() == {"near": 1}
    live.push(event("A", 3601))
    assert [match["start"] for match in live.push(event("B", 3602))] == [3601, 3601]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (event("A", 1, v="x") | {"ts": None}, "`ts` is NULL"),
        (event("A", 1, v="x"), "number: a string and a number cannot be compared"),
        (event("A", 1, v=1.5) | {"type": ["A"]}, "does not fit this batch"),
        (event("A", -1, v=1.5), "came later"),
    ],
)
def test_a_push_that_fails_gives_no_types(bad: dict[str, Any], message: str) -> None:
    live = ost.engine({"all": GOOD, "number": ost.cel("A AS x FILTER x.v > 3")}, on_late="raise")
    live.push(event("A", 0, v=None))
    with pytest.raises(ost.OstinatoError, match=message):
        live.push(bad)
    assert live.stats().events == 1
    assert live.push(event("A", 2, v=9)).counts() == {"all": 1, "number": 1}
    assert live.front is not None and live.front.schema.field("v").type == pa.int64()


def test_tuples_follow_the_first_dict() -> None:
    query = ost.cel("SELECT x.qty AS qty, x.price AS price WHERE ANY AS x")
    live = ost.engine(query)
    live.push([{"ts": 1, "qty": 2, "more": 7}, {"price": 900, "ts": 1}])
    for engine in (live, ost.Engine.restore(live.snapshot())):
        assert list(engine.push((2, 3, 8, 800))) == [{"query": "query", "qty": 3, "price": 800}]
        assert list(engine.push([(2, 3, 8, 800), {"price": 1, "ts": 3}]))[1:] == [
            {"query": "query", "qty": None, "price": 1}
        ]
        with pytest.raises(ost.DataError, match=r"has 3 values(?s:.*)each of ts, qty, more, price"):
            engine.push((3, 3, 800))


def test_tuples_leave_out_what_the_first_dict_does() -> None:
    live = ost.engine(ost.cel("SELECT x.qty AS qty, x.price AS price WHERE ANY AS x"))
    live.push({"ts": 1, "qty": 2})
    assert list(live.push((2, 3))) == [{"query": "query", "qty": 3, "price": None}]
    with pytest.raises(ost.DataError, match=r"each of ts, qty$"):
        live.push((3, 4, 5))
    assert list(live.push({"ts": 3, "price": 5})) == [{"query": "query", "qty": None, "price": 5}]
    assert list(live.push((4, 5))) == [{"query": "query", "qty": 5, "price": None}]


def test_tuples_follow_the_first_table() -> None:
    live = ost.engine(ost.cel("SELECT x.v AS v WHERE A AS x"))
    live.push(pa.table({"v": [1], "type": ["A"], "ts": [1]}))
    assert list(live.push((2, "A", 2))) == [{"query": "query", "v": 2}]


def test_an_asynchronous_stream_reports_a_query_that_is_stopped() -> None:
    queries = {"bad": ost.cel("A AS x FILTER CAST(x.s AS INT) > 3"), "good": GOOD}
    events = [event("A", 0, s="7"), event("A", 1, s="q"), event("A", 2, s="8")]

    async def read(**options: Any) -> list[str]:
        return sorted([match["query"] async for match in ost.engine(queries).stream(events, **options)])

    stopped: list[tuple[str, str]] = []
    given = asyncio.run(read(on_stopped=lambda name, reason: stopped.append((name, reason))))
    assert given == ["bad", "good", "good", "good"]
    assert [name for name, _ in stopped] == ["bad"] and "'q' cannot be cast" in stopped[0][1]
    with pytest.warns(UserWarning, match="query bad was stopped: row 1: bad: 'q' cannot be cast"):
        assert asyncio.run(read()) == given


def test_an_asynchronous_stream_reports_what_the_end_stops() -> None:
    live = ost.engine({"bad": ost.cel("SELECT x.v * x.v AS s WHERE A AS x ; NOT B FOR 5 seconds")})
    stopped: list[str] = []

    async def read() -> list[Any]:
        source = [event("A", 0, v=2**62)]
        return [match async for match in live.stream(source, on_stopped=lambda name, _: stopped.append(name))]

    assert asyncio.run(read()) == [] and stopped == ["bad"]


def test_a_source_that_never_suspends_lets_others_go_on() -> None:
    async def source() -> AsyncIterator[dict[str, Any]]:
        for ts in range(50):
            yield event("D", ts)

    async def run() -> int:
        turns = 0

        async def other() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        async for _ in ost.engine(PAIR).stream(source()):
            pass
        task.cancel()
        return turns

    assert asyncio.run(run()) >= 50


@pytest.mark.parametrize(
    ("item", "at_once"),
    [("x.v + x.v", False), ("x.w", False), ("x.k * 2", True), ("CAST(x.w AS INT)", True), ("x.unknown + 1", True)],
)
def test_answers_that_cannot_fail_are_computed_when_they_are_asked_for(item: str, at_once: bool) -> None:
    live = ost.engine(ost.cel(f"SELECT {item} AS s WHERE A AS x"))
    schema = SCHEMA.append(pa.field("unknown", pa.null()))
    live.push(schema.empty_table())
    assert bool(live.shared._computing) == at_once


def test_an_answer_that_may_fail_since_a_column_got_its_type() -> None:
    live = ost.engine({"bad": ost.cel("SELECT x.v * x.v AS s WHERE A AS x"), "good": GOOD})
    live.push(event("A", 0, v=None))
    assert next(iter(live.push([event("A", 1, v=3)]))) == {"query": "bad", "s": 9}
    matches = live.push([event("A", 2, v=2**62)])
    assert list(matches.stopped) == ["bad"] and matches.counts() == {"good": 1}
