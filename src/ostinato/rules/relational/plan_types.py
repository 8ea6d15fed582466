"""Type inference: from the attributes of incoming events to what every stream, point and variable of a plan holds."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from ostinato.core.types import check_expression
from ostinato.errors import QueryError, Span
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.query_plan import RulePlan
from ostinato.rules.plan.embedded_cel import read_attributes
from ostinato.rules.relational.head_types import HeadColumn, head_columns, with_aggregate_kinds
from ostinato.rules.relational.kinds import TERM, Attributes, Kind, common_type, null_as_text, type_family
from ostinato.rules.relational.match_plan import MatchPlan, plan_match
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.nodes import Combined, Condition, Data, Formula

# What the events of a source hold; the attributes are those that a pattern over some labels reads.
SourceAttributes = Callable[[cera.Source, Attributes | None], Attributes]


@dataclass
class PlanTypes:
    """`kinds` are those of the variables of each point; `head_columns` what the head of each rule makes."""

    attributes: dict[cera.Stream, Attributes] = field(default_factory=dict)  # of each stream that something matches
    match_plans: dict[str, MatchPlan] = field(default_factory=dict)  # by the point they define
    kinds: dict[str, Mapping[str, Kind]] = field(default_factory=dict)
    head_columns: dict[str, list[HeadColumn]] = field(default_factory=dict)  # by the definition of the rule
    derived: dict[str, dict[str, Kind]] = field(default_factory=dict)  # label -> attributes
    given: Mapping[str, Attributes] = field(default_factory=dict)  # of the rows of tables beside the stream
    moment: Kind = None  # of the times of events as values
    inputs: dict[cera.Stream, Attributes] = field(default_factory=dict)  # what each pattern over some labels reads

    def copy(self) -> PlanTypes:
        """The same types, to which others may come."""
        tables = dict(self.attributes), dict(self.match_plans), dict(self.kinds), dict(self.head_columns)
        return PlanTypes(*tables, dict(self.derived), self.given, self.moment, dict(self.inputs))

    def read_of_rows(self, label: str, incoming: Attributes) -> Mapping[str, Kind]:
        """The attributes that events of the label have as rows of a table: where what is given is of another kind, that
        alone counts."""
        given = self.given[label].types if label in self.given else {}
        return {
            name: kind
            for name, kind in incoming.types.items()
            if name not in given or common_type(kind, given[name]) is not TERM or TERM in (kind, given[name])
        }

    def of_plan(self, plan: RulePlan) -> PlanTypes:
        """The types of a plan that has lost rules."""
        names = plan.query_plan.by_name
        return PlanTypes(
            {stream: each for stream, each in self.attributes.items() if stream in plan.read},
            {name: each for name, each in self.match_plans.items() if name in names},
            {name: each for name, each in self.kinds.items() if name in names},
            {name: each for name, each in self.head_columns.items() if name in names},
            {label: each for label, each in self.derived.items() if label in plan.strata.heights},
            self.given,
            self.moment,
        )

    def kinds_of(self, node: cera.Node) -> Mapping[str, Kind]:
        """What the variables of a node hold."""
        if isinstance(node, cera.Point):
            return self.kinds[node.name]
        if isinstance(node, cera.Rename):
            names = {old: new for new, old in node.data}
            return {names.get(name, name): kind for name, kind in self.kinds_of(node.input).items()}
        if isinstance(node, cera.Join | cera.TemporalJoin):
            left, right = self.kinds_of(node.left), self.kinds_of(node.right)
            # A typed value that equals a TERM says more than it.
            return {
                name: left[name] if left.get(name) is not TERM else right.get(name, TERM) for name in node.schema.data
            }
        if isinstance(node, cera.Stamp):
            return {**self.kinds_of(node.input), **{n.time_variable(*time): self.moment for time in node.times}}
        if isinstance(node, cera.AntiJoin):
            return self.kinds_of(node.left)
        if isinstance(node, cera.Project):
            of = self.kinds_of(node.input)
            return {name: of[name] for name in node.data}
        below = cera.inputs(node)
        return self.kinds_of(below[0]) if below else {}


def infer_types(
    plan: RulePlan,
    incoming: Attributes,
    sources: SourceAttributes,
    moment: Kind,
    beside: PlanTypes | None = None,
    given: Mapping[str, Attributes] | None = None,
) -> PlanTypes:
    """`moment`: what the times of events are as values; `beside`: the types of rules which read nothing of these, and
    are among the types that are found; `given`: what rows of tables hold that are given beside the stream.

    Raises QueryError where a rule cannot fit the events.
    """
    types = PlanTypes(moment=moment, given=given or {}) if beside is None else beside.copy()
    named = _identified_points(plan.query_plan)
    waiting = list(plan.query_plan.definitions)
    recursive = {rule.head.label for group in plan.groups if group.recursive for rule in group.rules}
    patient = True  # what comes in under the label of a recursive rule tells less than what the rule derives
    while waiting:
        later: list[cera.Definition] = []
        failed: QueryError | None = None
        for definition in waiting:
            node = definition.node
            unknown = recursive - types.derived.keys()
            if patient and isinstance(node, cera.Match) and cera.stream_label(node.stream) in unknown:
                later.append(definition)
                continue
            if _reads_derived_by(node, later):
                later.append(definition)
                continue
            try:
                _infer_definition(types, definition, incoming, sources, named)
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
    return types


def _infer_definition(
    types: PlanTypes,
    definition: cera.Definition,
    incoming: Attributes,
    sources: SourceAttributes,
    named: frozenset[str],
) -> None:
    node = definition.node
    if isinstance(node, cera.Match):
        if isinstance(node.stream, cera.TableStream):
            attributes = _table_attributes(types, node, incoming)
        elif not isinstance(node.stream, str):
            if isinstance(node.stream, cera.CelStream) and node.stream.labels:
                types.inputs[node.stream] = _pattern_input(types, node.stream, incoming, node.term.span)
            attributes = sources(node.stream, types.inputs.get(node.stream))
        else:
            attributes = _label_attributes(types, node.stream, incoming, node.term.span)
        found = _plan_match(types, node, attributes, named=definition.name in named)
        types.attributes[node.stream] = attributes
        types.match_plans[definition.name] = found
        types.kinds[definition.name] = found.kinds
        return
    if isinstance(node, cera.FixedStream):
        types.kinds[definition.name] = {}
        return
    for below in cera.walk(node):
        _check(types, below)
    if isinstance(node, cera.Construct):
        kinds = types.kinds_of(node.input)
        made = head_columns(node.head, kinds)
        for condition in node.having:
            _check_having(condition, kinds)
        types.head_columns[definition.name] = made
        known = types.derived.setdefault(node.head.label, {})
        for part in made:
            kind = part.type if part.kind is not TERM or part.many else TERM
            known[part.label] = _unify_kinds(part.label, known.get(part.label, kind), kind, node.head.span)
    else:
        types.kinds[definition.name] = types.kinds_of(node)


def _plan_match(types: PlanTypes, node: cera.Match, attributes: Attributes, *, named: bool) -> MatchPlan:
    try:
        return plan_match(node, attributes, named=named)
    except QueryError as error:
        label = cera.stream_label(node.stream)
        if not isinstance(node.stream, cera.TableStream) or label in {*types.given, *types.derived}:
            raise
        rows = f'give the rows of the table: tables={{"{label}": …}}, on the command line --table {label}=FILE'
        raise error.replace(fix=f"{error.fix} If not, {rows}" if error.fix else rows) from None


def _identified_points(plan: cera.Plan) -> frozenset[str]:
    """The points of matches whose events count one by one somewhere."""
    found: set[str] = set()
    for definition in plan.definitions:
        for node in cera.walk(definition.node):
            if isinstance(node, cera.TemporalJoin) and node.named:
                found |= _points(plan, node.right)
    return frozenset(found)


def _points(plan: cera.Plan, node: cera.Node) -> set[str]:
    """Every point that the node is made of, directly or not; of rows, what matches, not what replaces it."""
    node = node.left if isinstance(node, cera.Rows) else node
    direct = {below.name for below in cera.walk(node) if isinstance(below, cera.Point)}
    return direct.union(*(_points(plan, plan.by_name[name].node) for name in direct))


def _label_attributes(types: PlanTypes, label: str, incoming: Attributes, span: Span) -> Attributes:
    """The attributes of the events of a label, incoming and derived."""
    derived = types.derived.get(label)
    if derived is None:
        return incoming
    kinds = dict(derived)
    for name, kind in incoming.types.items():
        kinds[name] = _unify_kinds(name, kinds[name], kind, span) if name in kinds else kind
    return Attributes.of(kinds)


def _reads_derived_by(node: cera.Node, definitions: Collection[cera.Definition]) -> bool:
    """Whether it is a pattern over labels that some of the definitions derive."""
    if not isinstance(node, cera.Match) or not isinstance(node.stream, cera.CelStream):
        return False
    made = (each.node.head.label for each in definitions if isinstance(each.node, cera.Construct))
    return any(label in node.stream.labels for label in made)


def _pattern_input(types: PlanTypes, stream: cera.CelStream, incoming: Attributes, span: Span) -> Attributes:
    """The attributes that a pattern reads of the events of its labels; what has no type is text, as in answers."""
    reads = read_attributes(stream.query, stream.language)
    found: dict[str, Kind] = {}
    of_incoming = {name: kind for name, kind in incoming.types.items() if kind is not TERM}
    for kinds in (of_incoming, *(types.derived[label] for label in stream.labels if label in types.derived)):
        for name, kind in kinds.items():
            if reads(name):
                shown = pa.string() if kind is TERM else kind
                found[name] = _unify_kinds(name, found.get(name, shown), shown, span)
    return Attributes.of(dict(sorted(found.items())))


def _table_attributes(types: PlanTypes, node: cera.Match, incoming: Attributes) -> Attributes:
    """The attributes of the rows of a table."""
    assert isinstance(node.stream, cera.TableStream)
    label = node.stream.label
    known = Attributes.of(types.read_of_rows(label, incoming))
    kinds = dict(_label_attributes(types, label, known, node.term.span).types)
    if label not in types.given:
        return known if label not in types.derived else Attributes.of(kinds)
    for name, kind in types.given[label].types.items():
        kinds[name] = _unify_kinds(name, kinds[name], kind, node.term.span) if name in kinds else kind
    return Attributes.of(kinds)


def _unify_kinds(name: str, left: Kind, right: Kind, span: Span) -> Kind:
    kind = common_type(left, right)
    # A text or a boolean beside a TERM can become one; a number has many spellings.
    plain = [each for each in (left, right) if each is not TERM]
    if kind is TERM and (len(plain) == 2 or any(type_family(each) not in ("string", "boolean") for each in plain)):
        raise QueryError(
            f"`{name}` would be a {type_family(left)} in some events and a {type_family(right)} in others",
            span=span,
            fix="give one of them another label",
        )
    return kind


def _check(types: PlanTypes, node: cera.Node) -> None:
    if isinstance(node, cera.AnyJoin):
        left, right = types.kinds_of(node.left), types.kinds_of(node.right)
        for name in left.keys() & right.keys():
            one, other = type_family(left[name]), type_family(right[name])
            if "unknown" not in (one, other) and "null" not in (one, other) and one != other and not _times(one, other):
                points = [each.name for each in cera.walk(node) if isinstance(each, cera.Point)]
                matches = [types.match_plans[each].match.term.span for each in points if each in types.match_plans]
                raise QueryError(
                    f"`var {name}` is a {one} in one event and a {other} in another: they are never equal",
                    span=matches[0] if matches else None,
                    fix="use two variables, and compare them with a conversion",
                )
    elif isinstance(node, cera.Select):
        kinds = {name: type_family(kind) for name, kind in types.kinds_of(node.input).items()}
        for condition in node.conditions:
            _check_condition(condition, kinds)


def _times(one: str, other: str) -> bool:
    return {one, other} == {"date", "timestamp"}


def _check_condition(condition: Condition, kinds: Mapping[str, str]) -> None:
    if isinstance(condition, Data):
        check_expression(condition.expr, condition=True, kinds=kinds)
    elif isinstance(condition, Formula):
        for part in condition.parts:
            _check_condition(part, kinds)


def _check_having(condition: Condition, kinds: Mapping[str, Kind]) -> None:
    if isinstance(condition, Formula):
        for part in condition.parts:
            _check_having(part, kinds)
    elif isinstance(condition, Combined | Data):
        known = with_aggregate_kinds(condition, kinds) if isinstance(condition, Combined) else kinds
        _check_condition(Data(condition.expr), {name: type_family(kind) for name, kind in known.items()})


def output_schema(types: PlanTypes, private: Collection[str] = ()) -> pa.Schema:
    """The columns of the answer besides type, begin and end: those of all derived labels that are not private."""
    columns: dict[str, Kind] = {}
    for label, attributes in types.derived.items():
        if label in private:
            continue
        for name, kind in attributes.items():
            shown = pa.string() if kind is TERM else kind
            before = columns.get(name, shown)
            columns[name] = common_type(before, shown)
            if columns[name] is TERM:
                one, other = type_family(shown), type_family(before)
                raise QueryError(
                    f"`{name}` is a {one} in `{label}` and a {other} in another derived event",
                    fix="give one of the two another label: they share a column of the answer",
                )
    return pa.schema([(name, null_as_text(kind)) for name, kind in columns.items()])
