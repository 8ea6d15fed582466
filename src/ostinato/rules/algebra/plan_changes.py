"""Rules that come to a plan, or leave it, while the others stay as they are.

That is so where nothing else reads or derives the labels that they derive: then they come last, and no other rule is
planned in another way. Where it is not so, the whole program has to be planned anew.
"""

from __future__ import annotations

from ostinato.rules.algebra.nodes import Match, Plan
from ostinato.rules.algebra.query_plan import RulePlan, plan_rules
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.outputs import Outputs
from ostinato.rules.plan.strata import Strata
from ostinato.rules.syntax.nodes import At, CelPattern, PeriodicTimer, Ruleset


def plan_beside(plan: RulePlan, program: Ruleset, since: int) -> tuple[RulePlan, RulePlan] | None:
    """The plan with more rules, those of a deployment, and their own part of it; None where others depend on them.

    Raises QueryError where a rule depends on its own result through a strict step.
    """
    rules = normalise(program)
    derived = {rule.head.label for rule in rules}
    literals = (each for rule in rules for each in (*rule.events, *rule.timers, *rule.collects, *rule.negations))
    if any(isinstance(each, CelPattern | PeriodicTimer | At) for each in literals):
        return None
    if derived & (plan.strata.heights.keys() | plan.strata.read):
        return None
    known = plan.strata
    part = plan_rules(rules, plan.longest, lambda rule: since, plan)
    strata, outputs = part.strata, part.outputs
    whole = RulePlan(
        Strata(
            (*known.strata, *strata.strata),
            {**known.heights, **strata.heights},
            {**strata.incoming, **known.incoming},
            known.read | strata.read,
        ),
        (*plan.translated, *part.translated),
        Plan((*plan.query_plan.definitions, *part.query_plan.definitions)),
        {**plan.relevance, **part.relevance},
        plan.longest,
        part.durations,
        Outputs(plan.outputs.private | outputs.private, {**plan.outputs.limits, **outputs.limits}),
    )
    return whole, part


def plan_without(plan: RulePlan, since: int) -> RulePlan | None:
    """The plan without the rules of a deployment; None where others depend on them."""
    gone = [each.rule for each in plan.translated if each.since == since]
    numbers, derived = set(map(id, gone)), {rule.head.label for rule in gone}
    kept = tuple(each for each in plan.query_plan.definitions if each.since != since)
    read = {each.node.stream for each in kept if isinstance(each.node, Match)}
    others = {each.rule.head.label for each in plan.translated if each.since != since}
    if derived & (read | others) or not all(isinstance(stream, str) for stream in plan.read):
        return None
    known, outputs = plan.strata, plan.outputs
    strata = tuple(
        groups for of in known.strata if (groups := tuple(each for each in of if id(each.rules[0]) not in numbers))
    )
    return RulePlan(
        Strata(
            strata,
            {label: height for label, height in known.heights.items() if label not in derived},
            {label: span for label, span in known.incoming.items() if label in read},
            frozenset(map(str, read)),
        ),
        tuple(each for each in plan.translated if each.since != since),
        Plan(kept),
        {each.name: plan.relevance[each.name] for each in kept if each.rule is None},
        plan.longest,
        {label: longest for label, longest in plan.durations.items() if label not in derived},
        Outputs(outputs.private - derived, {label: of for label, of in outputs.limits.items() if label not in derived}),
    )
