"""From a program to its query plan, every stage kept so that `explain` can show it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from ostinato.errors import QueryError
from ostinato.rules.algebra.difference_bounds import DifferenceBounds, annotate_joins
from ostinato.rules.algebra.materialise import materialise
from ostinato.rules.algebra.nodes import (
    CelStream,
    Construct,
    Match,
    Merge,
    Node,
    PeriodicStream,
    Plan,
    Stream,
    stream_label,
)
from ostinato.rules.algebra.relevance import Relevance, temporal_relevance
from ostinato.rules.algebra.rewrite import push_antijoins, push_projections, push_selections
from ostinato.rules.algebra.translate import translate
from ostinato.rules.plan.embedded_cel import parse_pattern
from ostinato.rules.plan.normal_form import normalise
from ostinato.rules.plan.outputs import Outputs, label_outputs
from ostinato.rules.plan.strata import Group, Strata, stratify
from ostinato.rules.syntax.nodes import At, Element, NormalRule, Ruleset


@dataclass(frozen=True)
class TranslatedRule:
    """A rule, its CERA expression (Figure 8), and the same after all rewrites."""

    rule: NormalRule
    node: Construct
    rewritten: Node
    bounds: DifferenceBounds
    since: int


@dataclass(frozen=True)
class RulePlan:
    strata: Strata
    translated: tuple[TranslatedRule, ...]  # in the order of evaluation
    query_plan: Plan
    relevance: Mapping[str, Relevance]
    longest: float  # how many nanoseconds an event that comes in lasts at most
    durations: Mapping[str, float]  # the same of events of each label that rules derive
    outputs: Outputs

    @cached_property
    def read(self) -> frozenset[Stream]:
        """The streams that something matches."""
        nodes = (each.node for each in self.query_plan.definitions)
        return frozenset(node.stream for node in nodes if isinstance(node, Match))

    @cached_property
    def tables(self) -> Mapping[str, tuple[str, ...]]:
        """The tables that rules look into, each with its key."""
        rules = (each.rule for each in self.translated)
        found = (each for rule in rules for each in (*rule.collects, *rule.negations) if isinstance(each, At))
        keys = {each.term.label: each.key for each in found if each.key is not None}
        labels = {
            label: [child.label for child in key.children if isinstance(child, Element)] for label, key in keys.items()
        }
        return {label: tuple(labels[label]) for label in sorted(labels)}

    @property
    def groups(self) -> tuple[Group, ...]:
        return self.strata.groups


def plan_program(program: Ruleset, longest: float = inf, since: Mapping[int, int] | None = None) -> RulePlan:
    """`longest`: how many nanoseconds an incoming event lasts at most, where that is known. `since`: by the numbers
    of rules, the deployment they came with."""
    came = since or {}
    return plan_rules(normalise(program), longest, lambda rule: came.get(rule.number, 0))


def plan_rules(
    rules: Sequence[NormalRule], longest: float, since: Callable[[NormalRule], int], beside: RulePlan | None = None
) -> RulePlan:
    """The plan of these rules alone, which may read what a plan `beside` them derives."""
    strata, outputs = stratify(rules, beside.strata.heights if beside is not None else None), label_outputs(rules)
    durations = dict(beside.durations) if beside is not None else {}

    def lasts(stream: Stream) -> float:
        if isinstance(stream, CelStream):
            if stream.language == "sql":
                return inf
            window = parse_pattern(stream.query, stream.language).window
            events = max((durations.get(label, longest) for label in stream.labels), default=longest)
            return events + window.amount if window is not None and window.kind == "time" else inf
        if isinstance(stream, PeriodicStream):
            return stream.nanoseconds if stream.kind == "tumbling" else 0
        return durations.get(stream_label(stream) or "", longest)

    derived = strata.derived | (beside.strata.derived if beside is not None else frozenset())
    translated: list[TranslatedRule] = []
    for group in strata.groups:
        made = [_translate_rule(rule, lasts, since(rule), derived) for rule in group.rules]
        translated += made
        for each in made:
            label, merge = each.rule.head.label, each.node.input
            assert isinstance(merge, Merge)
            known = inf if group.recursive else each.bounds.longest(merge)
            # Events of a label that rules derive may also come in.
            durations[label] = max(known, durations.get(label, longest))
    taken = beside.query_plan.by_name if beside is not None else ()
    plan = materialise(((each.rule.number, each.since, each.rewritten) for each in translated), taken)
    return RulePlan(strata, tuple(translated), plan, temporal_relevance(plan), longest, durations, outputs)


def _translate_rule(
    rule: NormalRule, lasts: Callable[[Stream], float], since: int, derived: Collection[str]
) -> TranslatedRule:
    node = translate(rule, since, derived)
    bounds = DifferenceBounds(node, rule.where, lasts)
    _check_end(rule, node, bounds)
    rewritten = annotate_joins(push_projections(push_selections(push_antijoins(node))), bounds)
    return TranslatedRule(rule, node, rewritten, bounds, since)


def _check_end(rule: NormalRule, node: Construct, bounds: DifferenceBounds) -> None:
    """What has ended by now follows from what has come by now (Theorem 0.1): no event may end before it is known."""
    end = rule.interval.end if rule.interval is not None else None
    if end is None or bounds.contradictory or bounds.is_last((end.ident, end.side), node.events):
        return
    later = next(each for each in node.events if bounds.most((each, "end"), (end.ident, end.side)) > 0)
    raise QueryError(
        f"the event would not be known when it ends: `{later}` may end later than {end.side}({end.ident})",
        span=end.span,
        fix=f"leave `to` out: it ends with the last of its events; or say in where what makes sure that `{later}` ends "
        "first",
    )
