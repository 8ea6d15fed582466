"""What is legal in a query but probably not meant."""

from __future__ import annotations

from ostinato.core import expressions as ex
from ostinato.patterns.plan.passes import normalise
from ostinato.patterns.plan.rewrite import flatten, own_tests, simplify, split_predicate
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.earlier_rounds import earlier_names, first_round, name_earlier
from ostinato.patterns.syntax.nodes import Formula


def find_warnings(query: n.Query) -> list[str]:
    """What is legal but probably not meant, one sentence each."""
    found = []
    formula = normalise(query)[-1][1].formula
    if isinstance(formula, n.Never):
        found.append(f"the formula can never match: {_why_never(query.formula)}")
    repeats = any(isinstance(part, n.Repeat) and part.most is None for part in n.subformulas(query.formula))
    if query.window is None and query.strategy == "ALL" and repeats:
        found.append("without WITHIN, state grows with the stream and matches can be exponentially many; add WITHIN")
    fewest = n.shortest_match(query.formula)
    if query.window is not None and query.window.kind == "events" and query.window.amount < fewest:
        found.append(f"a match has at least {fewest} events, so WITHIN {query.window.amount} EVENTS can never match")
    for relation in query.relations:
        if relation not in n.event_types(query.formula) and None not in n.event_types(query.formula):
            found.append(f"FROM names {relation}, but the formula does not use it")
    found += [_why_no_round(loop) for loop in n.subformulas(name_earlier(query.formula)) if _never_begins(loop)]
    for test in (test for part in n.subformulas(query.formula) for test in own_tests(part)):
        for node in ex.walk(test):
            if isinstance(node, ex.Call) and node.op in ex.COMPARISONS and ex.Literal(None) in node.args:
                found.append(f"`{ex.to_text(node)}` is unknown for every event; use IS NULL or IS NOT NULL")
    return found


def _never_begins(formula: Formula) -> bool:
    """Whether it is a loop whose conditions need a round before the first."""
    if not isinstance(formula, n.Repeat) or not (earlier := earlier_names(formula)):
        return False
    return isinstance(_simplified(first_round(formula.body, earlier)), n.Never)


def _simplified(formula: Formula) -> Formula:
    return simplify(n.rebuild(formula, _simplified))


def _why_no_round(loop: Formula) -> str:
    tests = (test for part in n.subformulas(loop) for test in own_tests(part))
    earlier = next(node for test in tests for node in ex.attributes(test) if isinstance(node, ex.Earlier))
    test = next(test for part in n.subformulas(loop) for test in own_tests(part) if earlier in ex.attributes(test))
    name = earlier.variable.removeprefix(n.earlier_name(""))
    begins = f"count({name}) = 0" if earlier.op == "count" else f"{earlier.name} IS NULL"
    return (
        f"the loop never begins: {earlier.name} has no event in its first round, so that `{ex.to_text(test)}` does not "
        f"pass; write {begins} OR {ex.to_text(test, 'or')}"
    )


def _why_never(formula: Formula) -> str:
    for part in n.subformulas(flatten(formula)):
        if isinstance(part, n.Sequence):
            seen: set[str] = set()
            for child in part.parts:
                twice = sorted(seen & n.bound(child))
                if twice:
                    return f"`{twice[0]}` would have to be two events at once; give the later one another name"
                seen |= n.bound(child)
        if isinstance(part, n.Filter) and not split_predicate(part.predicate):
            return f"FILTER {ex.to_text(part.predicate)} is never true"
    return "every branch of its OR binds a variable twice or has a filter that is never true"
