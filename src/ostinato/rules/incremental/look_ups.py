"""How a delta query looks up the tuples of a point that its own tuple meets: by the variables that both
have, in an index.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pyarrow as pa

from ostinato.rules.algebra import nodes as cera
from ostinato.rules.incremental.codes import FLOAT, MOMENT, TRUTH, WHOLE, code_kind
from ostinato.rules.incremental.delta_query import Columns, DeltaQuery, LookUp, Operand, PointPlan
from ostinato.rules.incremental.planned_points import PointPlanner
from ostinato.rules.kernels import layout as k
from ostinato.rules.relational.kinds import TERM, Kind

_PLAIN_OF = {WHOLE: k.NUMBER, FLOAT: k.NUMBER, TRUTH: k.TRUTH, MOMENT: k.MOMENT}


class LookUpPlanner(PointPlanner):
    """Writes look-ups."""

    def kept(self, node: cera.AnyJoin, columns: Columns) -> Columns:
        """What comes from the left side, but for TERMs that the right side has typed: these say more."""
        left, right = self.types.kinds_of(node.left), self.types.kinds_of(node.right)
        better = {
            self.generator.names.variable(name)
            for name, kind in left.items()
            if kind is TERM and right.get(name, TERM) is not TERM
        }
        return {name: each for name, each in columns.items() if name not in better}

    def look_up(
        self,
        node: cera.AnyJoin,
        delta: DeltaQuery,
        have: Columns,
        other: cera.Node,
        mine: tuple[str, str] | None,
        theirs: tuple[str, str] | None,
        low: int | None,
        high: int | None,
    ) -> Columns:
        """A LOOKUP of the partners among the tuples of `other`; gives their columns."""
        point, names, kinds = self.partner(other)
        keys, slots = self.keys(cera.shared_data(node), delta, have, names, kinds)
        time = self.generator.names
        first_end = names.index(time.time(other.schema.times[0], "end"))
        column = first_end if theirs is None else names.index(time.time(*theirs))
        bounds = [-1, -1]
        if mine is not None and low is not None and high is not None:
            at = have[time.time(*mine)].slot
            bounds = [delta.plus(at, low), delta.plus(at, high)]
        found = LookUp()
        delta.add(k.LOOKUP, point, point.index(keys, column), slots, *bounds, found)

        def load(place: int) -> Callable[[], int]:
            def into() -> int:
                return found.loads.setdefault(place, delta.frame.slot())

            return into

        return {name: Operand(kinds[place], load=load(place)) for place, name in enumerate(names)}

    def partner(self, node: cera.Node) -> tuple[PointPlan, list[str], tuple[Kind, ...]]:
        """The point that is looked up, and its columns under the names that they have here."""
        names = self.generator.columns(node)
        point = node.input if isinstance(node, cera.Rename) else node
        assert isinstance(point, cera.Point), "what is looked up again is materialised"
        plan = self.by_name[point.name]
        return plan, names, plan.kinds

    def keys(
        self, data: Sequence[str], delta: DeltaQuery, have: Columns, names: list[str], kinds: Sequence[Kind]
    ) -> tuple[list[tuple[int, int]], list[int]]:
        """The columns of the index, and the slots whose values are sought in them."""
        keys: list[tuple[int, int]] = []
        slots: list[int] = []
        for name in data:
            column = self.generator.names.variable(name)
            place, one = names.index(column), have[column]
            kind = kinds[place]
            if (kind is TERM) == (one.kind is TERM):
                slots.append(self._exact(delta, one, kind))
                keys.append((place, 0))
            elif kind is TERM:
                plain = _PLAIN_OF.get(one.coded, 0)
                slots.append(self._exact(delta, one, pa.float64()) if plain == k.NUMBER else one.slot)
                keys.append((place, plain))
            else:
                coded = code_kind(kind)
                slot = one.slot
                if coded in _PLAIN_OF:
                    slot = self.frame.slot()
                    delta.add(k.TERM_PLAIN, slot, one.slot, _PLAIN_OF[coded])
                    slot = delta.compute(k.EXACT_F_TO_I, slot) if coded == WHOLE else slot
                slots.append(slot)
                keys.append((place, 0))
        return keys, slots

    def _exact(self, delta: DeltaQuery, one: Operand, kind: Kind) -> int:
        """The value as the code of another type of numbers, where it is exactly that."""
        if one.coded == WHOLE and code_kind(kind) == FLOAT:
            return delta.compute(k.EXACT_I_TO_F, one.slot)
        if one.coded == FLOAT and code_kind(kind) == WHOLE:
            return delta.compute(k.EXACT_F_TO_I, one.slot)
        return one.slot
