"""What an answer shows of each label: nothing of private ones, and at most so many events of limited ones.

Both belong to a label, since events are a set and more than one rule may derive the same one: all of its rules say it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ostinato.core.expressions import Variable
from ostinato.core.units import duration_text
from ostinato.errors import QueryError, did_you_mean
from ostinato.rules.syntax.nodes import Make, NormalRule, Value


@dataclass(frozen=True)
class RateLimit:
    """At most so many events in any time shorter than `per` (nanoseconds), of each value of the children `by`."""

    most: int
    per: int
    by: tuple[str, ...]


@dataclass(frozen=True)
class Outputs:
    """The labels of which an answer does not show all."""

    private: frozenset[str]
    limits: Mapping[str, RateLimit]

    def describe(self) -> list[str]:
        lines = [f"private: {', '.join(sorted(self.private))}"] if self.private else []
        for label, limit in sorted(self.limits.items()):
            by = f" for each {', '.join(limit.by)}" if limit.by else ""
            lines.append(f"shown of {label}: at most {limit.most} per {duration_text(limit.per)}{by}")
        return lines


def label_outputs(rules: Sequence[NormalRule]) -> Outputs:
    """Raises QueryError where the rules of a label do not agree, or a limit goes by what the head does not show."""
    first: dict[str, NormalRule] = {}
    limits: dict[str, RateLimit] = {}
    for rule in rules:
        label, limit = rule.head.label, rate_limit(rule)
        if label not in first and limit is not None:
            limits[label] = limit
        other = first.setdefault(label, rule)
        if other.private != rule.private:
            public, private = (rule, other) if other.private else (other, rule)
            raise QueryError(
                f"rule {private.number} says that `{label}` is private, and rule {public.number} does not",
                span=public.head.span,
                fix="write PRIVATE DETECT in both: it holds for all events of a label",
            )
        if rule.limit is not None and rule.private:
            reason = f"`{label}` is private: no answer shows it, and there is nothing to limit"
            raise QueryError(reason, span=rule.limit.span, fix="leave out one of the two")
        if limit != limits.get(label):
            raise QueryError(
                f"rules {other.number} and {rule.number} set different limits for `{label}`",
                span=rule.head.span if rule.limit is None else rule.limit.span,
                fix="write the same limit in both: it holds for all events of a label",
            )
    return Outputs(frozenset(label for label, rule in first.items() if rule.private), limits)


def rate_limit(rule: NormalRule) -> RateLimit | None:
    """The limit of a rule, by the children of its head that show the variables."""
    if (limit := rule.limit) is None:
        return None
    shown = dict(copied_attributes(rule.head))
    for name in limit.by:
        if name not in shown:
            raise QueryError(
                f"the limit goes by `var {name}`, which is not the value of a child of the head",
                span=limit.span,
                fix=did_you_mean(name, shown) or f"show it: {rule.head.label} {{ {name.lower()} {{ var {name} }}, … }}",
            )
    return RateLimit(limit.most, limit.per.nanoseconds, tuple(sorted({shown[name] for name in limit.by})))


def copied_attributes(head: Make) -> list[tuple[str, str]]:
    """Variables that children of a head show as they are, each with the label of the child."""
    labels = [child.label for child in head.children if isinstance(child, Make)]
    return [
        (child.children[0].expr.name, child.label)
        for child in head.children
        if isinstance(child, Make)
        and labels.count(child.label) == 1
        and len(child.children) == 1
        and isinstance(child.children[0], Value)
        and isinstance(child.children[0].expr, Variable)
    ]


def unread_private_labels(outputs: Outputs, read: Iterable[str]) -> list[str]:
    """A warning for each private label that no rule reads."""
    return [f"`{label}` is private, and no rule reads it" for label in sorted(outputs.private - set(read))]
