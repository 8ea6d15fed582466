"""A query plan bound to the attributes of incoming events: what every stream, point and variable holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from ostinato.core.types import check_expression
from ostinato.errors import QueryError, Span
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.algebra.translate import PATTERN
from ostinato.rules.relational.head_types import Part, parts
from ostinato.rules.relational.kinds import TERM, Attributes, Kind, common, family, untyped_as_text
from ostinato.rules.relational.matching import Matching, matching
from ostinato.rules.syntax.nodes import Condition, Data, Temporal


@dataclass
class Binding:
    """`kinds` are those of the variables of each point; `parts` the columns that the head of each rule makes."""

    attributes: dict[str, Attributes] = field(default_factory=dict)  # of each stream that something matches
    matchings: dict[str, Matching] = field(default_factory=dict)  # by the point they define
    kinds: dict[str, Mapping[str, Kind]] = field(default_factory=dict)
    parts: dict[str, list[Part]] = field(default_factory=dict)  # by the definition of the rule
    derived: dict[str, dict[str, Kind]] = field(default_factory=dict)  # label -> attributes

    def of(self, node: cera.Node) -> Mapping[str, Kind]:
        """What the variables of a node hold."""
        if isinstance(node, cera.Point):
            return self.kinds[node.name]
        if isinstance(node, cera.Rename):
            names = {old: new for new, old in node.data}
            return {names.get(name, name): kind for name, kind in self.of(node.input).items()}
        if isinstance(node, cera.Join | cera.TemporalJoin):
            left, right = self.of(node.left), self.of(node.right)
            # A typed value that equals a TERM says more than it.
            return {
                name: left[name] if left.get(name) is not TERM else right.get(name, TERM) for name in node.schema.data
            }
        if isinstance(node, cera.AntiJoin):
            return self.of(node.left)
        if isinstance(node, cera.Project):
            of = self.of(node.input)
            return {name: of[name] for name in node.data}
        below = cera.inputs(node)
        return self.of(below[0]) if below else {}


def bind(plan: RulePlan, incoming: Attributes, patterns: Mapping[str, Attributes]) -> Binding:
    """`patterns`: what the matches of each CEL query hold. Raises QueryError where a rule cannot fit the events."""
    binding = Binding()
    named = _named(plan.plan)
    waiting = list(plan.plan.definitions)
    recursive = {rule.head.label for group in plan.groups if group.recursive for rule in group.rules}
    patient = True  # what comes in under the label of a recursive rule tells less than what the rule derives
    while waiting:
        later: list[cera.Definition] = []
        failed: QueryError | None = None
        for definition in waiting:
            node = definition.node
            if patient and isinstance(node, cera.Match) and node.stream in recursive - binding.derived.keys():
                later.append(definition)
                continue
            try:
                _bind_one(binding, definition, incoming, patterns, named)
                patient = True
            except QueryError as error:
                # What a recursive rule reads may be known only once another rule of its group is bound.
                if not recursive:
                    raise
                failed = failed or error
                later.append(definition)
            except KeyError:
                later.append(definition)
        if len(later) == len(waiting) and patient:
            patient = False
        elif len(later) == len(waiting):
            assert failed is not None
            raise failed
        waiting = later
    return binding


def _bind_one(
    binding: Binding,
    definition: cera.Definition,
    incoming: Attributes,
    patterns: Mapping[str, Attributes],
    named: frozenset[str],
) -> None:
    node = definition.node
    if isinstance(node, cera.Match):
        attributes = patterns.get(node.stream[len(PATTERN) :]) or _stream(
            binding, node.stream, incoming, node.term.span
        )
        found = matching(node, attributes, named=definition.name in named)
        binding.attributes[node.stream] = attributes
        binding.matchings[definition.name] = found
        binding.kinds[definition.name] = found.kinds
        return
    if isinstance(node, cera.FixedStream):
        binding.kinds[definition.name] = {}
        return
    for below in cera.walk(node):
        _check(binding, below)
    if isinstance(node, cera.Construct):
        made = parts(node.head, binding.of(node.input))
        binding.parts[definition.name] = made
        known = binding.derived.setdefault(node.head.label, {})
        for part in made:
            kind = part.type if part.kind is not TERM or part.many else TERM
            known[part.label] = _agreed(part.label, known.get(part.label, kind), kind, node.head.span)
    else:
        binding.kinds[definition.name] = binding.of(node)


def _named(plan: cera.Plan) -> frozenset[str]:
    """The points of matches whose events count each on its own, somewhere."""
    found: set[str] = set()
    for definition in plan.definitions:
        for node in cera.walk(definition.node):
            if isinstance(node, cera.TemporalJoin) and node.named:
                found |= _points(plan, node.right)
    return frozenset(found)


def _points(plan: cera.Plan, node: cera.Node) -> set[str]:
    """Every point that the node is made of, directly or not."""
    direct = {below.name for below in cera.walk(node) if isinstance(below, cera.Point)}
    return direct.union(*(_points(plan, plan.by_name[name].node) for name in direct))


def _stream(binding: Binding, label: str, incoming: Attributes, span: Span) -> Attributes:
    """The attributes of the events of a label: of those that come in, and of those that rules derive."""
    derived = binding.derived.get(label)
    if derived is None:
        return incoming
    types = dict(derived)
    for name, kind in incoming.types.items():
        types[name] = _agreed(name, types[name], kind, span) if name in types else kind
    return Attributes.of(types)


def _agreed(name: str, left: Kind, right: Kind, span: Span) -> Kind:
    kind = common(left, right)
    # A text or a boolean beside a TERM can become one; a number has many spellings.
    plain = [each for each in (left, right) if each is not TERM]
    if kind is TERM and (len(plain) == 2 or any(family(each) not in ("string", "boolean") for each in plain)):
        raise QueryError(
            f"`{name}` would be a {family(left)} in some events and a {family(right)} in others",
            span=span,
            fix="give one of them another label",
        )
    return kind


def _check(binding: Binding, node: cera.Node) -> None:
    if isinstance(node, cera.AnyJoin):
        left, right = binding.of(node.left), binding.of(node.right)
        for name in left.keys() & right.keys():
            one, other = family(left[name]), family(right[name])
            if "unknown" not in (one, other) and "null" not in (one, other) and one != other and not _times(one, other):
                points = [each.name for each in cera.walk(node) if isinstance(each, cera.Point)]
                matches = [binding.matchings[each].match.term.span for each in points if each in binding.matchings]
                raise QueryError(
                    f"`var {name}` is a {one} in one event and a {other} in another: they are never equal",
                    span=matches[0] if matches else None,
                    fix="use two variables, and compare them with a conversion",
                )
    elif isinstance(node, cera.Select):
        kinds = {name: family(kind) for name, kind in binding.of(node.input).items()}
        for condition in node.conditions:
            _check_condition(condition, kinds)


def _times(one: str, other: str) -> bool:
    return {one, other} == {"date", "timestamp"}


def _check_condition(condition: Condition, kinds: Mapping[str, str]) -> None:
    if isinstance(condition, Data):
        check_expression(condition.expr, condition=True, kinds=kinds)
    elif not isinstance(condition, Temporal):
        for part in condition.parts:
            _check_condition(part, kinds)


def output_schema(binding: Binding) -> pa.Schema:
    """The columns that derived events come out in, beside type, begin and end: those of all labels."""
    columns: dict[str, Kind] = {}
    for label, types in binding.derived.items():
        for name, kind in types.items():
            shown = pa.string() if kind is TERM else kind
            before = columns.get(name, shown)
            columns[name] = common(before, shown)
            if columns[name] is TERM:
                raise QueryError(
                    f"`{name}` is a {family(shown)} in `{label}` and a {family(before)} in another derived event",
                    fix="give one of the two another label: they share a column of the answer",
                )
    return pa.schema([(name, untyped_as_text(kind)) for name, kind in columns.items()])
