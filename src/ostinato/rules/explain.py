"""What `explain` prints of a program: its rules in CERA, the query plan, what steps compute, what is kept how long."""

from __future__ import annotations

from ostinato.core.units import duration_text
from ostinato.rules.algebra.difference import difference
from ostinato.rules.algebra.format import format_definition, format_node
from ostinato.rules.algebra.nodes import Definition, Match, Node, RelevanceBound, Rows
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.algebra.relevance import Relevance
from ostinato.rules.plan.embedded_cel import parse_pattern
from ostinato.rules.syntax.nodes import CelPattern

_MICROSECOND = 1_000  # nanoseconds; less comes from `before` and the like, and is not worth showing


def explain_program(plan: RulePlan) -> str:
    """The text of `explain`, section by section."""
    sections = [
        ("strata", "\n".join(_strata(plan))),
        (
            "rules in CERA",
            "\n\n".join(f"rule {each.rule.number}:\n{format_node(each.node)}" for each in plan.translated),
        ),
        ("query plan", "\n".join(format_definition(definition) for definition in plan.query_plan.definitions)),
        (
            "each step adds",
            "\n".join(_step(definition) for definition in plan.query_plan.definitions if _is_computed(definition)),
        ),
        (
            "kept",
            "\n".join(
                [
                    *(
                        f"{name}: {_explain_retention(found, plan.query_plan.by_name[name].node)}"
                        for name, found in plan.relevance.items()
                    ),
                    *unbounded_pattern_warnings(plan),
                ]
            ),
        ),
    ]
    return "\n\n".join(f"-- {title}\n{_indent(text)}" for title, text in sections)


def unbounded_pattern_warnings(plan: RulePlan) -> list[str]:
    """A warning for each CEL query whose partial matches are never dropped."""
    patterns = [event for each in plan.translated for event in each.rule.events if isinstance(event, CelPattern)]
    return [
        f"the partial matches of `{query}` are kept for ever: give the query a WITHIN"
        for query, language in dict.fromkeys((pattern.query, pattern.language) for pattern in patterns)
        if language != "sql" and parse_pattern(query, language).window is None
    ]


def _strata(plan: RulePlan) -> list[str]:
    lines = []
    for number, groups in enumerate(plan.strata.strata, 1):
        parts = []
        for group in groups:
            rules = ", ".join(f"{rule.head.label} (rule {rule.number})" for rule in group.rules)
            parts.append(f"{rules} to its fixpoint" if group.recursive else rules)
        lines.append(f"{number}: {'; '.join(parts)}")
    incoming = ", ".join(sorted(plan.strata.incoming)) or "none"
    tables = [f"table: {label}, the last of each {', '.join(key)}" for label, key in plan.tables.items()]
    return [*lines, f"events that come in: {incoming}", *tables, *plan.outputs.describe()]


def _is_computed(definition: Definition) -> bool:
    return not isinstance(definition.node, Match)


def _step(definition: Definition) -> str:
    return f"Δ{format_definition(Definition(definition.name, difference(definition.node)))}"


def _explain_retention(found: Relevance, node: Node) -> str:
    if isinstance(node, Rows):
        return _explain_rows(found)
    if not found.stored:
        return "not kept: only what a step adds is needed"
    if found.unbounded:
        return _forever(found)
    if not found.uses:
        return "until its own end, for a timer"
    waits = [_until(bound) for use in found.uses for bound in use.bounds]
    return f"until {' and '.join(dict.fromkeys(waits))}"


def _explain_rows(found: Relevance) -> str:
    """How many rows of each key: what was replaced, what is to come may still read."""
    if found.unbounded:
        return f"every row of each key {_forever(found)}"
    later = max((offset for use in found.uses for bound in use.bounds for _, offset in bound.until), default=0)
    last = "the last row of each key"
    size = round(later / _MICROSECOND) * _MICROSECOND
    return f"{last}, and each until {duration_text(size)} after another replaced it" if size > 0 else last


def _until(bound: RelevanceBound) -> str:
    parts = []
    for time, offset in bound.until:
        at = "the origin of time" if time is None else f"{time[0]}.{time[1]}"
        size = round(abs(offset) / _MICROSECOND) * _MICROSECOND
        parts.append(f"{at} {'+' if offset > 0 else '-'} {duration_text(size)}" if size else at)
    return f"min{{{', '.join(parts)}}}" if len(parts) > 1 else parts[0]


def _forever(found: Relevance) -> str:
    reasons = [f"{user} may wait for `{event}` at any later time" for user, event in found.unbounded]
    return (
        f"is kept for ever: {'; '.join(reasons)} (bound it with `{{…}} within …` or a timer, "
        "or say how long an event lasts at most with the option `longest`)"
    )


def _indent(text: str) -> str:
    return "\n".join(f"   {line}" for line in text.splitlines())
