"""Heads as SQL (C^X): the events that a head makes of the tuples of its rule.

Tuples are grouped by event trace: the times of the rule's events, the variables that these bind, and references where
one event may match in several ways. Within a group every `all` and every aggregate is a sub-query of its own, over the
distinct bindings of its variables; those over the same variables share one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from sqlglot import exp

from ostinato.core.expressions import STATISTICS, Variable
from ostinato.rules.algebra.nodes import Construct, Merge
from ostinato.rules.relational.dialects import Deviation, Int64Sum, ListElement, Median, OrderedList
from ostinato.rules.relational.expressions import (
    ExpressionSql,
    Sql,
    column,
    condition_sql,
    conjunction,
    display_text,
    greatest,
    integer,
    least,
    sort_keys,
    sql_type,
    table,
    tag_sql,
    untag_sql,
)
from ostinato.rules.relational.head_types import (
    CALCULATING,
    HeadColumn,
    aggregate_kind,
    element_values,
    head_columns,
    text_for_terms,
    value_kind,
    with_aggregate_kinds,
)
from ostinato.rules.relational.kinds import REF, TERM, Kind, type_family
from ostinato.rules.relational.operators import SqlGenerator
from ostinato.rules.syntax.nodes import Aggregate, All, Combined, Condition, ConstructTerm, Data, Make, Value
from ostinato.rules.syntax.variables import outer_variables

BASE = "σ"  # the tuples of the rule


def construct_sql(generator: SqlGenerator, name: str, node: Construct) -> exp.Query:
    """The derived events of a rule: begin, end and one column for each child of its head."""
    assert isinstance(node.input, Merge)
    return _Construction(generator, node, node.input).query(generator.plan_types.head_columns[name])


@dataclass
class _Level:
    """Instances of a term within a group: the columns that tell them apart, and what must be computed for each."""

    keys: list[str]
    queries: dict[tuple[str, ...], exp.Select] = field(default_factory=dict)  # by the columns they are distinct on
    made: int = 0


class _Construction:
    def __init__(self, generator: SqlGenerator, node: Construct, merge: Merge) -> None:
        self.generator, self.node, self.merge = generator, node, merge
        self.kinds = generator.plan_types.kinds_of(merge.input)
        self._made_of: dict[int, list[Sql]] = {}  # the values of a struct, by its expression
        self.expressions = ExpressionSql(self.kinds, lambda name: column(generator.names.variable(name)))

    def query(self, made: Sequence[HeadColumn]) -> exp.Query:
        generator, body = self.generator, self.merge.input
        interval = [
            exp.alias_(pick([generator.time(*time) for time in times]), side, quoted=True)
            for side, pick, times in (
                ("begin", least, self.merge.times("begin")),
                ("end", greatest, self.merge.times("end")),
            )
        ]
        tuples = generator.select(body)
        if not self.node.is_grouped:
            shown = [exp.alias_(self._part(part, None), f"c{place}", quoted=True) for place, part in enumerate(made)]
            return exp.select(*interval, *shown).distinct().from_(tuples.subquery("q"))
        keys = self._keys()
        level = _Level(keys)
        shown = [exp.alias_(self._part(part, level), f"c{place}", quoted=True) for place, part in enumerate(made)]
        having = [self._having(condition, level) for condition in self.node.having]
        whole = exp.select(*interval, *shown).distinct().from_(self._join_queries(level, table(BASE))).where(*having)
        return whole.with_(exp.to_identifier(BASE, quoted=True), as_=tuples)

    def _keys(self) -> list[str]:
        """The trace, then the variables of the head outside of `all`."""
        generator, body = self.generator, self.merge.input
        shown = set(generator.columns(body))
        # An event with a reference may match in several ways: then it, and not what it binds, tells traces apart.
        single = [binds for ident, binds in self.node.traced if generator.names.time(ident, REF) not in shown]
        traced: frozenset[str] = frozenset().union(*single)
        names = [name for name in body.schema.data if name in traced]
        names += [name for name in self.node.outer if name not in names]
        collected = {generator.names.time(each.ident, REF) for each in self.node.collected}
        refs = [name for name in generator.columns(body) if name.endswith(f".{REF}") and name not in collected]
        times = [generator.names.time(ident, side) for ident in body.schema.times for side in ("begin", "end")]
        return [*times, *refs, *map(generator.names.variable, names)]

    # What stands under one label

    def _part(self, part: HeadColumn, level: _Level | None, *, nested: bool = False) -> Sql:
        if not part.many:
            return self._instance(part.terms[0], text_for_terms(part.kind) if nested else part.kind, level)
        kind = text_for_terms(part.kind)
        if len(part.terms) == 1 and isinstance(part.terms[0], All):
            return self._all(part.terms[0], kind, level)
        lists: list[Sql] = []
        for term in part.terms:
            if isinstance(term, All):
                lists.append(self._all(term, kind, level))
            else:
                one = self._instance(term, kind, level)
                none = exp.Is(this=one.copy(), expression=exp.Null())
                empty = exp.Array(expressions=[])
                lists.append(exp.Case(ifs=[exp.If(this=none, true=empty)], default=exp.Array(expressions=[one])))
        return lists[0] if len(lists) == 1 else exp.ArrayConcat(this=lists[0], expressions=lists[1:])

    def _instance(self, term: ConstructTerm, kind: Kind, level: _Level | None) -> Sql:
        if isinstance(term, Value):
            own = value_kind(term.expr, self.kinds)
            return self._cast_to(self.expressions.value(term.expr), own, kind)
        if isinstance(term, Aggregate):
            assert level is not None
            return self._cast_to(self._aggregate(term, level), aggregate_kind(term, self.kinds), kind)
        if isinstance(term, Combined):
            return self._combine(term, kind, level)
        assert isinstance(term, Make)
        values = element_values(term)
        if values is not None:
            return self._instance(values[0], kind, level)
        fields = [(part.label, self._part(part, level, nested=True)) for part in head_columns(term, self.kinds)]
        struct = exp.Struct(
            expressions=[
                exp.PropertyEQ(this=exp.to_identifier(label, quoted=True), expression=value) for label, value in fields
            ]
        )
        # A struct in the struct is missing where all that it would be made of is.
        parts_of = [each for _, value in fields for each in self._made_of.get(id(value), [value])]
        missing = conjunction([exp.Is(this=each.copy(), expression=exp.Null()) for each in parts_of])
        whole = exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=struct)
        self._made_of[id(whole)] = parts_of
        return whole

    def _combine(self, term: Combined, kind: Kind, level: _Level | None) -> Sql:
        kinds = with_aggregate_kinds(term, self.kinds)
        made = self._combined(term, kinds, level).value(term.expr)
        return self._cast_to(made, value_kind(term.expr, kinds), kind)

    def _combined(self, term: Combined, kinds: Mapping[str, Kind], level: _Level | None) -> ExpressionSql:
        """Expressions over the aggregates of a term, too."""
        made = {name: self._instance(each, kinds[name], level) for name, each in term.by_variable.items()}
        return ExpressionSql(kinds, lambda name: made[name].copy() if name in made else self.expressions.of(name))

    def _having(self, condition: Condition, level: _Level) -> Sql:
        def data(part: Data | Combined) -> Sql:
            if isinstance(part, Data):
                return self.expressions.condition(part.expr)
            kinds = with_aggregate_kinds(part, self.kinds)
            return self._combined(part, kinds, level).condition(part.expr)

        return condition_sql(condition, data, self.generator.time, self.generator.ticks)

    def _cast_to(self, value: Sql, own: Kind, wanted: Kind) -> Sql:
        if own == wanted:
            return value if own is TERM or type_family(own) != "number" else exp.cast(value, sql_type(own))
        if wanted is TERM:
            return tag_sql(value, own)
        if own is TERM:
            return display_text(value) if type_family(wanted) == "string" else untag_sql(value, type_family(wanted))
        return exp.cast(value, sql_type(wanted))

    # all, and aggregates

    def _all(self, term: All, kind: Kind, level: _Level | None) -> Sql:
        """A list of instances, one for each binding of the variables of the term outside of an inner `all`."""
        assert level is not None
        own = list(dict.fromkeys([*outer_variables(term.term), *term.group_by]))
        columns = [self.generator.names.variable(name) for name in own]
        inner = _Level(list(dict.fromkeys([*level.keys, *columns])))
        instance = self._instance(term.term, kind, inner)
        orders: list[tuple[Sql, bool]] = []
        ranked: list[Sql] = []
        for place, order in enumerate(term.order_by):
            for part, value in enumerate(self._sort_keys(order.name)):
                if order.name in own:
                    orders.append((value, order.descending))
                else:
                    best = (exp.Max if order.descending else exp.Min)(this=value)
                    ranked.append(exp.alias_(best, f"order{place}.{part}", quoted=True))
                    orders.append((column(f"order{place}.{part}"), order.descending))
        orders += [(value, False) for name in own for value in self._sort_keys(name)]
        source = self._instances(inner, ranked)
        keys = [exp.Ordered(this=value.copy(), desc=descending) for value, descending in orders]
        instances = exp.select(*map(column, inner.keys), exp.alias_(instance, "#one", quoted=True))
        instances = instances.select(
            *(exp.alias_(key.this, f"#key{place}", quoted=True) for place, key in enumerate(keys))
        )
        instances = instances.from_(source)
        sorted_ = [exp.Ordered(this=column(f"#key{place}"), desc=key.args["desc"]) for place, key in enumerate(keys)]
        listed = OrderedList(this=column("#one"), keys=sorted_ or [exp.Ordered(this=column("#one"), desc=False)])
        return self._add(level, instances, [*inner.keys, "#all"], listed)

    def _sort_keys(self, name: str) -> list[Sql]:
        return sort_keys(column(self.generator.names.variable(name)), self.kinds[name])

    def _instances(self, level: _Level, ranked: Sequence[Sql]) -> exp.Expr:
        base = exp.select(*map(column, level.keys), *ranked).from_(table(BASE))
        base = base.group_by(*map(column, level.keys))
        return self._join_queries(level, base.subquery("i"))

    def _aggregate(self, term: Aggregate, level: _Level) -> Sql:
        generator, node = self.generator, self.node
        names, refs = node.counted(term)
        columns = [generator.names.variable(name) for name in names]
        value, kind = self.expressions.value(term.expr), value_kind(term.expr, self.kinds)
        if term.name in CALCULATING and isinstance(term.expr, Variable) and self.kinds[term.expr.name] is TERM:
            value = untag_sql(value, "number")
        if term.name in ("first", "last"):
            keys = [
                exp.Ordered(this=value, desc=order.descending)
                for order in term.order_by
                for value in self._sort_keys(order.name)
            ]
            columns += [generator.names.variable(order.name) for order in term.order_by]
            if not term.order_by:
                idents = [each.ident for each in node.sources(term)]
                times = [generator.names.time(ident, side) for ident in idents for side in ("end", "begin")]
                keys = [exp.Ordered(this=column(time), desc=False) for time in times]
                columns += times
            keys += [exp.Ordered(this=each, desc=False) for each in sort_keys(value.copy(), kind)]
            place = integer(1 if term.name == "first" else -1)
            found: Sql = ListElement(this=OrderedList(this=value, keys=keys), place=place)
        elif kind is TERM and term.name in ("min", "max"):
            keys = [exp.Ordered(this=each, desc=False) for each in sort_keys(value.copy(), kind)]
            found = ListElement(this=OrderedList(this=value, keys=keys), place=integer(1 if term.name == "min" else -1))
        elif term.over == "distinct":
            name = f"#value {value.sql()}"
            different = exp.select(*map(column, level.keys), exp.alias_(value, name, quoted=True))
            found = self._adding_up(term, column(name))
            return self._add(level, different.distinct().from_(table(BASE)), [*level.keys, name], found)
        else:
            columns += [generator.names.time(ident, REF) for ident in refs]
            found = self._adding_up(term, value)
        wanted = list(dict.fromkeys([*level.keys, *columns]))
        distinct = exp.select(*map(column, wanted)).distinct().from_(table(BASE))
        return self._add(level, distinct, wanted, found)

    def _adding_up(self, term: Aggregate, value: Sql) -> Sql:
        if term.name in STATISTICS:
            value = exp.cast(value, "double")
        whole = pa.types.is_integer(aggregate_kind(term, self.kinds))
        made: dict[str, type[exp.AggFunc]] = {
            **{"count": exp.Count, "sum": Int64Sum if whole else exp.Sum, "avg": exp.Avg},
            **{"min": exp.Min, "max": exp.Max, "stddev": Deviation, "median": Median},
        }
        return made[term.name](this=value)

    def _add(self, level: _Level, source: exp.Select, distinct_on: Sequence[str], value: Sql) -> Sql:
        """A column computed for each group of the level, in the query over `source` that others may share."""
        name = f"#a{level.made}"
        level.made += 1
        key = tuple(distinct_on) if "#all" not in distinct_on else (*distinct_on, name)
        if key not in level.queries:
            keys = [column(each) for each in level.keys]
            level.queries[key] = exp.select(*keys).from_(source.subquery("d")).group_by(*(each.copy() for each in keys))
        level.queries[key] = level.queries[key].select(exp.alias_(value, name, quoted=True))
        return column(name)

    def _join_queries(self, level: _Level, instances: exp.Expr) -> exp.Expr:
        """The computed columns beside the keys of the level; a single query has them already."""
        queries = list(level.queries.values())
        if len(queries) == 1 and not isinstance(instances, exp.Subquery):
            return queries[0].subquery("g")
        if isinstance(instances, exp.Subquery):
            if not queries:
                return instances
            joined, first = exp.select("*").from_(instances), "i"
        else:
            joined, first, queries = exp.select("*").from_(queries[0].subquery("g")), "g", queries[1:]
        shown = [column(name, first) for name in level.keys]
        for place, query in enumerate(queries):
            alias = f"j{place}"
            equal = [exp.NullSafeEQ(this=column(name, first), expression=column(name, alias)) for name in level.keys]
            joined = joined.join(query.subquery(alias), on=conjunction(equal))
        added = [f"#a{place}" for place in range(level.made)]
        extra = [
            each.alias
            for each in (instances.this.expressions if isinstance(instances, exp.Subquery) else [])
            if each.alias.startswith("order")
        ]
        return joined.select(*shown, *map(column, [*added, *extra]), append=False).subquery("g")
