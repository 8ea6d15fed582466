"""The programs of one live engine: the one it was built for, and those deployed while it runs.

All rules are one program: they are numbered through, read each other's events, and are stratified together. What was
deployed later shares no points with what was there: it starts as if the stream began with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from ostinato.core.user_functions import UserFunction
from ostinato.errors import DataError, QueryError, Span, did_you_mean
from ostinato.rules.plan.check import parse_and_check
from ostinato.rules.syntax.nodes import Rule, Ruleset, Table
from ostinato.rules.syntax.parse import parse
from ostinato.rules.syntax.user_calls import called_functions

MAIN = ""


@dataclass(frozen=True)
class Deployment:
    """A program under its name; `since` is its number, 0 for the one the engine was built for.

    `rules` have their places in the text of all programs, which begins with `at` other characters.
    """

    name: str
    text: str
    since: int
    at: int
    rules: tuple[Rule, ...]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Deployments:
    """What runs, in the order in which it came, and the functions of the user that rules may call."""

    parts: tuple[Deployment, ...]
    functions: Mapping[str, UserFunction]

    @classmethod
    def of(cls, program: Ruleset, text: str, functions: Mapping[str, UserFunction]) -> Deployments:
        return cls((Deployment(MAIN, text, 0, 0, program.rules, program.tables),), functions)

    def called(self) -> Mapping[str, str]:
        """The functions of the user that rules call, by name, with the types that they have."""
        called = called_functions(self.program())
        return {name: function.signature for name, function in called.items()}

    @property
    def names(self) -> list[str]:
        return [part.name for part in self.parts if part.name != MAIN]

    @property
    def text(self) -> str:
        """Every program at its place; where another one was, there are empty lines."""
        text = ""
        for part in self.parts:
            text += "\n" * (part.at - len(text)) + part.text
        return text

    def located(self, error: QueryError) -> QueryError:
        """The same error, with its place in the text of the one program that it is about."""
        if error.text is not None or (span := error.span) is None:
            return error
        part = next(part for part in reversed(self.parts) if part.at <= span.start)
        return error.replace(text=part.text, span=Span(span.start - part.at, span.end - part.at))

    def program(self) -> Ruleset:
        """Everything as one program, numbered through."""
        rules = (rule for part in self.parts for rule in part.rules)
        return Ruleset(tuple(replace(rule, number=number) for number, rule in enumerate(rules, 1)), self._tables())

    def _tables(self) -> tuple[Table, ...]:
        """The tables of all programs. Raises QueryError where two give one another key."""
        found: dict[str, Table] = {}
        for table in (table for part in self.parts for table in part.tables):
            known = found.setdefault(table.label, table)
            if known != table:
                reason = f"another program says that the key of `{table.label}` is "
                reason += ", ".join(f"`{each.label}`" for each in known.key)
                error = QueryError(reason, span=table.span, fix="give both the same key, or the table another label")
                raise self.located(error)
        return tuple(found.values())

    def since(self) -> dict[int, int]:
        """The deployment of each rule, by its number in the whole."""
        return dict(enumerate((part.since for part in self.parts for _ in part.rules), 1))

    def program_of(self, part: Deployment) -> Ruleset:
        """The rules of one of them, numbered as in the whole."""
        before = sum(len(each.rules) for each in self.parts[: self.parts.index(part)])
        rules = tuple(replace(rule, number=number) for number, rule in enumerate(part.rules, before + 1))
        return Ruleset(rules, part.tables)

    def changes(self, before: Deployments) -> tuple[list[int], list[Deployment]]:
        """Which have gone since then, by their number, and which are new."""
        known, here = {id(part) for part in before.parts}, {id(part) for part in self.parts}
        gone = [part.since for part in before.parts if id(part) not in here]
        return gone, [part for part in self.parts if id(part) not in known]

    def with_part(self, name: str, text: str) -> Deployments:
        """With another program, or in place of the one that has the name. Raises QueryError for faults in its text."""
        since = 1 + max(part.since for part in self.parts)
        kept = tuple(part for part in self.parts if part.name != name)
        return replace(self, parts=(*kept, self._parsed(name, text, since, len(self.text) + 1)))

    def with_parts(self, saved: Iterable[tuple[str, str, int]]) -> Deployments:
        """With deployments as snapshots have them."""
        known = self
        for name, text, since in saved:
            part = known._parsed(name, text, since, len(known.text) + 1)
            known = replace(known, parts=(*known.parts, part))
        return known

    def with_main(self, text: str) -> Deployments:
        """With another program in place of the one that the engine was built for."""
        return replace(self, parts=(self._parsed(MAIN, text, 0, 0),)).with_parts(
            (part.name, part.text, part.since) for part in self.parts[1:]
        )

    def without(self, name: str) -> Deployments:
        if name not in self.names:
            fix = did_you_mean(name, self.names) or "deploy it first"
            raise DataError(f"no rules are deployed as `{name}`", fix=fix)
        return replace(self, parts=tuple(part for part in self.parts if part.name != name))

    def _parsed(self, name: str, text: str, since: int, at: int) -> Deployment:
        parse_and_check(text, self.functions)  # faults are shown in this text alone
        program = parse("\n" * at + text, self.functions)
        return Deployment(name, text, since, at, program.rules, program.tables)
