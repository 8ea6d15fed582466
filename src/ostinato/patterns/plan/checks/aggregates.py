"""Whether aggregates stand where they can: in SELECT over all events of a variable, in a FILTER over earlier rounds."""

from __future__ import annotations

from collections.abc import Sequence

from ostinato.core import expressions as ex
from ostinato.errors import QueryError
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.nodes import Formula


def check_look_back(call: ex.Call, loops: Sequence[n.Repeat], part: Formula, formula: Formula) -> None:
    """Raise QueryError unless a condition, of a part of the formula, may ask this of earlier rounds, or of a loop that
    has ended. `loops` are around it, innermost first."""
    if call.op == ex.COUNT_DISTINCT:
        raise QueryError(
            "count(DISTINCT …) cannot be used in FILTER: all values would have to be remembered",
            span=call.span,
            fix="it stands in SELECT; a FILTER can ask a loop for prev, first, last, count, sum, avg, min or max",
        )
    names = ex.variables(call)
    loop = next((loop for loop in loops if not names.isdisjoint(n.vdef_plus(loop.body))), None)
    if loop is None:
        loop = _check_ended(call, part, formula)
    if loop is None:
        raise QueryError(
            f"{_call(call, '…')} cannot be used in FILTER",
            span=call.span,
            fix="aggregates stand in SELECT; a FILTER can aggregate the events of a loop: inside it those of rounds so "
            f"far, (T AS x FILTER {_call(call, 'x' if call.op == 'count' else 'x.attr')} …)+, after it all of them",
        )
    check_aggregate(call)
    (name,) = names
    if name not in n.bound(loop.body):
        raise QueryError(
            f"`{name}` is not in every round of the loop, so that {_call(call, '…')} may have no event of a round",
            span=call.span,
            fix=f"name an event {name} in every branch, outside what is optional",
        )


def _check_ended(call: ex.Call, part: Formula, formula: Formula) -> n.Repeat | None:
    """The loop whose events the call asks for, from after it; None if there is none."""
    names = ex.variables(call)
    repeats = (each for each in n.subformulas(formula) if isinstance(each, n.Repeat))
    loops = [each for each in repeats if not names.isdisjoint(n.vdef_plus(each.body))]
    if not loops:
        return None
    name = min(names)
    if len(loops) > 1:
        reason = f"`{name}` is in several loops, so that {_call(call, '…')} does not say of which"
        raise QueryError(reason, span=call.span, fix="give the events of each loop a name of their own")
    if call.op == ex.PREV:
        reason = f"prev({name}.…) stands in a condition inside the loop of `{name}`"
        raise QueryError(reason, span=call.span, fix=f"after the loop, write last({name}.…)")
    if isinstance(part, n.Absent):
        reason = f"what must not come cannot be compared with {_call(call, '…')} of a loop"
        raise QueryError(reason, span=call.span, fix="compare it with single events, or test an event that comes")
    return loops[0]


def check_aggregate(call: ex.Call) -> None:
    """Raise QueryError unless an aggregate goes over the events of one variable."""
    arg = call.args[0]
    if ex.is_attribute(arg) or (isinstance(arg, ex.Variable) and call.op == "count"):
        return
    if isinstance(arg, ex.Variable):
        reason = f"{_name(call)} needs an attribute, not a whole event"
        fix = f"write {_call(call, f'{arg.name}.attr')}"
        if call.op in ("last", "max"):
            fix += f"; the strategy {call.op.upper()} is written without brackets: SELECT {call.op.upper()} {arg.name}"
        raise QueryError(reason, span=call.span, fix=fix)
    if any(isinstance(node, ex.Call) and node.op in ex.AGGREGATES for node in ex.walk(arg)):
        reason, fix = "an aggregate cannot stand inside another", "select the two as items of their own"
        raise QueryError(reason, span=arg.span, fix=fix)
    whole = next((node for node in ex.walk(arg) if isinstance(node, ex.Variable)), None)
    if whole is not None or call.op in ("first", "last"):
        raise QueryError(
            f"{_name(call)} cannot take this",
            span=arg.span,
            fix=f"write {_call(call, 'x.attr')}, or an expression of attributes",
        )
    if len(ex.variables(arg)) != 1:
        reason = f"{_name(call)} aggregates the events of one variable, and this mentions {len(ex.variables(arg))}"
        raise QueryError(reason, span=arg.span, fix="aggregate each variable on its own")


def _call(call: ex.Call, argument: str) -> str:
    """How an aggregate is written."""
    return f"count(DISTINCT {argument})" if call.op == ex.COUNT_DISTINCT else f"{call.op}({argument})"


def _name(call: ex.Call) -> str:
    return "count(DISTINCT …)" if call.op == ex.COUNT_DISTINCT else call.op
