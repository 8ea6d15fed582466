"""The operators of CERA as SQL: each is a SELECT over those below it, which sqlglot writes in either dialect."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa
from sqlglot import exp

from ostinato.errors import QueryError
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.algebra.time_relations import SECOND, TIMERS, absolute_nanoseconds
from ostinato.rules.relational.expressions import (
    ExpressionSql,
    Sql,
    add_offset,
    column,
    compare,
    condition_sql,
    conjunction,
    constant,
    equality,
    greatest,
    integer,
    moment_sql,
    table,
)
from ostinato.rules.relational.kinds import REF, TERM
from ostinato.rules.relational.match_plan import FlatMatch, MatchPlan
from ostinato.rules.relational.plan_types import PlanTypes
from ostinato.rules.relational.sql_names import ColumnNames, matched_table, new_table, stream_table
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.nodes import AbsoluteTimer, PeriodicTimer, RelativeTimer, Timer

BUCKET = "#bucket"
HELD = 2**62  # until when a row holds that no other has replaced
MAX_TICK = 2**61  # ticks; beyond it sums of times might not fit 64 bits


class SqlGenerator:
    """SELECTs for the definitions of a plan."""

    def __init__(
        self,
        plan_types: PlanTypes,
        ticks_per_second: int,
        definitions: Mapping[str, cera.Node],
        *,
        near: bool = False,
        names: ColumnNames | None = None,
    ) -> None:
        self.plan_types, self.ticks_per_second = plan_types, ticks_per_second
        self.definitions, self.near = definitions, near
        # By the very node: to Python, matches of 1 and of true are equal.
        self._point_of = {id(found.match): name for name, found in plan_types.match_plans.items()}
        self.rounds = False  # whether Δ is what a round of a recursion adds, in tables of its own
        self.names = names or ColumnNames()

    # Times

    def ticks(self, nanoseconds: int) -> int:
        """Whole ticks of a bound: differences of times are whole, so that rounding down loses nothing."""
        return nanoseconds * self.ticks_per_second // SECOND

    def exact_ticks(self, timer: RelativeTimer | PeriodicTimer) -> int:
        amount, rest = divmod(timer.duration.nanoseconds * self.ticks_per_second, SECOND)
        if rest:
            reason = f"{timer.duration.text} is finer than the times of the events"
            raise QueryError(reason, span=timer.span, fix="give a duration of whole ticks of their clock")
        return amount

    def time(self, ident: str, side: str, table: str | None = None) -> exp.Column:
        return column(self.names.time(ident, side), table)

    def end(self, node: cera.Node, table: str | None = None) -> Sql:
        """END_Q of Definition 0.5."""
        return greatest([self.time(ident, "end", table) for ident in node.schema.times])

    # Columns

    def columns(self, node: cera.Node) -> list[str]:
        """Every column of a node's SELECT: times, variables, references where they are needed, hidden times."""
        if isinstance(node, cera.Point):
            return self.columns(self.definitions[node.name])
        if isinstance(node, cera.Match):
            found = self._times([node.ident])
            found += [self.names.variable(name) for name in node.schema.data]
            return [*found, *([self.names.time(node.ident, REF)] if self._has_references(node) else [])]
        if isinstance(node, cera.AnyTimer):
            return self._times([node.timer.ident])
        if isinstance(node, cera.Join):
            return list(dict.fromkeys([*self.columns(node.left), *self.columns(node.right)]))
        if isinstance(node, cera.TemporalJoin):
            own = {self.names.time(node.ident, cera.UNTIL)} if node.at else set()
            own |= set(self._times([node.ident])) if not node.timed else set()
            dropped = own | (set() if node.named else {self.names.time(node.ident, REF)})
            right = [name for name in self.columns(node.right) if name not in dropped]
            return list(dict.fromkeys([*self.columns(node.left), *right]))
        if isinstance(node, cera.Rows):
            return [*self.columns(node.left), self.names.time(node.ident, cera.UNTIL)]
        if isinstance(node, cera.Project):
            dropped = {self.names.variable(name) for name in node.input.schema.data if name not in node.data}
            return [name for name in self.columns(node.input) if name not in dropped]
        if isinstance(node, cera.Rename):
            names = self._new_names(node)
            return [names.get(name, name) for name in self.columns(node.input)]
        if isinstance(node, cera.Stamp):
            return [*self.columns(node.input), *(self.names.variable(n.time_variable(*time)) for time in node.times)]
        if isinstance(node, cera.AntiJoin):
            return self.columns(node.left)
        assert isinstance(node, cera.Select | cera.At | cera.Union)
        return self.columns(node.inputs[0] if isinstance(node, cera.Union) else node.input)

    def _times(self, idents: Iterable[str]) -> list[str]:
        return [self.names.time(ident, side) for ident in idents for side in ("begin", "end")]

    def _has_references(self, match: cera.Match) -> bool:
        return self._matching(match).referenced

    def _matching(self, match: cera.Match) -> MatchPlan:
        return self.plan_types.match_plans[self._point_of[id(match)]]

    def _new_names(self, node: cera.Rename) -> dict[str, str]:
        names = {self.names.variable(old): self.names.variable(new) for new, old in node.data}
        for new, old in node.events:
            names |= {
                self.names.time(old, side): self.names.time(new, side) for side in ("begin", "end", cera.UNTIL, REF)
            }
        return names

    # Operators

    def select(self, node: cera.Node) -> exp.Query:
        if isinstance(node, cera.Point):
            return self._all(node, table(node.name))
        if isinstance(node, cera.At):
            return self._part(node)
        if isinstance(node, cera.Union):
            return exp.union(*(self.select(each) for each in node.inputs), distinct=False, copy=False)
        if isinstance(node, cera.Match):
            return self._match(node)
        if isinstance(node, cera.FixedStream):
            return self._absolute_timer(node.timer)
        if isinstance(node, cera.Select):
            return self._all(node, self._over(node.input)).where(self._conditions(node))
        if isinstance(node, cera.Project):
            return self._all(node, self._over(node.input))
        if isinstance(node, cera.Stamp):
            kind, second = self.plan_types.moment, self.ticks_per_second
            times = [
                exp.alias_(moment_sql(self.time(ident, side), kind, second), self.names.variable(name), quoted=True)
                for side, ident in node.times
                for name in [n.time_variable(side, ident)]
            ]
            return self._all(node.input, self._over(node.input)).select(*times)
        if isinstance(node, cera.Rename):
            names = self._new_names(node)
            shown = [exp.alias_(column(name), names.get(name, name), quoted=True) for name in self.columns(node.input)]
            return exp.select(*shown).from_(self._over(node.input))
        if isinstance(node, cera.Join) and isinstance(node.right, cera.AnyTimer):
            return self._timer(node)
        if isinstance(node, cera.Rows):
            return self._rows(node)
        assert isinstance(node, cera.AnyJoin)
        return self._join(node)

    def _rows(self, node: cera.Rows) -> exp.Select:
        """Rows until the next end of a version with their key."""
        key = [self.names.variable(name) for name in node.versions.schema.data]
        end = self.names.time(node.versions.schema.times[0], "end")
        ends = exp.select(*map(column, key), column(end)).distinct().from_(self._over(node.versions, "v"))
        following = exp.Window(
            this=exp.Lead(this=column(end)),
            partition_by=[column(name) for name in key],
            order=exp.Order(expressions=[exp.Ordered(this=column(end))]),
        )
        until = exp.func("coalesce", following, integer(HELD))
        versions = exp.select(*map(column, key), column(end), exp.alias_(until, "#until", quoted=True))
        left = self.plan_types.kinds_of(node.left), self.plan_types.kinds_of(node.versions)
        conditions: list[Sql] = [
            equality(column(name, "l"), left[0].get(data, TERM), column(name, "r"), left[1].get(data, TERM))
            for data, name in zip(node.versions.schema.data, key, strict=True)
        ]
        conditions.append(exp.EQ(this=self.time(node.ident, "end", "l"), expression=column(end, "r")))
        shown = [column(name, "l") for name in self.columns(node.left)]
        last = exp.alias_(column("#until", "r"), self.names.time(node.ident, cera.UNTIL), quoted=True)
        found = versions.from_(ends.subquery("e")).subquery("r")
        return exp.select(*shown, last).from_(self._over(node.left, "l")).join(found, on=conjunction(conditions))

    def _all(self, node: cera.Node, source: exp.Expr) -> exp.Select:
        return exp.select(*(column(name) for name in self.columns(node))).from_(source)

    def _over(self, node: cera.Node, alias: str = "q") -> exp.Expr:
        if isinstance(node, cera.Point):
            return exp.alias_(table(node.name), alias, table=True)
        return self.select(node).subquery(alias)

    def _part(self, node: cera.At) -> exp.Query:
        """Δ, ◦ or both of a point, in a round of a recursion."""
        point = node.input
        assert self.rounds and isinstance(point, cera.Point), "steps are not run in SQL"
        new, old = self._all(point, table(new_table(point.name))), self._all(point, table(point.name))
        return {"Δ": new, "◦": old, "◦∪Δ": exp.union(old.copy(), new.copy(), distinct=False)}[node.part]

    def _conditions(self, node: cera.Select) -> Sql:
        kinds = self.plan_types.kinds_of(node.input)
        expressions = ExpressionSql(kinds, lambda name: column(self.names.variable(name)))

        def data(part: n.Data | n.Combined) -> Sql:
            return expressions.condition(part.expr)

        return exp.and_(*(condition_sql(each, data, self.time, self.ticks) for each in node.conditions))

    def _match(self, match: cera.Match) -> exp.Select:
        found = self._matching(match)
        point = self._point_of[id(match)]
        as_read = new_table if self.rounds else str
        if found.flat is None:
            return self._all(match, table(as_read(matched_table(point))))
        columns = self.plan_types.attributes[match.stream].columns
        shown = [exp.alias_(column(side), self.names.time(match.ident, side), quoted=True) for side in ("begin", "end")]
        for name in match.schema.data:
            value = self._present(found.flat.variables[name][0], found, columns)
            shown.append(exp.alias_(value, self.names.variable(name), quoted=True))
        if found.referenced:
            shown.append(exp.alias_(self._reference(columns), self.names.time(match.ident, REF), quoted=True))
        query = exp.select(*shown).from_(table(as_read(stream_table(match.stream))))
        return query.where(*self._flat_conditions(found.flat, found, columns))

    def _reference(self, columns: Mapping[str, str]) -> Sql:
        """What tells an event from all others: equal events are one."""
        fields = [exp.PropertyEQ(this=exp.to_identifier(name), expression=column(name)) for name in columns.values()]
        times = [
            exp.PropertyEQ(this=exp.to_identifier(f"c_{side}"), expression=column(side)) for side in ("begin", "end")
        ]
        whole = exp.Anonymous(this="TO_JSON", expressions=[exp.Struct(expressions=[*times, *fields])])
        return exp.MD5(this=exp.cast(whole, "text"))

    def _flat_conditions(self, flat: FlatMatch, found: MatchPlan, columns: Mapping[str, str]) -> list[Sql]:
        conditions: list[Sql] = []
        for path in dict.fromkeys(flat.present):
            conditions.append(exp.Not(this=exp.Is(this=self._present(path, found, columns), expression=exp.Null())))
        for path in flat.absent:
            conditions.append(exp.Is(this=self._present(path, found, columns), expression=exp.Null()))
        for path, value in flat.equal:
            conditions.append(exp.EQ(this=self._present(path, found, columns), expression=constant(value.value)))
        for first, *rest in flat.variables.values():
            for path in rest:
                one, other = self._present(first, found, columns), self._present(path, found, columns)
                conditions.append(equality(one, found.type_at(first), other, found.type_at(path)))
        return conditions

    def _present(self, path: tuple[str, ...], found: MatchPlan, columns: Mapping[str, str]) -> Sql:
        """The value at a path; NaN is no value."""
        value: Sql = column(columns[path[0]])
        for name in path[1:]:
            value = exp.Dot(this=value, expression=exp.to_identifier(name, quoted=True))
        kind = found.type_at(path)
        if kind is not TERM and pa.types.is_floating(kind):
            there = exp.Not(this=exp.IsNan(this=value))
            return exp.Case(ifs=[exp.If(this=there, true=value.copy())])
        return value

    def _absolute_timer(self, timer: AbsoluteTimer) -> exp.Select:
        shown = [
            exp.alias_(self._moment(moment), self.names.time(timer.ident, side), quoted=True)
            for side, moment in (("begin", timer.begin), ("end", timer.end))
        ]
        return exp.select(*shown)

    def _moment(self, moment: float | str) -> Sql:
        return exp.cast(integer(self.ticks(absolute_nanoseconds(moment))), "bigint")

    def check_timers(self, timers: Iterable[Timer]) -> None:
        """Raise QueryError for a timer that the clock of the events cannot show."""
        for timer in timers:
            if not isinstance(timer, AbsoluteTimer):
                self.exact_ticks(timer)
                continue
            for moment in (timer.begin, timer.end):
                if abs(self.ticks(absolute_nanoseconds(moment))) >= MAX_TICK:
                    reason = f"{moment} is too far away for the times of the events"
                    raise QueryError(reason, span=timer.span, fix="give a time within some 10,000 years")

    def _timer(self, node: cera.Join) -> exp.Select:
        """A join with timer events by their reference: each tuple has one, with the times that the timer says."""
        query = self._all(node.left, self._over(node.left))
        if isinstance(node.right, cera.FixedStream):
            timer = node.right.timer
            times = [self._moment(timer.begin), self._moment(timer.end)]
            return query.select(*self._named_times(timer.ident, times))
        assert isinstance(node.right, cera.TimerStream)
        relative = node.right.timer
        amount = self.exact_ticks(relative)
        times = [add_offset(self.time(relative.anchor, of), sign * amount) for of, sign in TIMERS[relative.kind]]
        query = query.select(*self._named_times(relative.ident, times))
        return query.where(compare("<=", times[0].copy(), times[1].copy())) if "shorten" in relative.kind else query

    def _named_times(self, ident: str, times: list[Sql]) -> list[Sql]:
        return [
            exp.alias_(value, self.names.time(ident, side), quoted=True)
            for side, value in zip(("begin", "end"), times, strict=True)
        ]

    def _join(self, node: cera.AnyJoin) -> exp.Select:
        left, right = self._over(node.left, "l"), self._over(node.right, "r")
        shared = self._join_conditions(node)
        conditions = list(shared)
        if not isinstance(node, cera.Join) and node.at:
            conditions.append(compare("<=", self.time(node.ident, "end", "r"), self.time(node.window, "end", "l")))
            conditions.append(compare(">", self.time(node.ident, cera.UNTIL, "r"), self.time(node.window, "end", "l")))
        elif not isinstance(node, cera.Join):
            window, ident = node.window, node.ident
            conditions.append(compare("<=", self.time(window, "begin", "l"), self.time(ident, "begin", "r")))
            conditions.append(compare("<=", self.time(ident, "end", "r"), self.time(window, "end", "l")))
        if self.near and node.near is not None and self.ticks(node.near.high - node.near.low) > 0:
            right = self._spread(node.right, node.near)
            conditions.append(exp.EQ(this=self._bucket(node.near), expression=column(BUCKET, "r")))
        elif node.near is not None and not shared:
            conditions += self._range(node.near)
        kinds = self.plan_types.kinds_of(node.left)
        # A typed value that equals a TERM takes its place.
        typed = self.plan_types.kinds_of(node.right) if not isinstance(node, cera.AntiJoin) else {}
        better = {
            self.names.variable(name)
            for name, kind in kinds.items()
            if kind is TERM and typed.get(name, TERM) is not TERM
        }
        mine = set(self.columns(node.left)) - better
        shown = [column(name, "l" if name in mine else "r") for name in self.columns(node)]
        kind = "anti" if isinstance(node, cera.AntiJoin) else "cross" if not conditions else ""
        return exp.select(*shown).from_(left).join(right, on=conjunction(conditions), join_type=kind)

    def _join_conditions(self, node: cera.AnyJoin) -> list[Sql]:
        left, right = self.plan_types.kinds_of(node.left), self.plan_types.kinds_of(node.right)
        conditions = []
        for name in node.left.schema.data:
            if name in node.right.schema.data:
                one, other = (column(self.names.variable(name), side) for side in "lr")
                conditions.append(equality(one, left.get(name, TERM), other, right.get(name, TERM)))
        return conditions

    def _range(self, near: cera.Near) -> list[Sql]:
        """What the conditions imply, said so that the join can go along the order of times."""
        left, right = self.time(*near.left, "l"), self.time(*near.right, "r")
        return [
            compare(">=", right, add_offset(left, self.ticks(near.low))),
            compare("<=", right.copy(), add_offset(left.copy(), self.ticks(near.high))),
        ]

    # Joins of near times: equal buckets of time instead of all pairs of a key

    def _bucket(self, near: cera.Near) -> Sql:
        width = self._width(near)
        return exp.IntDiv(this=self.time(*near.left, "l"), expression=integer(width))

    def _width(self, near: cera.Near) -> int:
        return max(1, self.ticks(near.high - near.low))

    def _spread(self, node: cera.Node, near: cera.Near) -> exp.Subquery:
        """Every tuple of the right side once for each bucket that its partners may be in."""
        time = self.time(*near.right)
        width = integer(self._width(near))
        first, last = (
            exp.IntDiv(this=exp.Paren(this=add_offset(time.copy(), -self.ticks(most))), expression=width.copy())
            for most in (near.high, near.low)
        )
        series = exp.Explode(this=exp.GenerateSeries(start=first, end=last))
        query = self._all(node, self._over(node)).select(exp.alias_(series, BUCKET, quoted=True))
        return query.subquery("r")
