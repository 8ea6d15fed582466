"""What an SREM means, straight from its definition (SRA paper, sections 3.3, 5.3 and 6), for short strings.

Nothing here is shared with the automata beyond the meaning of a single test: this is what they are tested against.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ostinato.core.expression_interpreter import Row, satisfies
from ostinato.errors import DataError
from ostinato.patterns.semantics.derivations import to_nanoseconds
from ostinato.patterns.syntax.srem.nodes import Concat, Either, Expression, Plus, Repeat, SremPattern, Star, Test

# v (Definition 3.10): the position of the event that each written register holds, by register.
Valuation = tuple[tuple[str, int], ...]


def accepts(expression: Expression, rows: Sequence[Row]) -> bool:
    """Whether the whole string is in L(e) (Definition 3.14)."""
    return bool(infer(expression, rows, ()))


def infer(expression: Expression, rows: Sequence[Row], valuation: Valuation) -> set[Valuation]:
    """Every v' with (e, S, v) ⊢ v' (Definition 3.13), where S is the whole of `rows`."""
    return set(_Inference(rows).of(expression, 0, len(rows), valuation))


def detect(pattern: SremPattern, rows: Sequence[Row], *, time: str | None = None) -> list[tuple[int, int]]:
    """Every (first, last) position whose segment is in the language (Definition 6.1), ordered by last, then first.

    The segments are those of a partition's sub-stream; the positions are those of the whole stream. Empty segments are
    nowhere in a stream and are not reported.
    """
    found = []
    for origin in _partitions(pattern, rows):
        stream = [rows[position] for position in origin]
        inference = _Inference(stream)
        for last in range(len(stream)):
            for first in range(last + 1):
                if _in_window(pattern, stream, first, last, time) and inference.of(
                    pattern.expression, first, last + 1, ()
                ):
                    found.append((origin[first], origin[last]))
    return sorted(found, key=lambda match: (match[1], match[0]))


class _Inference:
    """The relation ⊢ on segments begin … end-1 of one string; each question is answered once."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows
        self.known: dict[tuple[Expression, int, int, Valuation], frozenset[Valuation]] = {}

    def of(self, expression: Expression, begin: int, end: int, valuation: Valuation) -> frozenset[Valuation]:
        judgement = (expression, begin, end, valuation)
        if judgement not in self.known:
            self.known[judgement] = frozenset(self._infer(*judgement))
        return self.known[judgement]

    def _infer(self, expression: Expression, begin: int, end: int, v: Valuation) -> Iterator[Valuation]:
        if isinstance(expression, Test):  # cases 2 and 3
            registers = {register: self.rows[position] for register, position in v}
            if end == begin + 1 and satisfies(expression.test, self.rows[begin], registers):
                yield tuple(sorted({**dict(v), **dict.fromkeys(expression.writes, begin)}.items()))
        elif isinstance(expression, Either):  # case 5
            for part in expression.parts:
                yield from self.of(part, begin, end, v)
        elif isinstance(expression, Plus):
            yield from self._then(expression.body, Star(expression.body), range(begin, end + 1), v)
        elif isinstance(expression, Star):  # case 6
            if begin == end:
                yield v
            # An empty first round changes nothing, so that rounds of one event and more are enough.
            yield from self._then(expression.body, expression, range(begin, end + 1), v, shortest=1)
        elif isinstance(expression, Repeat):  # case 4, so many times
            if begin == end and expression.least == 0:
                yield v
            if expression.most != 0:
                yield from self._then(expression.body, _one_round_less(expression), range(begin, end + 1), v)
        elif expression.parts:  # case 4
            first, rest = expression.parts[0], Concat(expression.parts[1:])
            yield from self._then(first, rest, range(begin, end + 1), v)
        elif begin == end:  # case 1
            yield v

    def _then(
        self, first: Expression, rest: Expression, cuts: range, v: Valuation, shortest: int = 0
    ) -> Iterator[Valuation]:
        """S = S1 · S2 with (first, S1, v) ⊢ v'' and (rest, S2, v'') ⊢ v'."""
        begin, end = cuts[0], cuts[-1]
        for cut in cuts[shortest:]:
            for between in self.of(first, begin, cut, v):
                yield from self.of(rest, cut, end, between)


def _one_round_less(loop: Repeat) -> Expression:
    most = None if loop.most is None else loop.most - 1
    if loop.least <= 1 and most is None:
        return Star(loop.body)
    return Repeat(loop.body, max(loop.least - 1, 0), most)


def _partitions(pattern: SremPattern, rows: Sequence[Row]) -> list[list[int]]:
    """The positions of each sub-stream; NULL is a key like any other, so is NaN."""
    keys: dict[tuple[Any, ...], list[int]] = {}
    for position, row in enumerate(rows):
        key = (row.get(attribute) for attribute in pattern.partition_by)
        keys.setdefault(tuple("NaN" if part != part else part for part in key), []).append(position)
    return list(keys.values())


def _in_window(pattern: SremPattern, stream: Sequence[Row], first: int, last: int, time: str | None) -> bool:
    window = pattern.window
    if window is None:
        return True
    if window.kind == "events":  # Definition 5.12
        return last - first < window.amount
    if window.kind == "time":
        if time is None:
            raise DataError("WITHIN a time needs a time column", fix="name it, or use WITHIN n EVENTS")
        return to_nanoseconds(stream[last][time]) - to_nanoseconds(stream[first][time]) <= window.amount
    assert window.attribute is not None
    return bool(stream[last][window.attribute] - stream[first][window.attribute] <= window.amount)
