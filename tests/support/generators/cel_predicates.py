"""Random conditions of CEL queries: on one event, between events, and on earlier rounds of a loop."""

from __future__ import annotations

from ostinato.core.expressions import (
    COMPARISONS,
    CURRENT,
    FIELD,
    Attribute,
    Call,
    Duration,
    Expr,
    Literal,
    Variable,
)
from ostinato.core.text.build import flat_call
from support.generators.cel_streams import SECOND, START
from support.generators.draws import Draw, pick, rarely


def predicate(draw: Draw, variable: str) -> Expr:
    """A condition on one variable, mostly easy to meet."""
    if not rarely(draw):
        return _comparison(draw, variable)
    both = flat_call(pick(draw, "and", "or"), [_comparison(draw, variable), _comparison(draw, variable)])
    return pick(draw, both, Call("not", (both,)))


def _comparison(draw: Draw, variable: str) -> Expr:
    v, s = Attribute(variable, "v"), Attribute(variable, "s")
    kind = pick(
        draw, "usual", "usual", "usual", "number", "number", "text", "text", "null", "in", "like", "rlike", "nested",
        "duration", "case", "cast",
    )  # fmt: skip
    if kind == "usual":  # equal conditions in different places are a case of their own
        return Call(">", (v, Literal(0)))
    if kind == "number":
        odd = (Call("+", (v, Literal(1))), Call("%", (v, Literal(2))), Call("/", (Literal(2), v)), Call("abs", (v,)))
        left = pick(draw, *odd) if rarely(draw) else v
        return Call(pick(draw, ">=", "<=", "!=", ">", "<", "="), (left, Literal(pick(draw, 0, 1, -1, 2, -2))))
    if kind == "text":
        return Call(pick(draw, "!=", "=", "<="), (s, Literal(pick(draw, "a", "b", "c"))))
    if kind == "null":
        return pick(draw, Call("not", (Call("is_null", (v,)),)), Call("is_null", (s,)))
    if kind == "in":
        choices = pick(draw, (0, 1), (0, 1, -1), (2, None))
        return Call("in", (v, *map(Literal, choices)))
    if kind == "rlike":
        return Call("rlike", (s, Literal(pick(draw, "a|b", "^[bc]$", "", "^a*$"))))
    if kind == "nested" and variable != CURRENT:  # in an SREM `o.v` would be of a register o
        o = Attribute(variable, "o")
        deep = Call(FIELD, (Call(FIELD, (o, Literal("p"))), Literal("s")))
        return pick(
            draw, Call(">", (Call(FIELD, (o, Literal("v"))), Literal(0))), Call("=", (deep, Literal("a"))),
            Call("is_null", (deep,)),
        )  # fmt: skip
    if kind == "case":
        case = Call("case", (Call(">", (v, Literal(0))), s, Call("is_null", (v,)), Literal("b"), Literal(None)))
        return Call("=", (case, Literal(pick(draw, "b", "a"))))
    if kind == "cast":
        number = Call("try_cast", (Call("concat", (Call("try_cast", (v, Literal("text"))), s)), Literal("int")))
        return pick(draw, Call("try_cast", (v, Literal("boolean"))), Call("is_null", (number,)))
    if kind == "duration":
        time = pick(draw, Attribute(variable, "n"), Call("-", (Attribute(variable, "t"), Literal(START))))
        return Call(pick(draw, "<", ">=", "!="), (time, Literal(_duration(draw))))
    return Call("like", (s, Literal(pick(draw, "%", "a%", "_", "%b"))))


def _duration(draw: Draw) -> Duration:
    return Duration(int(pick(draw, 2, 1, 0, 2.5, 5, -1) * SECOND))


def condition(draw: Draw, names: list[str], correlated: bool) -> Expr:
    """A condition over one or two of the variables; only with `correlated` it compares them with each other."""
    first, second = pick(draw, *names), pick(draw, *names)
    if first != second and correlated and pick(draw, True, True, False):
        return correlated_test(draw, first, second, pick(draw, *names))
    if first == second or pick(draw, True, True, False):
        return predicate(draw, first)
    both = flat_call(pick(draw, "and", "or"), [predicate(draw, first), predicate(draw, second)])
    return pick(draw, both, both, Call("not", (both,)))


