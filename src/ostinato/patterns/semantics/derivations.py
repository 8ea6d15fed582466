"""[[φ]](S, ν): every way to match a formula over a small stream (CEL paper, section 3; operators of docs/cel.md).

A *derivation* is one way to match: the marked positions with the variable of each, the valuation ν of the variables
bound so far, and the demands: conditions that wait for a variable bound elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import cached_property, reduce
from itertools import permutations, product
from typing import Any

from ostinato.core.expression_interpreter import Row, evaluate_expression, passes, to_instant
from ostinato.core.expressions import (
    CURRENT,
    FALSE,
    PREV,
    TRUE,
    Earlier,
    Expr,
    Variable,
    rename_to_current,
    variables,
    walk,
)
from ostinato.errors import DataError
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import earlier_names
from ostinato.patterns.syntax.first_events import first_events
from ostinato.patterns.syntax.nodes import Formula

Positions = tuple[int, ...]  # ascending positions
Place = int | Positions  # of a variable; of the events that it was in earlier rounds
Valuation = frozenset[tuple[str, Place]]


@dataclass(frozen=True)
class Stream:
    """The sub-stream of one partition. Positions inside it are its own; `origin` gives those of the whole stream."""

    rows: tuple[Row, ...]
    relations: tuple[str | None, ...]
    origin: Positions
    time: str | None

    def is_a(self, position: int, event: n.Event) -> bool:
        return event.relation is None or event.relation == self.relations[position]

    def passes(self, predicate: Expr, valuation: Mapping[str, Place]) -> bool:
        return passes(predicate, {variable: self.row(place, predicate) for variable, place in valuation.items()})

    def row(self, place: Place, predicate: Expr) -> Row:
        """The attributes of an event; of earlier events, all that the predicate asks of them."""
        if isinstance(place, int):
            return self.rows[place]
        asked = (node for node in walk(predicate) if isinstance(node, Earlier))
        return {node.name: look_back(node, [self.rows[position] for position in place]) for node in asked}

    def clock(self, position: int) -> int:
        """The event's time in nanoseconds."""
        if self.time is None:
            raise DataError("WITHIN a time needs a time column", fix="name it, or use WITHIN n EVENTS")
        return to_nanoseconds(self.rows[position][self.time])


def look_back(earlier: Earlier, rows: Sequence[Row]) -> Any:
    """What a condition asks of the events that a variable was in the rounds before, the last of them at the end."""
    term = TRUE if isinstance(earlier.term, Variable) else rename_to_current(earlier.term)
    found = [evaluate_expression(term, {CURRENT: row}) for row in rows]
    values = [value for value in found if value is not None]
    if earlier.op == "count":
        return len(values)
    if earlier.op in (PREV, "first", "last"):
        return None if not found else found[0] if earlier.op == "first" else found[-1]
    if not values:
        return None
    if earlier.op in ("min", "max"):
        return reduce({"min": _lesser, "max": _greater}[earlier.op], values)
    return sum(values) if earlier.op == "sum" else sum(values) / len(values)


def _lesser(left: Any, right: Any) -> Any:
    return right if left != left or right < left else left  # any number is less than NaN


def _greater(left: Any, right: Any) -> Any:
    return right if left != left or right > left else left  # and greater


