"""From lark's tree of event rules to nodes: query terms, construct terms and expressions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from ostinato.core import expressions as ex
from ostinato.core.regex import find_fault
from ostinato.core.text.build import FUNCTIONS, SharedBuilder, flat_call, unquote_name
from ostinato.core.text.grammar import token_span, unquote
from ostinato.core.units import nanoseconds
from ostinato.core.user_functions import UserFunction
from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.rules.syntax import nodes as n

if TYPE_CHECKING:
    from lark import Token

_T = TypeVar("_T")
SPREADS = ("within", "apart-by")  # of a set of events
_OTHERS = ("mode", "percentile", "quantile", "variance", "var")  # known elsewhere


class TermBuilder(SharedBuilder):
    """Query terms and construct terms."""

    argument = "var X"
    functions: ClassVar[dict[str, tuple[int, float]]] = {
        **FUNCTIONS,
        **dict.fromkeys(ex.STATISTICS, (1, 1)),
        "substring": (2, 3),
        "replace": (3, 3),
    }

    elsewhere = 'give a function of your own in Python: ostinato.rules(…, functions={"name": function})'

    def __init__(self, text: str, own: Mapping[str, UserFunction] | None = None) -> None:
        super().__init__(text)
        self.own = own or {}

    @property
    def known_functions(self) -> Collection[str]:
        return (*self.functions, *self.own)

    def call(self, span: Span, name: Token, *args: ex.Expr) -> ex.Expr:
        if (function := self.own.get(name.lower())) is None:
            return super().call(span, name, *args)
        fewest, most = function.arity
        if not fewest <= len(args) <= most:
            takes = f"{most}" if fewest == most else f"{fewest} to {most}"
            reason = f"{name} takes {takes} argument{'' if most == 1 else 's'}, found {len(args) or 'none'}"
            raise QueryError(reason, span=span, fix=f"it is {name}{function.signature}")
        return ex.UserCall(name.lower(), args, span, function=function)

    def rlike(self, span: Span, *_: object) -> ex.Expr:
        reason = "event rules have no RLIKE: databases do not agree on regular expressions"
        raise QueryError(reason, span=span, fix="use LIKE")

    def joined(self, span: Span, left: ex.Expr, right: ex.Expr) -> ex.Expr:
        return flat_call("concat", (left, right), span)

    def event_time(self, span: Span, side: Token, ident: Token) -> ex.Expr:
        return ex.Variable(n.time_variable(side.lower(), unquote_name(ident)), span)

    # Query terms.

    def label(self, _: Span, token: Token) -> str:
        return token[1:-1].replace("``", "`") if token.startswith("`") else str(token)

    def element(self, span: Span, label: str, brackets: n.Element) -> n.Element:
        return replace(brackets, label=label, span=span)

    def total_unordered(self, span: Span, *terms: n.ChildQuery | None) -> n.Element:
        return n.Element("", _without_none(terms), True, False, span=span)

    def partial_unordered(self, span: Span, *terms: n.ChildQuery | None) -> n.Element:
        return n.Element("", _without_none(terms), False, False, span=span)

    def total_ordered(self, span: Span, *terms: n.ChildQuery | None) -> n.Element:
        return n.Element("", _without_none(terms), True, True, span=span)

    def partial_ordered(self, span: Span, *terms: n.ChildQuery | None) -> n.Element:
        return n.Element("", _without_none(terms), False, True, span=span)

    def anything(self, span: Span, _: Token, brackets: n.Element) -> n.Element:
        return replace(brackets, label=n.ANY_LABEL, is_regex=True, span=span)

    def fitting(self, span: Span, token: Token, brackets: n.Element | None) -> n.Element | n.Fitting:
        regex = token[1:-1].replace("\\/", "/")
        if (fault := find_fault(regex)) is not None:
            fix = "write it as RE2 does: no look-around, no back references"
            raise QueryError(f"not a regular expression: {fault}", span=token_span(token), fix=fix)
        return n.Fitting(regex, span) if brackets is None else replace(brackets, label=regex, is_regex=True, span=span)

    def without(self, span: Span, term: n.QueryTerm) -> n.Without:
        self._check_required(term, "without")
        return n.Without(term, span)

    def position(self, span: Span, *parts: Token | n.QueryTerm | None) -> n.Position:
        *said, term = parts
        place = cast("Token", said[-1])
        self._check_required(cast(n.QueryTerm, term), "position")
        if place.type == "ATTRIBUTE":
            return n.Position(unquote_name(place), cast(n.QueryTerm, term), span)
        number = self._signed(cast("Token | None", said[0]), place)
        if not isinstance(number, int) or number == 0:
            fix = "the first child is at position 1, the last at -1"
            raise QueryError("a position is a whole number other than 0", span=token_span(place), fix=fix)
        return n.Position(number, cast(n.QueryTerm, term), span)

    def _check_required(self, term: n.QueryTerm, word: str) -> None:
        if isinstance(term, n.Optional):
            reason = f"what stands in `{word}` cannot be optional"
            raise QueryError(reason, span=term.span, fix="leave `optional` out")

    def const_number(self, span: Span, minus: Token | None, number: Token) -> n.Const:
        return n.Const(self._signed(minus, number), span)

    def const_string(self, span: Span, token: Token) -> n.Const:
        return n.Const(unquote(token), span)

    def const_truth(self, span: Span, token: Token) -> n.Const:
        return n.Const(token.type == "TRUE", span)

    def bind(self, span: Span, name: Token, term: n.QueryTerm | None) -> n.Bind:
        if n.as_time(unquote_name(name)) is not None:
            raise QueryError(f"{name} is the time of an event", span=token_span(name), fix="choose another name")
        return n.Bind(unquote_name(name), term, span)

    def desc(self, span: Span, term: n.QueryTerm) -> n.Desc:
        return n.Desc(term, span)

    def optional(self, span: Span, term: n.QueryTerm) -> n.Optional:
        return n.Optional(term, span)

    # Construct terms.

    def made(self, span: Span, label: str, *parts: n.ConstructTerm | None) -> n.Make:
        return n.Make(label, _without_none(parts), False, span)

    def made_ordered(self, span: Span, label: str, *parts: n.ConstructTerm | None) -> n.Make:
        return n.Make(label, _without_none(parts), True, span)

    def computed(self, span: Span, expr: ex.Expr | n.Aggregate | n.Temporal) -> n.Value | n.Aggregate | n.Combined:
        if isinstance(expr, n.Aggregate):
            return expr
        over, found = take_aggregates(expr)
        bare = plain(over, "a value of the derived event")
        return n.Combined(bare, found, span) if found else n.Value(bare, span)

    def all(
        self,
        span: Span,
        term: n.Make | n.Value | n.Aggregate | n.Combined,
        group: tuple[str, ...] | None,
        order: tuple[n.Order, ...] | None,
    ) -> n.All:
        if isinstance(term, n.Aggregate | n.Combined):
            name = term.name if isinstance(term, n.Aggregate) else term.aggregates[0].name
            fix = f"leave the outer `all` out: {name}(all …)"
            raise QueryError(f"{name}(…) is a single value, and `all` is for several", span=span, fix=fix)
        return n.All(term, group or (), order or (), span)

    def group(self, _: Span, *variables: ex.Variable) -> tuple[str, ...]:
        check_unique([(variable.name, variable.span) for variable in variables])
        return tuple(variable.name for variable in variables)

    def order(self, _: Span, *keys: n.Order) -> tuple[n.Order, ...]:
        check_unique([(key.name, key.span) for key in keys])
        return keys

    def key(self, span: Span, name: Token, direction: Token | None) -> n.Order:
        return n.Order(unquote_name(name), direction is not None and direction.type == "DESC", span)

    # Expressions.

    def variable(self, span: Span, name: Token) -> ex.Variable:
        return ex.Variable(unquote_name(name), span)

    def string(self, span: Span, token: Token) -> ex.Expr:
        return ex.Literal(unquote(token), span)

    def aggregate(self, span: Span, name: Token, *rest: Token | ex.Expr | tuple[n.Order, ...] | None) -> n.Aggregate:
        op = name.lower()
        *words, expr, order = rest
        word = cast("n.Over", cast("Token", words[0]).lower() if words else "all")
        if op in self.functions and op not in n.AGGREGATES:
            fix = f"leave `{word}` out: {op}(var X)"
            raise QueryError(f"{op} takes one value, not `{word}` of them", span=span, fix=fix)
        if op not in n.AGGREGATES:
            known = f"aggregates are {', '.join(n.AGGREGATES)}"
            near = "stddev" if op in ("std", "stdev") else ""
            fix = known if op in _OTHERS else did_you_mean(near or op, n.AGGREGATES) or known
            raise QueryError(f"unknown aggregate `{name}`", span=token_span(name), fix=fix)
        bare = plain(cast(ex.Expr, expr), f"an argument of {op}")
        return n.Aggregate(op, bare, cast("tuple[n.Order, ...] | None", order) or (), word, span)

    def related(self, span: Span, left: Token, relation: Token, right: Token) -> n.Temporal:
        known = relation.lower()
        if known in SPREADS:
            fix = f"write {{{left}, {right}}} {known} 1 min"
            raise QueryError(f"{known} is for a set of events and a time", span=span, fix=fix)
        if known not in n.RELATIONS:
            reason = f"unknown temporal relation `{relation}`"
            raise QueryError(reason, span=token_span(relation), fix=did_you_mean(known, n.RELATIONS))
        return n.Temporal(known, (unquote_name(left), unquote_name(right)), None, span)

    def spread(self, span: Span, *parts: Token | n.Duration) -> n.Temporal:
        *events, relation, duration = cast("tuple[Token, ...]", parts)
        known = relation.lower()
        if known not in SPREADS:
            reason = f"a set of events is `within` a time or `apart-by` one, not `{relation}`"
            fix = f"write {events[0]} {known} {events[-1]}" if known in n.RELATIONS else did_you_mean(known, SPREADS)
            raise QueryError(reason, span=token_span(relation), fix=fix)
        check_unique([(unquote_name(event), token_span(event)) for event in events])
        return n.Temporal(known, tuple(map(unquote_name, events)), cast(n.Duration, duration), span)

    def duration(self, _: Span, number: Token, unit: Token) -> n.Duration:
        try:
            amount = Decimal(number)
        except InvalidOperation:
            fix = "give a number of a usual size"
            raise QueryError("the number has too many digits", span=token_span(number), fix=fix) from None
        length, text = nanoseconds(number, unit, token_span(unit)), self._slice(number, unit)
        if length == 0 and amount:
            raise QueryError(f"{text} is shorter than a nanosecond", span=token_span(number), fix="give a longer time")
        return n.Duration(length, text)

    def _signed(self, minus: Token | None, number: Token) -> int | float:
        value = cast("int | float", cast(ex.Literal, self.number(token_span(number), number)).value)
        return value if minus is None else -value


def _without_none(parts: tuple[_T | None, ...]) -> tuple[_T, ...]:
    """Without the placeholder of an empty pair of brackets."""
    return tuple(part for part in parts if part is not None)


def check_unique(names: list[tuple[str, Span]]) -> None:
    for index, (name, span) in enumerate(names):
        if name in [before for before, _ in names[:index]]:
            raise QueryError(f"`{name}` is listed twice", span=span, fix="remove one of the two")


def take_aggregates(expr: ex.Expr | n.Aggregate | n.Temporal) -> tuple[ex.Expr, tuple[n.Aggregate, ...]]:
    """The expression with variables in place of its aggregates, and these."""
    found: list[n.Aggregate] = []

    def taken_out(node: ex.Expr | n.Aggregate) -> ex.Expr:
        if not isinstance(node, n.Aggregate):
            return node
        found.append(node)
        return ex.Variable(n.aggregate_variable(len(found) - 1), node.span)

    return ex.transform(cast(ex.Expr, expr), taken_out), tuple(found)


def plain(expr: ex.Expr | n.Aggregate | n.Temporal, what: str) -> ex.Expr:
    """The expression, which has neither temporal conditions nor aggregates in it."""
    for node in ex.walk(cast(ex.Expr, expr)):
        if isinstance(node, n.Temporal):
            reason = f"a temporal condition cannot stand in {what}"
            raise QueryError(reason, span=node.span, fix="combine it in where { … }, with `and`, `or` and `not`")
        if isinstance(node, n.Aggregate):
            raise QueryError(
                f"{node.name}({node.over} …) cannot stand in {what}",
                span=node.span,
                fix="derive it first, as a value of its own: "
                f"x {{ v {{ {node.name}({node.over} var T) }} }}, and use it in another rule",
            )
        if isinstance(node, ex.Call) and node.op in n.AGGREGATES:
            fix = f"write {node.op}(all {ex.to_text(node.args[0], variable=lambda name: f'var {name}')})"
            raise QueryError(f"{node.op} goes over several values, and needs `all`", span=node.span, fix=fix)
    return cast(ex.Expr, expr)
