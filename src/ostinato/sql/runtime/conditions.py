"""The conditions of a clause: what can be said of a row alone becomes its code, the rest a program for the search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import sqlglot
from sqlglot import exp

from ostinato.sql.kernels import opcodes as p
from ostinato.sql.kernels.layout import LIVE_LABELS, LIVE_START
from ostinato.sql.plan.row_terms import is_local, step_of
from ostinato.sql.runtime.compile_condition import ConditionCompiler
from ostinato.sql.runtime.condition_parts import TERM, Unsupported
from ostinato.sql.runtime.input import key_text, plain_text
from ostinato.sql.runtime.live_reads import Read
from ostinato.sql.runtime.registers import Registers
from ostinato.sql.runtime.row_values import RowValues
from ostinato.sql.syntax import nodes as n

Steps = list[tuple[int, Any, Any]]


@dataclass
class Conditions:
    """Attributes
    ----------
    local : dict
        By variable: what of its condition looks at rows by place, as text over rows in order.
    steps : dict
        By number of a variable: the program for the rest.
    reads : dict
        By number of a variable: what of the match so far the program reads.
    by_place : list
        The programs of what `local` says, where programs alone read columns; one for each condition there.
    asked : list
        Conditions that only DuckDB can evaluate, one match at a time; programs name them by number.
    """

    registers: Registers
    local: dict[str, str] = field(default_factory=dict)
    steps: dict[int, Steps] = field(default_factory=dict)
    reads: dict[int, frozenset[Read]] = field(default_factory=dict)
    by_place: list[Steps] = field(default_factory=list)
    asked: list[n.Sql] = field(default_factory=list)


def compile_conditions(match: n.MatchRecognize, variables: tuple[str, ...], values: RowValues) -> Conditions:
    found = Conditions(Registers(variables))
    defined = {each.name: each.condition for each in match.definitions}
    for number, name in enumerate(variables):
        condition = defined.get(name)
        local: list[str] = []
        steps: Steps = []
        reads: set[Read] = set()
        if condition is not None and is_local(match, name, condition):
            local.append(values.render(condition, name))
        elif condition is not None:
            for part, terms in _parts(condition):
                places = [int(number) for number in TERM.findall(_text(part))]
                if all(step_of(match, name, terms[place]) is not None for place in places):
                    local.append(values.render(_with_terms(_text(part), terms), name))
                else:
                    _add(found, match, name, part, terms, values, steps, reads)
        if match.within is not None:
            part, terms = next(_parts(_in_time(match, match.within)))
            _add(found, match, name, part, terms, values, steps, reads)
        if local:
            found.local[name] = " AND ".join(f"({text})" for text in local)
        if steps:
            found.steps[number], found.reads[number] = steps, frozenset(reads)
    return found


def _parts(condition: n.Sql) -> Iterator[tuple[exp.Expression | str, tuple[n.Term, ...]]]:
    """What must hold together, each with the terms that it names by number; the whole where it cannot be parsed."""
    terms = condition.terms
    try:
        tree = sqlglot.parse_one(_with_names(condition), read="duckdb")
    except (sqlglot.errors.SqlglotError, RecursionError):
        yield condition.render(lambda term: f'"#{terms.index(term)}"'), terms
        return
    waiting: list[Any] = [tree]
    while waiting:
        node = waiting.pop()
        inner = node.unnest()
        if isinstance(inner, exp.And):
            waiting += [inner.expression, inner.this]
        else:
            yield node, terms


def _with_names(condition: n.Sql) -> str:
    """The text with a name for each term; in brackets before a field, or it would be read as the name of a table."""
    terms, parts = condition.terms, condition.parts
    texts = []
    for part, after in zip(parts, (*parts[1:], ""), strict=True):
        if isinstance(part, str):
            texts.append(part)
        else:
            name = f'"#{terms.index(part)}"'
            texts.append(f"({name})" if isinstance(after, str) and after.lstrip().startswith(".") else name)
    return "".join(texts)


def _add(
    found: Conditions,
    match: n.MatchRecognize,
    name: str,
    part: exp.Expression | str,
    terms: tuple[n.Term, ...],
    values: RowValues,
    steps: Steps,
    reads: set[Read],
) -> None:
    """The steps of a part; DuckDB is asked where no program can hold it, after all that programs can say."""
    compiler = ConditionCompiler(match, name, terms, values, found.registers)
    try:
        if isinstance(part, str):
            raise Unsupported
        compiler.compile(part)
    except (Unsupported, RecursionError):
        asked = _with_terms(_text(part), terms)
        if steps and steps[-1][0] == p.ASK_ENGINE:  # there is one answer for each row that is tried
            number = steps[-1][1]
            found.asked[number] = n.Sql(("(", *found.asked[number].parts, ") AND (", *asked.parts, ")"))
            return
        steps.append((p.ASK_ENGINE, len(found.asked), 0))
        reads |= {Read(LIVE_START), Read(LIVE_LABELS)}
        found.asked.append(asked)
    else:
        asked_from = next((at for at, step in enumerate(steps) if step[0] == p.ASK_ENGINE), len(steps))
        steps[asked_from:asked_from] = compiler.steps
        reads |= compiler.reads


def _text(part: exp.Expression | str) -> str:
    return part if isinstance(part, str) else part.sql("duckdb")


def _with_terms(text: str, terms: tuple[n.Term, ...]) -> n.Sql:
    """The expression that a text with names of terms stands for."""
    parts: list[str | n.Term] = []
    for place, piece in enumerate(TERM.split(text)):
        parts.append(terms[int(piece)] if place % 2 else piece)
    return n.Sql(tuple(part for part in parts if part != ""))


def _in_time(match: n.MatchRecognize, bound: n.Sql) -> n.Sql:
    """That the current row is less than the bound after the first one, by the first key of ORDER BY."""
    time = key_text(match.order_by[0])
    latest = n.Navigation(n.ALL, n.Sql((f"({time}) + ({plain_text(bound)})",)), "FIRST")
    return n.Sql((f"({time}) < ", latest))


def compile_by_columns(match: n.MatchRecognize, variables: tuple[str, ...], values: RowValues) -> Conditions | None:
    """Conditions as programs over columns of numbers and times, with nothing that is evaluated before; None where that
    is not possible."""
    found = Conditions(Registers(variables))
    defined = {each.name: each.condition for each in match.definitions}
    try:
        for number, name in enumerate(variables):
            local: list[str] = []
            by_place: Steps = []
            steps: Steps = []
            reads: set[Read] = set()
            parts = [] if name not in defined else list(_parts(defined[name]))
            if match.within is not None:
                parts.append(next(_parts(_in_time(match, match.within))))
            for part, terms in parts:
                if isinstance(part, str):
                    return None
                compiler = ConditionCompiler(match, name, terms, values, found.registers, by_column=True)
                compiler.compile(part)
                named = [int(place) for place in TERM.findall(_text(part))]
                if all(step_of(match, name, terms[place]) is not None for place in named):
                    local.append(values.render(_with_terms(_text(part), terms), name))
                    by_place += compiler.steps
                else:
                    steps += compiler.steps
                    reads |= compiler.reads
            if local:
                found.local[name] = " AND ".join(f"({text})" for text in local)
                found.by_place.append(by_place)
            if steps:
                found.steps[number], found.reads[number] = steps, frozenset(reads)
    except (Unsupported, RecursionError):
        return None
    return found
