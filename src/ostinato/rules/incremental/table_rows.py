"""The rows of tables as points: each tuple has the time until which its row holds.

A new version of a key closes the rows before it. Steps take tuples in any order: a row is closed by the first of the
versions that end after it, whichever comes first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.incremental.delta_query import PointPlan, Way
from ostinato.rules.incremental.look_ups import LookUpPlanner
from ostinato.rules.kernels import layout as k


class RowPlanner(LookUpPlanner, ABC):
    """Writes the delta queries of tables."""

    @abstractmethod
    def drive(self, node: cera.Node) -> list[Way]:
        """The delta queries that find what a step adds to a node."""

    def write_rows(self, point: PointPlan, node: cera.Rows) -> None:
        """First the delta queries that add all rows of a step, then those that close what came before a version."""
        time, held = self.generator.names.time, self.frame.constant(k.HELD)
        until = point.columns.index(time(node.ident, cera.UNTIL))
        for delta, columns in self.drive(node.left):
            slots = [held if place == until else columns[name].slot for place, name in enumerate(point.columns)]
            self.emit(delta, point, slots)
        for delta, columns in self.drive(node.versions):
            key, slots = self.keys(node.versions.schema.data, delta, columns, list(point.columns), point.kinds)
            end = columns[time(node.versions.schema.times[0], "end")].slot
            index = point.index(key, point.columns.index(time(node.ident, "end")))
            delta.add(k.CLOSE, point, index, slots, -1, delta.plus(end, -1), end, until)

    def look_up_rows(self, node: cera.TemporalJoin, way: Way) -> Way:
        """The rows that hold when the window ends."""
        delta, columns = way
        time = self.generator.names.time
        now = columns[time(node.window, "end")].slot
        found = self.look_up(node, delta, columns, node.right, None, (node.ident, "end"), None, None)
        look_up = delta.code[-1]
        look_up[5] = now
        if set(self._row_key(node.right)) <= set(node.left.schema.data):
            # Of one key: what ended before the last of its rows is replaced, and need not be looked at.
            lowest = self.frame.constant(k.LOWEST)
            look_up[4] = self.frame.slot()
            delta.code.insert(-1, [k.MOVE, look_up[4], lowest, lowest])
            end = found[time(node.ident, "end")].slot
            delta.add(k.MOVE, look_up[4], end, end)
        delta.add(k.TEST, delta.compute(k.GT_I, found[time(node.ident, cera.UNTIL)].slot, now))
        return delta, {**found, **self.kept(node, columns)}

    def negate_rows(self, node: cera.AntiJoin, way: Way) -> Way:
        """Go on where no row holds when the window ends."""
        delta, columns = way
        time = self.generator.names.time
        point, names, kinds = self.partner(node.right)
        key, slots = self.keys(cera.shared_data(node), delta, columns, names, kinds)
        now = columns[time(node.window, "end")].slot
        index = point.index(key, names.index(time(node.ident, "end")))
        delta.add(k.ABSENT, point, index, slots, -1, now, delta.plus(now, 1), names.index(time(node.ident, cera.UNTIL)))
        return way

    def _row_key(self, node: cera.Node) -> tuple[str, ...]:
        """The variables that tell rows apart, as they are called here."""
        point = node.input if isinstance(node, cera.Rename) else node
        assert isinstance(point, cera.Point)
        rows = self.program.plan.query_plan.by_name[point.name].node
        assert isinstance(rows, cera.Rows)
        new = {old: name for name, old in node.data} if isinstance(node, cera.Rename) else {}
        versions = rows.versions  # whose key is called as in the rows
        return tuple(new.get(name, name) for name in versions.schema.data)


def reopen_rows(point: k.Point, until: int, now: int) -> None:
    """Take back what was closed after a time."""
    times = point.rows[: point.marks[k.COUNT], until]
    times[times > now] = k.HELD
