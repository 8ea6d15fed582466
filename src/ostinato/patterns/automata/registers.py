"""What the runs of a transducer with registers must remember (RMA paper, section 4).

A register holds an event, but a run keeps only *cells*: the values of the terms that later tests read of it. A *term*
is an expression over one event alone, such as `2 * y.amount`; it is evaluated column-wise, once per event, and a test
combines terms of the current event with cells of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from ostinato.core import expressions as ex
from ostinato.core.expressions import Expr
from ostinato.core.reachability import reachable_states
from ostinato.core.text.counts import format_count
from ostinato.errors import LimitError, QueryError
from ostinato.patterns.automata.transducer import Fold, Transducer, Transition
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.theory.satisfiability import is_satisfiable

FLOAT_SUM = "sum as a float"  # beside a sum of whole numbers, which wraps around
TOTAL = "total"  # of the two: the whole number where it fits, else the float
MAX_CELLS = 62  # one bit of an int64 each says whether it is NULL
# Operators that can combine values of different events.
_MIXES = {*ex.COMPARISONS, *ex.ARITHMETIC, *ex.LOGIC, "is_null", "is_true", "coalesce"}
_MIXES |= {"neg", "abs", "sqrt", "floor", "ceil"}


@dataclass(frozen=True)
class EventTerm:
    """A term of the current event (`register` is None), or of the event in a register; with `op`, of all the events
    that were taken into the register."""

    register: str | None
    number: int
    op: str = ""

    @property
    def cell(self) -> Cell:
        assert self.register is not None
        return Cell(self.register, self.number, self.op)


@dataclass(frozen=True)
class Apply:
    """An operator over terms of different events."""

    op: str
    args: tuple[Tree, ...]


class Cell(NamedTuple):
    """A register, the number of a term of its event, and what is made of it where a register takes in many events."""

    register: str
    term: int
    op: str = ""


Tree = EventTerm | Apply
Equality = tuple[Cell, int]  # with a term of the current event


class Registers:
    """Terms and cells of a transducer, and which cells matter in which state."""

    def __init__(self, transducer: Transducer) -> None:
        self.transducer = transducer
        self._terms: dict[str, Expr] = {}  # by their text: to Python, 1 and TRUE are equal
        self.seconds: dict[int, int] = {}  # terms that are literal durations, and those of their seconds
        self.tests = {t: self._conjuncts([t.test]) for t in transducer.transitions}
        self.barred = {
            t: tuple((condition, self._conjuncts([test])) for condition, test in t.barred)
            for t in transducer.transitions
        }
        found = dict.fromkeys(cell for t in transducer.transitions for cell in self._reads(t))
        taken = (own for t in transducer.transitions for cell in found for own in _taken(t, cell))
        self.cells: tuple[Cell, ...] = tuple(dict.fromkeys((*found, *taken)))
        if len(self.cells) > MAX_CELLS:
            reason = f"its tests read {format_count(len(self.cells), 'value')} of earlier events"
            raise LimitError("cells", MAX_CELLS, reason=reason, fix="compare fewer attributes, or split the query")

    @property
    def terms(self) -> tuple[Expr, ...]:
        return tuple(self._terms.values())

    @cached_property
    def needed(self) -> tuple[frozenset[Cell], ...]:
        """Per state, the cells that some test may still read before they are overwritten."""
        needed: list[frozenset[Cell]] = [frozenset()] * self.transducer.states
        changed = True
        while changed:
            changed = False
            for t in self.transducer.transitions:
                kept = {own for cell in needed[t.target] for own in _kept(t, cell)}
                wanted = needed[t.source] | kept | frozenset(self._reads(t))
                changed |= wanted != needed[t.source]
                needed[t.source] = wanted
        return tuple(needed)

    @cached_property
    def compared(self) -> tuple[frozenset[int], ...]:
        """Terms that are compared with each other, also through others; only those that tests do nothing else with."""
        groups = [{number} for number in range(len(self._terms))]
        used: set[int] = set()
        barred = (own for bars in self.barred.values() for _, own in bars)
        for node in (node for trees in (*self.tests.values(), *barred) for tree in trees for node in _walk(tree)):
            numbers = [arg.number for arg in node.args if isinstance(arg, EventTerm) and arg.op != "count"]
            used |= {arg.number for arg in node.args if isinstance(arg, EventTerm) and arg.op == "count"}
            if node.op not in ex.COMPARISONS or len(numbers) < 2:
                used |= set(numbers)
                continue
            whole = groups[numbers[0]] | groups[numbers[1]]
            for number in whole:
                groups[number] = whole
        return tuple({frozenset(group) for group in groups if not group & used})

    def index(self, state: int, usable: Callable[[Equality], bool] = lambda _: True) -> tuple[Cell, ...]:
        """The cells that every test of the state compares with the current event for equality."""
        shared: set[Cell] | None = None
        for t in self.transducer.transitions:
            if t.source != state:
                continue
            for trees in ([] if t.stays else [self.tests[t]]) + [own for _, own in self.barred[t]]:
                cells = {found[0] for tree in trees if (found := as_equality(tree)) is not None and usable(found)}
                shared = cells if shared is None else shared & cells
        return tuple(cell for cell in self.cells if cell in (shared or ()))

    def text(self, cell: Cell) -> str:
        if cell.op:
            finished = cell.register.startswith(n.whole_name(""))
            name = cell.register.removeprefix(n.whole_name("") if finished else n.earlier_name("")).partition("#")[0]
            whole = isinstance(self.terms[cell.term], ex.Literal)
            text = name if whole else self.text(Cell(name, cell.term))
            return f"{cell.op}({text}) of {'a loop' if finished else 'earlier rounds'}"
        owned = ex.transform(self.terms[cell.term], lambda node: _owned_by(cell.register, node))
        return ex.to_text(owned)

    def _conjuncts(self, tests: Iterable[Expr | None]) -> tuple[Tree, ...]:
        found: list[Tree] = []
        for test in tests:
            if isinstance(test, ex.Call) and test.op == "and":
                found += self._conjuncts(test.args)
            elif test is not None:
                found.append(self._separate(test))
        return tuple(found)

    def _separate(self, expr: Expr) -> Tree:
        """The largest parts that mention only one event become terms."""
        if isinstance(expr, ex.Earlier):
            return self._look_back(expr)
        looks_back = any(isinstance(attribute, ex.Earlier) for attribute in ex.attributes(expr))
        owners = {attribute.variable for attribute in ex.attributes(expr)}
        if len(owners) <= 1 and not looks_back:
            owner = owners.pop() if owners else ex.CURRENT
            number = self._number(ex.rename_to_current(expr))
            if isinstance(expr, ex.Literal) and isinstance(expr.value, ex.Duration):
                self.seconds[number] = self._number(ex.Literal(expr.value.seconds, expr.span))
            return EventTerm(None if owner == ex.CURRENT else owner, number)
        assert isinstance(expr, ex.Call)
        if expr.op == "in":
            needle, *choices = expr.args
            equal = tuple(ex.Call("=", (needle, choice), expr.span) for choice in choices)
            return self._separate(equal[0] if len(equal) == 1 else ex.Call("or", equal, expr.span))
        if expr.op not in _MIXES:
            fix = "apply it to each event on its own, and compare the results"
            name = expr.op.upper() if expr.op in (ex.CASE, *ex.CASTS, "like", "rlike") else expr.op
            reason = f"{name} cannot combine attributes of different events"
            if looks_back and len(owners) == 1:
                reason = f"{name} cannot be applied to what comes of earlier rounds"
                fix = f"apply it to each event, inside the brackets: prev({name}(x.a))"
            if expr.op == ex.CASE:
                fix = "write one condition for each branch, joined by OR"
            raise QueryError(reason, span=expr.span, fix=fix)
        return Apply(expr.op, tuple(self._separate(arg) for arg in expr.args))

    def _look_back(self, earlier: ex.Earlier) -> Tree:
        """What is asked of earlier events, from what a register can carry from round to round."""
        whole = isinstance(earlier.term, ex.Variable)
        number = self._number(ex.Literal(1) if whole else ex.rename_to_current(earlier.term))

        def cell(op: str) -> EventTerm:
            return EventTerm(earlier.variable, number, op)

        if earlier.op not in ("sum", "avg"):
            return cell(earlier.op)
        total = Apply(TOTAL, (cell("sum"), cell(FLOAT_SUM)))
        return total if earlier.op == "sum" else Apply("/", (total, cell("count")))

    def _number(self, term: Expr) -> int:
        if cast := next((node for node in ex.walk(term) if isinstance(node, ex.Call) and node.op == "cast"), None):
            raise QueryError(
                "CAST cannot stand in a comparison between events: it would be tried on events of every type",
                span=cast.span,
                fix="use TRY_CAST, which gives NULL where CAST fails",
            )
        text = ex.to_text(term)
        self._terms.setdefault(text, term)
        return list(self._terms).index(text)

    def _reads(self, transition: Transition) -> Iterator[Cell]:
        for tests in (self.tests[transition], *(tests for _, tests in self.barred[transition])):
            for test in tests:
                yield from find_cells(test)


def find_fold(folds: Iterable[Fold], cell: Cell) -> Fold | None:
    """How a transition takes an event into the cell."""
    return next((fold for fold in folds if fold.register == cell.register), None)


def _taken(transition: Transition, cell: Cell) -> Iterator[Cell]:
    """What it takes into the cell, if that is of an earlier event of the round."""
    fold = find_fold(transition.folds, cell)
    if fold is not None and fold.source is not None and (fold.begins or cell.op != "first"):
        yield Cell(fold.source, cell.term)


def _kept(transition: Transition, cell: Cell) -> Iterator[Cell]:
    """What runs must hold before a transition, so that they hold the cell after it."""
    fold = find_fold(transition.folds, cell)
    keeps = (
        cell.register not in transition.writes if fold is None else not (fold.begins or cell.op in (ex.PREV, "last"))
    )
    if keeps:
        yield cell
    yield from _taken(transition, cell)


def as_equality(tree: Tree) -> Equality | None:
    """A cell and a term of the current event that the tree says are equal."""
    if not isinstance(tree, Apply) or tree.op != "=":
        return None
    left, right = tree.args
    if not isinstance(left, EventTerm) or not isinstance(right, EventTerm):
        return None
    if left.register is None:
        left, right = right, left
    if left.register is None or right.register is not None:
        return None
    return left.cell, right.number


def _owned_by(register: str, node: Expr) -> Expr:
    return replace(node, variable=register.partition("#")[0]) if isinstance(node, ex.Attribute) else node


def _walk(tree: Tree) -> Iterator[Apply]:
    if isinstance(tree, Apply):
        yield tree
        for arg in tree.args:
            yield from _walk(arg)


def find_cells(tree: Tree) -> Iterator[Cell]:
    if isinstance(tree, Apply):
        for arg in tree.args:
            yield from find_cells(arg)
    elif tree.register is not None:
        yield tree.cell


def check_written(transducer: Transducer) -> None:
    """Raise QueryError where a test reads an event that may not have come yet: finitely many registers cannot remember
    all events that would have to be tested once it comes."""
    written: dict[int, frozenset[str]] = {0: frozenset()}
    changed = True
    while changed:
        changed = False
        for t in transducer.transitions:
            if t.source in written:
                after = written[t.source] | frozenset(t.writes)
                known = written.get(t.target, after) & after
                changed |= written.get(t.target) != known
                written[t.target] = known
    for t in transducer.transitions:
        for attribute in t.register_attributes():
            if attribute.variable not in written[t.source]:
                raise _too_early(t, attribute)


def _too_early(transition: Transition, attribute: ex.Attribute) -> QueryError:
    name = attribute.variable.partition("#")[0]
    mark = transition.mark
    if mark is None or any(attribute in ex.attributes(test) for _, test in transition.barred):
        return QueryError(
            f"an event that must not come can be compared only with events before it, and `{name}` may come after",
            span=attribute.span,
            fix=f"compare it with an event before the NOT or `->`, or put {name} there",
        )
    return QueryError(
        f"every `{mark}` of the loop would have to be remembered until `{name}` comes, however many there are",
        span=attribute.span,
        fix=f"compare `{mark}` with an event before the loop, or put {name} there; a few rounds can be written out as "
        f"events with names of their own",
    )


def is_ambiguous(transducer: Transducer) -> bool:
    """Whether two runs may mark the same events and so find one complex event twice; tests are not looked at."""
    leaving: dict[int, list[Transition]] = {}
    for t in transducer.transitions:
        leaving.setdefault(t.source, []).append(t)
    seen = {(0, 0, False)}
    todo = list(seen)
    while todo:
        left, right, differ = todo.pop()
        for one in leaving.get(left, ()):
            for other in leaving.get(right, ()):
                if (one.mark is None) != (other.mark is None) or one.excludes(other):
                    continue
                apart = differ or one != other
                if apart and one.mark is not None and {one.target, other.target} <= transducer.final:
                    return True
                pair = (one.target, other.target, apart)
                if pair not in seen:
                    seen.add(pair)
                    todo.append(pair)
    return False


def find_contradiction(transducer: Transducer) -> Expr | None:
    """A test that no events can pass, if such tests leave no way to a final state."""
    impossible = [t for t in transducer.transitions if t.test is not None and not is_satisfiable(_literals(t))]
    ways: dict[int, set[int]] = {}
    for t in transducer.transitions:
        if t not in impossible:
            ways.setdefault(t.source, set()).add(t.target)
    return impossible[0].test if impossible and not transducer.final & reachable_states((0,), ways) else None


def _literals(transition: Transition) -> Iterator[tuple[Expr, bool]]:
    own = transition.condition.where if transition.condition is not None else None
    for test in (own, transition.test):
        if test is not None:
            yield from ((part, True) for part in ex.conjuncts(test))