def correlated_test(draw: Draw, first: str, second: str, third: str) -> Expr:
    """A condition that compares events with each other."""
    attribute = pick(draw, "k", "v", "s")
    equal = Call("=", (Attribute(first, attribute), Attribute(second, attribute)))
    kind = pick(
        draw, "equal", "equal", "compare", "compare", "calculate", "both", "or", "not", "in", "null", "time", "nested",
        "either",
    )  # fmt: skip
    if kind == "equal":
        return equal
    if kind == "time":
        time = pick(draw, "n", "t")
        one, other, span = Attribute(first, time), Attribute(second, time), Literal(_duration(draw))
        between = Call("-", (other, one))
        left, right = pick(
            draw, (between, span), (Call("+", (one, span)), other), (Call("abs", (between,)), span),
            (Call("+", (between, span)), Literal(Duration(SECOND))),
        )  # fmt: skip
        return Call(pick(draw, *COMPARISONS), (left, right))
    if kind == "nested":
        fields = tuple(Call(FIELD, (Attribute(name, "o"), Literal("v"))) for name in (first, second))
        return Call(pick(draw, *COMPARISONS), fields)
    compared = Call(pick(draw, *COMPARISONS), (Attribute(first, attribute), Attribute(second, attribute)))
    if kind == "compare":
        return compared
    if kind == "calculate":
        left = Call(pick(draw, "+", "-", "*", "/", "%"), (Attribute(first, "v"), Attribute(second, "v")))
        right = pick(draw, Attribute(third, "v"), Literal(1), Call("neg", (Attribute(second, "v"),)))
        return Call(pick(draw, *COMPARISONS), (left, right))
    if kind == "either":  # of two conditions, each of which is known in part before its last event
        whole = Call(
            "or", (Call("and", (compared, predicate(draw, first))), Call("and", (predicate(draw, third), equal)))
        )
        return pick(draw, whole, Call("not", (whole,)))
    if kind == "both":
        return Call("and", (equal, Call(pick(draw, *COMPARISONS), (Attribute(first, "v"), Attribute(second, "v")))))
    if kind == "or":
        return Call("or", (compared, predicate(draw, third)))
    if kind == "not":
        return Call("not", (Call("and", (compared, predicate(draw, third))),))
    if kind == "in":
        return Call("in", (Attribute(first, "v"), Attribute(second, "v"), Literal(2)))
    return Call("is_null", (Call("+", (Attribute(first, "v"), Attribute(second, "v"))),))


def looking_back(draw: Draw, earlier: str, own: str) -> Expr:
    """A condition inside a loop on what `earlier` was in the rounds before; mostly one that the first round passes."""
    attribute = pick(draw, "v", "v", "v", "s")
    value, other = Attribute(earlier, attribute), Attribute(own, attribute)
    ops = ("prev", "prev", "min", "max", "first", "last", *(("sum", "sum", "avg") if attribute == "v" else ()))
    asked = Call(pick(draw, *ops), (value,))
    kind = pick(draw, "compare", "compare", "compare", "count", "calculate")
    if kind == "count":
        counted = pick(draw, Variable(earlier), Variable(earlier), value)
        number = pick(draw, Literal(1), Attribute(own, "v"))
        return Call(pick(draw, *COMPARISONS), (Call("count", (counted,)), number))
    compared = Call(pick(draw, *COMPARISONS), (asked, other))
    if kind == "calculate" and attribute == "v":
        compared = Call(pick(draw, *COMPARISONS), (Call(pick(draw, "+", "-", "*"), (asked, other)), Literal(1)))
    if kind == "compare" and rarely(draw):
        compared = Call("and", (compared, Call(pick(draw, *COMPARISONS), (value, Call("prev", (value,))))))
    first = pick(draw, Call("is_null", (asked,)), Call("=", (Call("count", (Variable(earlier),)), Literal(0))))
    return pick(draw, flat_call("or", [first, compared]), flat_call("or", [compared, first]), compared)


def draw_lasting(draw: Draw) -> int:
    """The time of FOR."""
    return int(pick(draw, 2, 1, 3, 0, 2.5, 5) * SECOND)
