"""Engines of whole queries, and what the declarative semantics says they answer."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa

from ostinato.core.expressions import COUNT_DISTINCT, Attribute, Call, Expr, Variable, variables
from ostinato.patterns.compile import compile_query
from ostinato.patterns.runtime.count import count_table
from ostinato.patterns.runtime.engine import Engine
from ostinato.patterns.runtime.state import EngineOptions
from ostinato.patterns.semantics.cel import Result, evaluate
from ostinato.patterns.syntax.nodes import Query
from support.generators.cel_streams import Row, table

BINDING = {"time": None, "type": None, "order_by": ()}


def engine(query: Query, **options: Any) -> Engine:
    return Engine(compile_query(query), EngineOptions(dict(BINDING), **options))


def expected(query: Query, rows: list[Row]) -> list[Any]:
    """The rows of the answer, from the semantics."""
    result = evaluate(query, rows, time="ts")
    if query.timeout is None:
        return sorted(_rows_of(query, result, rows))
    parts = dict.fromkeys(match.reached for match in result.matches)
    found = {stop: Result(tuple(each for each in result.matches if each.reached == stop)) for stop in parts}
    return sorted((row, stop or 0) for stop, part in found.items() for row in _rows_of(query, part, rows))


def _rows_of(query: Query, result: Result, rows: list[Row]) -> list[Any]:
    if query.items is None:
        return result.positions()
    names = sorted(frozenset().union(*(variables(item.expr) for item in query.items)))
    return [
        repr([item_value(item.expr, labels, rows, query.lists) for item in query.items])
        for labels in result.labelled(names)
    ]


def item_value(expr: Expr, labels: dict[str, tuple[int, ...]], rows: list[Row], many: frozenset[str]) -> Any:
    if isinstance(expr, Variable):
        found = [rows[position] for position in labels[expr.name]]
        return found if expr.name in many else found[0] if found else None
    if isinstance(expr, Attribute):
        values = [rows[position][expr.name] for position in labels[expr.variable]]
        return values if expr.variable in many else values[0] if values else None
    assert isinstance(expr, Call)
    (target,) = expr.args
    if isinstance(target, Variable):
        return len(labels[target.name])
    assert isinstance(target, Attribute)
    every = [rows[position][target.name] for position in labels[target.variable]]
    if expr.op in ("first", "last"):
        return (every[0] if expr.op == "first" else every[-1]) if every else None
    values = [value for value in every if value is not None]
    if expr.op in ("count", COUNT_DISTINCT):
        return len(values if expr.op == "count" else set(values))
    if not values:
        return None
    folds: dict[str, Any] = {"sum": sum, "min": min, "max": max, "avg": lambda found: sum(found) / len(found)}
    return folds[expr.op](values)


def answer(query: Query, found: list[pa.Table]) -> list[Any]:
    whole = pa.concat_tables(found)
    stops: list[int] | None = None
    if query.timeout is not None:
        stops = [stop or 0 for stop in whole["reached"].to_pylist()]
        whole = whole.drop_columns(["reached"])
    rows: list[Any] = [repr(list(row.values())) for row in whole.to_pylist()]
    if query.items is None:
        rows = [tuple(positions) for positions in whole["positions"].to_pylist()]
    return sorted(rows if stops is None else zip(rows, stops, strict=True))


def check_every_way(query: Query, rows: list[Row], cuts: list[int], restart: bool) -> None:
    """The answer of a whole table, its count, and that of batches cut anywhere, with restarts between them."""
    want = expected(query, rows)
    assert answer(query, [engine(query).run_batch(table(rows))]) == want
    assert count_table(engine(query), table(rows)) == len(want)
    running = engine(query)
    found = []
    for begin, end in pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        found.append(running.push(table(rows[begin:end])))
        if restart:
            running = Engine.restore(running.snapshot())
    found.append(running.flush())
    assert answer(query, found) == want


def check_out_of_order(query: Query, running: Engine, rows: list[Row], random: Any) -> None:
    """Rows of equal times come in any order, and others after later ones; the engine must allow for that."""
    shuffled = list(rows)
    random.shuffle(shuffled)
    ordered = sorted(range(len(shuffled)), key=lambda place: shuffled[place]["ts"])
    found = [running.push(table(shuffled[at : at + 2])) for at in range(0, len(shuffled), 2)]
    found = [*found, running.push(table([])), running.flush()]
    assert running.stats().late == 0
    want = expected(query, [shuffled[place] for place in ordered])
    if query.items is None:
        want = sorted(tuple(ordered[position] for position in positions) for positions in want)
        got = [tuple(positions) for part in found for positions in part["positions"].to_pylist()]
        assert sorted(got) == want
    else:
        assert answer(query, found) == want


def check_timers(query: Query, rows: list[Row], *, restart: bool) -> None:
    """An engine that is told the time when it is due gives what the definition says, and its timers end."""
    running = engine(query)
    found = []
    for row in rows:
        while running.bound and (due := running.due()) is not None and due <= row["ts"]:
            found.append(running.advance(to=due))
        found.append(running.push(table([row])))
        if restart:
            running = Engine.restore(running.snapshot())
    for _ in range(3 * len(rows) + 1):
        if not running.bound or (due := running.due()) is None:
            break
        found.append(running.advance(to=due))
    else:
        raise AssertionError("a timer rings again and again")
    found.append(running.flush())
    if not any(absence.at_once for absence in running.compiled.trailing):
        assert not len(found[-1])  # time has passed all of them
    assert answer(query, found) == expected(query, rows)
