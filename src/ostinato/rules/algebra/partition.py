"""Which events never meet, so that they can be read apart: rules by a key that all they read shares.

A variable that every literal of a rule binds to an attribute, and that its head carries, keeps values apart: events
with different values of it are never in one derived event, and no two values derive the same event. Rules that derive
or read the same derived label go by one key; rules without a key are read together, undivided.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product

from ostinato.rules.plan.embedded_cel import read_labels
from ostinato.rules.plan.outputs import copied_attributes, rate_limit
from ostinato.rules.plan.strata import label_uses
from ostinato.rules.syntax.nodes import At, Bind, CelPattern, Element, NormalRule, PeriodicTimer

_MOST = 1_000  # ways to choose a key that are looked at
_MANY_UNITS = 8  # each costs a group of rows and a state; so many rules rather share theirs

Choice = Mapping[str, str]  # label -> the attribute whose value goes by


@dataclass(frozen=True)
class RuleUnit:
    """Rules that are evaluated together. `rules` are their numbers, `labels` what they read; None: all, for a
    pattern over all that comes in, or a periodic timer.

    `keys` are attributes of each label, as many of each: events that differ in one of them never meet. Without any, all
    events of the unit may meet.
    """

    rules: tuple[int, ...]
    labels: frozenset[str] | None
    keys: Mapping[str, tuple[str, ...]]


def partition_rules(
    rules: Sequence[NormalRule], plain: Collection[str], tables: Mapping[str, Collection[str] | None] | None = None
) -> tuple[RuleUnit, ...]:
    """The units of a program, those with a key first. `plain` are the attributes of incoming events with one value, and
    `tables` the same of rows that are given beside the stream, by their label; None: these are not read apart."""
    known = tables or {}
    derived = {rule.head.label for rule in rules}
    made: list[tuple[list[NormalRule], list[Choice]]] = []
    whole: list[NormalRule] = []
    for component in _components(rules):
        choices = _combine_choices([_choices(rule, component, plain, known) for rule in component])
        if choices:
            made.append((component, choices))
        else:
            whole += component
    merged = _merge_units(made)
    if len(merged) > _MANY_UNITS:
        merged = _merge_disjoint_units(merged)
    units = [_unit(members, choices, derived) for members, choices in merged]
    return tuple(units) + ((_unit(whole, [], derived),) if whole else ())


def describe_units(units: Iterable[RuleUnit], unkeyed: str = "in one task") -> list[str]:
    """A line for each unit, for `explain`. `unkeyed` says how rules without a key are run."""
    lines = []
    for unit in units:
        rules = f"rule{'s' if len(unit.rules) > 1 else ''} {', '.join(map(str, unit.rules))}"
        if unit.keys:
            keys = "; ".join(f"{label} by {', '.join(keys)}" for label, keys in sorted(unit.keys.items()))
            lines.append(f"{rules}: {keys}")
        else:
            lines.append(f"{rules}: {unkeyed} (no variable is bound by all that they read and carried by their heads)")
    return lines


def _unit(rules: Iterable[NormalRule], choices: Sequence[Choice], derived: Collection[str]) -> RuleUnit:
    members = list(rules)
    read = frozenset(use.label for rule in members for use in label_uses(rule))
    labels = None if any(_reads_all(rule, derived) for rule in members) else read
    chosen: list[Choice] = []
    for choice in choices:  # two variables in one attribute of some label say no more than one
        if all(attribute != other[label] for other in chosen for label, attribute in choice.items()):
            chosen.append(choice)
    keys = {label: tuple(choice[label] for choice in chosen) for label in sorted(chosen[0] if chosen else ())}
    return RuleUnit(tuple(sorted({rule.number for rule in members})), labels, keys)


def _components(rules: Sequence[NormalRule]) -> Iterator[list[NormalRule]]:
    """Rules that derive the same label, or one that another reads, belong together."""
    derived = {rule.head.label for rule in rules}
    left = list(rules)
    while left:
        members = [left.pop(0)]
        labels = _derived_labels(members[0], derived)
        while near := [rule for rule in left if labels & _derived_labels(rule, derived)]:
            members += near
            left = [rule for rule in left if rule not in near]
            labels = labels.union(*(_derived_labels(rule, derived) for rule in near))
        yield members


def _derived_labels(rule: NormalRule, derived: Collection[str]) -> set[str]:
    return {rule.head.label} | {use.label for use in label_uses(rule) if use.label in derived}


def _choices(
    rule: NormalRule,
    component: Sequence[NormalRule],
    plain: Collection[str],
    tables: Mapping[str, Collection[str] | None],
) -> list[Choice]:
    """The keys that the rule can go by: for each variable, attributes of its literals and its head."""
    if not rule.events or any(isinstance(each, CelPattern | PeriodicTimer) for each in (*rule.events, *rule.timers)):
        return []
    derived = {other.head.label for other in component}
    bound = []
    for query in (*rule.events, *rule.collects, *rule.negations):
        label = query.term.label
        known: Collection[str] | None = None if label in derived else plain
        if isinstance(query, At):
            given = tables.get(label, ())
            known = () if given is None else None if known is None else {*known, *given}
        pairs = _bound(query.term, known)
        if isinstance(query, At) and query.key is not None:  # a row and the one that replaces it belong together
            key = [child.label for child in query.key.children if isinstance(child, Element)]
            pairs = [pair for pair in pairs if pair[1] in key]
        bound.append((label, pairs))
    limit = rate_limit(rule)  # what counts together stays together
    carried = [pair for pair in copied_attributes(rule.head) if limit is None or pair[1] in limit.by]
    bound.append((rule.head.label, carried))
    found: list[Choice] = []
    for name in {name: None for name, _ in bound[0][1]}:
        places = [[attribute for other, attribute in pairs if other == name] for _, pairs in bound]
        for attributes in islice(product(*places), _MOST):
            choice: dict[str, str] = {}
            if all(
                choice.setdefault(label, attribute) == attribute
                for (label, _), attribute in zip(bound, attributes, strict=True)
            ):
                found.append(choice)
    return found


def _reads_all(rule: NormalRule, derived: Collection[str]) -> bool:
    """Whether events of any label matter: to a pattern, and to how long a periodic timer goes on."""
    patterns = (each for each in rule.events if isinstance(each, CelPattern))
    over_all = any(not read_labels(each.query, each.language, derived) for each in patterns)
    return over_all or any(isinstance(each, PeriodicTimer) for each in rule.timers)


def _bound(term: Element, plain: Collection[str] | None) -> list[tuple[str, str]]:
    """Variables with the attributes whose whole value they are."""
    return [
        (child.children[0].name, child.label)
        for child in term.children
        if isinstance(child, Element)
        and not child.is_regex
        and (plain is None or child.label in plain)
        and len(child.children) == 1
        and isinstance(child.children[0], Bind)
        and child.children[0].term is None
    ]


def _combine_choices(options: Sequence[Sequence[Choice]]) -> list[Choice]:
    """All ways to take one choice of each rule without giving a label two attributes."""
    found: list[Choice] = [{}]
    for choices in options:
        found = [
            {**one, **other}
            for one, other in islice(product(found, choices), _MOST)
            if all(one.get(label, attribute) == attribute for label, attribute in other.items())
        ]
    return [dict(each) for each in dict.fromkeys(tuple(sorted(choice.items())) for choice in found) if each]


def _merge_units(made: Iterable[tuple[list[NormalRule], list[Choice]]]) -> list[tuple[list[NormalRule], list[Choice]]]:
    """Rules that read the same labels by the same attributes are one unit: each event goes there once."""
    units: list[tuple[list[NormalRule], list[Choice]]] = []
    for rules, choices in made:
        for place, (members, known) in enumerate(units):
            both = _combine_choices([known, choices])
            if both and known[0].keys() & choices[0].keys():
                units[place] = members + rules, both
                break
        else:
            units.append((rules, choices))
    return units


def _merge_disjoint_units(
    units: Iterable[tuple[list[NormalRule], list[Choice]]],
) -> list[tuple[list[NormalRule], list[Choice]]]:
    """Units that read no label by two attributes are one, each label by its own."""
    merged: list[tuple[list[NormalRule], dict[str, str]]] = []
    for rules, (choice, *_) in units:
        for members, known in merged:
            if all(known.get(label, attribute) == attribute for label, attribute in choice.items()):
                members += rules
                known |= choice
                break
        else:
            merged.append(([*rules], dict(choice)))
    return [(rules, [choice]) for rules, choice in merged]