def to_nanoseconds(moment: date | float) -> int:
    """A point in time as a whole number; plain numbers count in seconds."""
    if isinstance(moment, date):
        elapsed = to_instant(moment) - to_instant(datetime(1970, 1, 1))
        return ((elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds) * 1_000
    return round(moment * 1_000_000_000)


@dataclass(frozen=True)
class Demand:
    """A condition on variables not all bound yet: the predicate holds; with `absent`, it holds for no event `among`."""

    predicate: Expr
    absent: str | None = None
    among: Positions = ()
    known: Valuation = frozenset()  # what variables of a finished iteration stood for

    @cached_property
    def mentions(self) -> frozenset[str]:
        return variables(self.predicate) - {self.absent, *dict(self.known)}

    def knowing(self, values: Mapping[str, Place]) -> Demand:
        own = {(variable, position) for variable, position in values.items() if variable in self.mentions}
        return replace(self, known=self.known | own) if own else self

    def met(self, stream: Stream, valuation: Mapping[str, Place]) -> bool:
        valuation = {**valuation, **dict(self.known)}
        if self.absent is None:
            return stream.passes(self.predicate, valuation)
        return not any(stream.passes(self.predicate, {**valuation, self.absent: i}) for i in self.among)


@dataclass(frozen=True)
class Derivation:
    """One way to match a formula. `before` and `after` are NOTs at its edges, whose gap only the outside knows."""

    marks: tuple[tuple[int, str], ...] = ()
    valuation: Valuation = frozenset()
    demands: frozenset[Demand] = frozenset()
    before: tuple[n.Absent | n.AbsentFormula, ...] = ()
    after: tuple[n.Absent | n.AbsentFormula, ...] = ()

    @property
    def first(self) -> int:
        return self.marks[0][0]

    @property
    def last(self) -> int:
        return self.marks[-1][0]

    @property
    def positions(self) -> frozenset[int]:
        return frozenset(position for position, _ in self.marks)

    @property
    def barred(self) -> tuple[n.Absent, ...]:
        """The NOTs after it."""
        return tuple(absent for absent in self.after if isinstance(absent, n.Absent))

    def demanding(self, predicate: Expr, stream: Stream) -> Derivation | None:
        """The derivation with a condition more."""
        return self.requiring((Demand(predicate),), stream)

    def requiring(self, demands: Iterable[Demand], stream: Stream) -> Derivation | None:
        """The derivation with more demands: None where one that can be tested fails, the rest keep waiting."""
        valuation, waiting = dict(self.valuation), set()
        for demand in self.demands.union(demands):
            if not demand.mentions <= valuation.keys():
                waiting.add(demand)
            elif not demand.met(stream, valuation):
                return None
        return self if waiting == self.demands else replace(self, demands=frozenset(waiting))


def derivations(formula: Formula, stream: Stream) -> set[Derivation]:
    """Every derivation of the formula over the stream."""
    if isinstance(formula, n.Event):
        # {ν(x)}, where type(S[ν(x)]) = R
        return {
            Derivation(marks=((i, formula.variable),), valuation=frozenset({(formula.variable, i)}))
            for i in range(len(stream.rows))
            if stream.is_a(i, formula)
        }
    if isinstance(formula, n.Filter):
        required = (each.demanding(formula.predicate, stream) for each in derivations(formula.body, stream))
        return {each for each in required if each is not None}
    if isinstance(formula, n.Or):
        return set().union(*(derivations(part, stream) for part in formula.parts))
    if isinstance(formula, n.Sequence):
        return _sequence(formula, stream)
    if isinstance(formula, n.And):
        return _interleave(formula, stream)
    if isinstance(formula, n.Repeat):
        return _repeat(formula, stream)
    if isinstance(formula, n.Guarded):
        return derivations(formula.body, stream)  # the sequence it stands in looks at the gap before it
    if isinstance(formula, n.Quiet):
        return quiet(formula.absents, derivations(formula.body, stream), stream)
    if isinstance(formula, n.Optional | n.Empty):
        return {Derivation()}.union(*(derivations(child, stream) for child in n.children(formula)))
    if isinstance(formula, n.Absent | n.AbsentFormula):
        return {Derivation(after=(formula,))}  # no event of its own; _join gives it its gap
    assert isinstance(formula, n.Never)
    return set()


def _sequence(sequence: n.Sequence, stream: Stream) -> set[Derivation]:
    """C₁ · C₂ · … under one valuation, from the left. NOT … FOR at the start looks back from its first event."""
    first, *others = sequence.parts
    if others and isinstance(first, n.Absent) and first.lasting is not None:
        return quiet((first,), derivations(replace(sequence, parts=tuple(others)), stream), stream)
    found = derivations(first, stream)
    for part in others:
        if sequence.link == ":" and isinstance(part, n.Absent):
            part = replace(part, at_once=True)
        barred = first_events(part) if sequence.link == "->" else part.barred if isinstance(part, n.Guarded) else ()
        found = concatenate(found, derivations(part, stream), sequence.link, barred, stream)
    return found


def quiet(absents: tuple[n.Absent, ...], found: Iterable[Derivation], stream: Stream) -> set[Derivation]:
    """Those before whose first event no such event came for the time of its NOT."""
    kept = set()
    for each in found:
        if not each.marks:
            continue
        demands: list[Demand] = []
        for absent in absents:
            since = stream.clock(each.first) - (absent.lasting or 0)
            demands += absences((absent,), [i for i in range(each.first) if stream.clock(i) >= since], stream)
        if (quiet := each.requiring(demands, stream)) is not None:
            kept.add(quiet)
    return kept


def concatenate(
    lefts: set[Derivation], rights: set[Derivation], link: n.Link, barred: tuple[n.Absent, ...], stream: Stream
) -> set[Derivation]:
    """C₁ · C₂, where max(C₁) < min(C₂); `:` allows no position between them, `->` no event that C₂ could begin with."""
    joined = (_join(left, right, link, barred, stream) for left in lefts for right in rights)
    return {each for each in joined if each is not None}


def _join(
    left: Derivation, right: Derivation, link: n.Link, barred: tuple[n.Absent, ...], stream: Stream
) -> Derivation | None:
    if not right.marks:
        return replace(left, after=left.after + right.after)
    if not left.marks:
        return replace(right, before=left.after + right.before)
    if right.first <= left.last or (link == ":" and right.first != left.last + 1):
        return None
    both = _unite(left, right)
    between, demands = range(left.last + 1, right.first), list[Demand]()
    for absent in left.after + right.before + barred:
        gap: Iterable[int] = between
        if isinstance(absent, n.Absent) and absent.at_once:  # the next event, even if it is no longer between them
            gap = (left.last + 1,)
        elif isinstance(absent, n.Absent) and absent.lasting is not None:
            until = stream.clock(left.last) + absent.lasting
            if stream.clock(right.first) <= until:
                return None
            gap = [i for i in between if stream.clock(i) <= until]
        demands += absences((absent,), gap, stream)
    return both and both.requiring(demands, stream)


def _unite(left: Derivation, right: Derivation) -> Derivation | None:
    """C₁ ∪ C₂, where a variable of both is one event."""
    valuation = dict(left.valuation)
    if any(valuation.setdefault(variable, position) != position for variable, position in right.valuation):
        return None
    return Derivation(
        marks=tuple(sorted(left.marks + right.marks)),
        valuation=left.valuation | right.valuation,
        demands=left.demands | right.demands,
        before=left.before,
        after=right.after,
    )


def _interleave(formula: n.And, stream: Stream) -> set[Derivation]:
    """C₁ ∪ C₂ ∪ …, where no position is in two of them; `apart`: where they follow each other in some order."""
    parts = [derivations(part, stream) for part in formula.parts]
    if formula.apart:
        orders = permutations(parts)
        found = set().union(*(reduce(lambda a, b: concatenate(a, b, ";", (), stream), order) for order in orders))
    else:
        found = reduce(_unions, parts)
    demands = {Demand(test) for test in formula.tests}
    required = (each.requiring(demands, stream) for each in found)
    return {each for each in required if each is not None}


def _unions(lefts: set[Derivation], rights: set[Derivation]) -> set[Derivation]:
    pairs = ((left, right) for left in lefts for right in rights if left.positions.isdisjoint(right.positions))
    unions = (_unite(left, right) for left, right in pairs)
    return {each for each in unions if each is not None}


def absences(absents: Iterable[n.Absent | n.AbsentFormula], gap: Iterable[int], stream: Stream) -> list[Demand]:
    """Each NOT asks that no event of the gap is of its relation and passes its filter; that of a formula, that no
    complex event of the formula lies in the gap."""
    places = list(gap)
    demands = []
    for absent in absents:
        if isinstance(absent, n.AbsentFormula):
            if _occurs(absent.body, places, stream):
                demands.append(Demand(FALSE))
        else:
            among = tuple(i for i in places if stream.is_a(i, absent.event))
            demands.append(Demand(absent.predicate or TRUE, absent.event.variable, among))
    return demands


def _occurs(formula: Formula, places: list[int], stream: Stream) -> bool:
    """Whether these events, which lie next to each other, hold a complex event of the formula."""
    rows, relations = tuple(stream.rows[i] for i in places), tuple(stream.relations[i] for i in places)
    alone = Stream(rows, relations, tuple(stream.origin[i] for i in places), stream.time)
    for each in derivations(formula, alone):
        mentioned = frozenset().union(*(demand.mentions for demand in each.demands))
        if each.marks and any(True for _ in quantify(each, mentioned, alone)):
            return True
    return False


History = frozenset[tuple[str, Positions]]  # which events the variables of a loop were, round by round
Rounds = set[tuple[Derivation, History]]


def _repeat(formula: n.Repeat, stream: Stream) -> set[Derivation]:
    """ρ, ρ ; ρ, …, where each round has its own valuation ν′ of U = vdef₊(ρ). A round without events does nothing."""
    every = _rounds(formula, stream)
    found = {each for each, _ in every if not each.marks}
    least = 1 if found else formula.least
    for number, reached in rounds_of(formula, stream, every):
        if number >= least:
            found |= {_finished(formula, each, history) for each, history in reached}
    if formula.until:
        found = {each for each in found if not each.marks} | {
            ended
            for each in found
            if each.marks
            and (ended := each.requiring(absences(formula.until, range(each.first, each.last + 1), stream), stream))
        }
    return found


def rounds_of(formula: n.Repeat, stream: Stream, every: Rounds | None = None) -> Iterator[tuple[int, Rounds]]:
    """What can be matched with one round, with two, and so on; `every` is each single round."""
    rounds = {(each, own) for each, own in (_rounds(formula, stream) if every is None else every) if each.marks}
    barred = first_events(formula.body) if formula.link == "->" else formula.barred
    nothing: dict[str, Place] = dict.fromkeys(_remembered(formula), ())
    number, reached = 1, {(began, own) for each, own in rounds for began in knowing(each, nothing, stream)}
    while reached and (formula.most is None or number <= formula.most):
        yield number, reached
        reached = {
            (known, _append(history, own))
            for left, history in reached
            for past in (look_back_on(left, history),)
            for right, own in rounds
            if (joined := _join(past, right, formula.link, barred, stream)) is not None
            for known in quantify(joined, frozenset(nothing), stream)
        }
        number += 1


def _rounds(formula: n.Repeat, stream: Stream) -> Rounds:
    """Every derivation of the body, and which events its own variables are, where a later round looks back on them."""
    own, asked = n.vdef_plus(formula.body) | n.whole_loops(formula.body), _remembered(formula)
    found: Rounds = set()
    for each in derivations(formula.body, stream):
        places = ((name, place) for name, place in each.valuation if isinstance(place, int))
        history = frozenset((name, (place,)) for name, place in places if n.earlier_name(name) in asked)
        found |= {(renewed, history) for renewed in quantify(each, own, stream)}
    return found


def _remembered(formula: n.Repeat) -> frozenset[str]:
    """The variables of earlier events that its own rounds or later conditions ask for."""
    return earlier_names(formula) | frozenset(map(n.earlier_name, formula.kept))


def _finished(formula: n.Repeat, derivation: Derivation, history: History) -> Derivation:
    """With all events of the variables that later conditions ask for."""
    kept = frozenset((n.whole_name(name), positions) for name, positions in history if name in formula.kept)
    return replace(derivation, valuation=derivation.valuation | kept) if kept else derivation


def _append(history: History, own: History) -> History:
    before = dict(history)
    return frozenset((name, before.get(name, ()) + positions) for name, positions in own)


def look_back_on(derivation: Derivation, history: History) -> Derivation:
    if not history:
        return derivation
    earlier = frozenset((n.earlier_name(name), positions) for name, positions in history)
    return replace(derivation, valuation=derivation.valuation | earlier)


def knowing(derivation: Derivation, values: Mapping[str, Place], stream: Stream) -> Iterator[Derivation]:
    """The derivation where these variables are known, and out of scope outside."""
    known = replace(derivation, valuation=derivation.valuation | frozenset(values.items())).requiring((), stream)
    return iter(()) if known is None else quantify(known, frozenset(values), stream)


def quantify(derivation: Derivation, own: frozenset[str], stream: Stream) -> Iterator[Derivation]:
    """Close the scope of `own`: demands keep the values of these variables, any position where nothing bound one."""
    if not own:
        yield derivation
        return
    outside = replace(derivation, valuation=frozenset(pair for pair in derivation.valuation if pair[0] not in own))
    bound = dict(derivation.valuation - outside.valuation)
    free = sorted({name for demand in derivation.demands for name in demand.mentions & own} - bound.keys())
    for positions in product(range(len(stream.rows)), repeat=len(free)):
        values = {**bound, **dict(zip(free, positions, strict=True))}
        demands = [demand.knowing(values) for demand in derivation.demands]
        closed = replace(outside, demands=frozenset()).requiring(demands, stream)
        if closed is not None:
            yield closed
