"""A formula as a PATTERN, with what each of its rows must be, and whether two matches can begin or end together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ostinato.core.expressions import Call, Expr, conjuncts, rename_to_current, variables, walk
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.theory.satisfiability import is_satisfiable
from ostinato.patterns.to_sql.differs import Differs
from ostinato.patterns.to_sql.names import row_name
from ostinato.patterns.to_sql.paths import Paths, Writer


@dataclass(eq=False)
class Row:
    """A variable of PATTERN: an event of the formula."""

    name: str
    event: n.Event
    loops: tuple[int, ...]  # those around it, by number
    tests: list[Expr] = field(default_factory=list)  # in which its own variable is the row, and others have come before
    fitting: list[Expr] = field(default_factory=list)  # of them, those that say which event fits after `->`
    is_round: bool = False  # whether it alone is the body of its loop

    def may_be(self, other: Row) -> bool:
        """False only if no event can be both."""
        relations = {self.event.relation, other.event.relation} - {None}
        own = [test for row in (self, other) for test in row.tests if _is_plain(test)]
        return len(relations) < 2 and is_satisfiable((rename_to_current(test), True) for test in own)


@dataclass(frozen=True)
class Pattern:
    """`gaps` are variables for rows that do not fit the row that `->` looks for."""

    text: str
    rows: tuple[Row, ...]
    gaps: tuple[tuple[str, Row], ...]
    first: tuple[Row, ...]
    last: tuple[Row, ...]
    one_per_start: bool  # no two matches begin with the same row
    one_per_end: bool
    one_way: bool  # the rows of a match tell which event each of them is

    def owner(self, variable: str) -> Row:
        """The only row of a variable."""
        found = [row for row in self.rows if row.event.variable == variable]
        if len(found) != 1:
            raise Differs
        return found[0]


def read_pattern(formula: n.Formula, *, strict: bool) -> Pattern:
    """Raises Differs for what is no pattern of rows right after each other, or up to the next that fits."""
    reader = _Reader(strict)
    text, paths, _ = reader.read(formula, ())
    reader.place_tests()
    rows, gaps = tuple(reader.rows), tuple(reader.gaps)
    if not paths.shortest:
        raise Differs
    events = reader.writer.events
    first, last = (
        tuple(rows[event] for event in sorted({events[at] for at in ends})) for ends in (paths.first, paths.last)
    )
    fit = [[row.may_be(other) for other in rows] for row in rows]

    def fits(one: int, other: int) -> bool:
        return fit[events[one]][events[other]]

    if gaps:
        _check_steps(formula)
    fixed = paths.shortest == paths.longest
    alone = bool(gaps) or fixed or paths.one_per_start(fits)
    ends = not gaps and (fixed or (alone and not paths.overlap(fits)))
    return Pattern(text, rows, gaps, first, last, alone, ends, paths.one_way(fits))


def _check_steps(formula: n.Formula) -> None:
    """With `->`, the events of a match follow from the first one where each step is a single event."""
    for part in n.subformulas(formula):
        if isinstance(part, n.Repeat | n.Optional) or (isinstance(part, n.Or) and not all(map(_is_event, part.parts))):
            raise Differs


def _is_event(formula: n.Formula) -> bool:
    return isinstance(formula, n.Event) or (isinstance(formula, n.Filter) and _is_event(formula.body))


def _is_plain(test: Expr) -> bool:
    """Whether the row alone decides."""
    return len(variables(test)) == 1 and not any(isinstance(part, Call) and part.op == "prev" for part in walk(test))


class _Reader:
    """Reads from left to right: text, paths and how tightly the text binds (0: `|`, 1: a sequence, 2: one thing)."""

    def __init__(self, strict: bool) -> None:
        self.writer = Writer()
        self.links = (":", ";") if strict else (":",)
        self.rows: list[Row] = []
        self.gaps: list[tuple[str, Row]] = []
        self.filters: list[
            tuple[n.Filter, tuple[int, ...], int, int]
        ] = []  # with its loops, and from which row to which
        self.names: set[str] = set()
        self.loops = 0

    def read(self, formula: n.Formula, loops: tuple[int, ...]) -> tuple[str, Paths, int]:
        if isinstance(formula, n.Event):
            row = self._row(formula, loops)
            return row.name, self.writer.event(len(self.rows) - 1), 2
        if isinstance(formula, n.Filter):
            begin = len(self.rows)
            found = self.read(formula.body, loops)
            self.filters.append((formula, loops, begin, len(self.rows)))
            return found
        if isinstance(formula, n.Or):
            return self._alternatives(formula, loops)
        if isinstance(formula, n.Sequence):
            return self._sequence(formula, loops)
        if isinstance(formula, n.Repeat) and not formula.until and (formula.link in self.links or formula.most == 1):
            return self._loop(formula, loops)
        if isinstance(formula, n.Optional):
            body = formula.body
            if isinstance(body, n.Repeat) and (body.least, body.most) == (1, None):  # `φ*`
                text, paths, _ = self.read(body, loops)
                return f"{text[:-1]}*", paths.or_else(Paths()), 1
            text, paths, binds = self.read(body, loops)
            return f"{_bracketed(text, binds, 2)}?", paths.or_else(Paths()), 1
        raise Differs

    def _row(self, event: n.Event, loops: tuple[int, ...]) -> Row:
        wanted = event.relation or "E" if event.variable.startswith("#") else event.variable
        self.rows.append(Row(row_name(wanted, self.names), event, loops))
        return self.rows[-1]

    def _alternatives(self, formula: n.Or, loops: tuple[int, ...]) -> tuple[str, Paths, int]:
        read = [self.read(part, loops) for part in formula.parts]
        paths = read[0][1]
        for _, other, _ in read[1:]:
            paths = paths.or_else(other)
        return " | ".join(_bracketed(text, binds, 1) for text, _, binds in read), paths, 0

    def _sequence(self, formula: n.Sequence, loops: tuple[int, ...]) -> tuple[str, Paths, int]:
        if len(frozenset().union(*map(n.vdef, formula.parts))) < sum(len(n.vdef(part)) for part in formula.parts):
            raise Differs  # one event in two places
        if formula.link not in (*self.links, "->") or (formula.link == "->" and ";" in self.links):
            raise Differs
        texts, paths = [], Paths()
        for number, part in enumerate(formula.parts):
            text, own, binds = self.read(part, loops)
            if formula.link == "->" and number:
                texts += self._gap(part)
            texts.append(_bracketed(text, binds, 1))
            paths = paths.then(own)
        return " ".join(texts), paths, 1

    def _gap(self, part: n.Formula) -> list[str]:
        """What stands before a part that `->` looks for, and which was read last."""
        if not _is_event(part):
            raise Differs
        row = self.rows[-1]
        if isinstance(part, n.Event) and part.relation is None:
            return []  # any event fits
        name = row_name(f"no_{row.name}", self.names)
        self.gaps.append((name, row))
        return [f"{name}*"]

    def _loop(self, loop: n.Repeat, loops: tuple[int, ...]) -> tuple[str, Paths, int]:
        body, least, most = loop.body, loop.least, loop.most
        self.loops += 1
        begin = len(self.rows)
        text, paths, binds = self.read(body, (*loops, self.loops))
        if _is_event(body) and not loops:
            self.rows[begin].is_round = True
        sign = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((least, most))
        if sign is None:
            sign = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
        return f"{_bracketed(text, binds, 2)}{sign}", self.writer.rounds(paths, least, most), 1

    def place_tests(self) -> None:
        """Each condition to the row that comes last of those that it names."""
        for formula, loops, begin, end in self.filters:
            for test in conjuncts(formula.predicate):
                for row in self._owners(variables(test), self.rows[begin:end], loops):
                    row.tests.append(test)
                    if end == begin + 1:
                        row.fitting.append(test)

    def _owners(self, named: Iterable[str], inside: list[Row], loops: tuple[int, ...]) -> list[Row]:
        named = frozenset(named)
        own = [row for row in inside if row.event.variable in named]
        if not own or any(row.loops != loops for row in own):
            raise Differs
        if len(named) == 1:
            return own
        rows = [row for row in self.rows if row.event.variable in named]
        sure = len(rows) == len(named) and rows[-1] is own[-1]  # each of them is one row, before its condition
        if not sure or any(row.loops != loops[: len(row.loops)] for row in rows):
            raise Differs
        return [own[-1]]


def _bracketed(text: str, binds: int, least: int) -> str:
    return text if binds >= least else f"({text})"
