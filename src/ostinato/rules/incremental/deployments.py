"""The programs of one live engine: the one it was built for, and those deployed while it runs.

All rules are one program: they are numbered through, read each other's events, and are stratified together. What was
deployed later shares no points with what was there: it starts as if the stream began with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ostinato.errors import DataError, did_you_mean
from ostinato.rules.plan.check import parse_and_check
from ostinato.rules.syntax.nodes import Ruleset
from ostinato.rules.syntax.parse import parse

MAIN = ""


@dataclass(frozen=True)
class Deployment:
    """A program under its name; `since` is its number, 0 for the one the engine was built for."""

    name: str
    text: str
    since: int = 0


@dataclass(frozen=True)
class Deployments:
    """What runs, in the order in which it came."""

    parts: tuple[Deployment, ...]

    @classmethod
    def of(cls, text: str) -> Deployments:
        return cls((Deployment(MAIN, text),))

    @property
    def names(self) -> list[str]:
        return [part.name for part in self.parts if part.name != MAIN]

    @property
    def text(self) -> str:
        return "\n".join(part.text for part in self.parts)

    def program(self) -> Ruleset:
        """Everything as one program. Raises QueryError where it does not go together, with the place in `text`."""
        return parse_and_check(self.text)

    def since(self) -> dict[int, int]:
        """The deployment of each rule, by its number in the whole."""
        return dict(enumerate(self._since(), 1))

    def _since(self) -> Iterator[int]:
        for part in self.parts:
            yield from [part.since] * len(parse(part.text).rules)

    def with_part(self, name: str, text: str) -> Deployments:
        """With another program, or in place of the one that has the name."""
        since = 1 + max(part.since for part in self.parts)
        kept = tuple(part for part in self.parts if part.name != name)
        return Deployments((*kept, Deployment(name, text, since)))

    def with_parts(self, saved: Iterable[tuple[str, str, int]]) -> Deployments:
        """With deployments as snapshots have them."""
        return Deployments((*self.parts, *(Deployment(*each) for each in saved)))

    def with_main(self, text: str) -> Deployments:
        """With another program in place of the one that the engine was built for."""
        return Deployments((Deployment(MAIN, text), *self.parts[1:]))

    def without(self, name: str) -> Deployments:
        if name not in self.names:
            fix = did_you_mean(name, self.names) or "deploy it first"
            raise DataError(f"no rules are deployed as `{name}`", fix=fix)
        return Deployments(tuple(part for part in self.parts if part.name != name))
