"""Strata: which rules must be complete before which (CERA paper, section 4.2).

A rule comes strictly after those that derive what it negates, what it groups, what its timers are anchored on, the
tables that it looks into, and what its patterns read: these need events in order, and a strategy such as MAX drops a
match when more events come. A cycle through such a step has no meaning and is refused; a cycle without one is
recursion, which runs to its fixpoint.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ostinato.errors import QueryError, Span
from ostinato.rules.plan.embedded_cel import named_labels
from ostinato.rules.syntax.grouping import groups_bindings
from ostinato.rules.syntax.nodes import At, CelPattern, NormalRule, RelativeTimer


@dataclass(frozen=True)
class Group:
    """Rules that need each other (recursive), or one rule that does not depend on itself, in the order of the text."""

    rules: tuple[NormalRule, ...]
    recursive: bool


@dataclass(frozen=True)
class Strata:
    """Lowest stratum first; within one, each group after those that it reads."""

    strata: tuple[tuple[Group, ...], ...]
    heights: Mapping[str, int]  # the stratum of each label that is derived
    incoming: Mapping[str, Span]  # labels that are only queried, with their first use
    read: frozenset[str]  # labels that rules query

    @property
    def derived(self) -> frozenset[str]:
        """The labels of the heads."""
        return frozenset(self.heights)

    @property
    def groups(self) -> tuple[Group, ...]:
        """All of them in the order in which they can be evaluated."""
        return tuple(group for groups in self.strata for group in groups)


@dataclass(frozen=True)
class LabelUse:
    """A rule reads events of a label. `strict` says why those must be complete first; `word` shows it in a cycle;
    `if_derived`: it reads them only where a rule derives them."""

    label: str
    span: Span
    strict: str | None = None
    word: str = ""
    if_derived: bool = False


_GROUPING = ("grouping", "all ")
_TEMPORAL = ("a timer", "timer on ")
_TABLE = ("a table", "at ")
_PATTERN = "a pattern"


def label_uses(rule: NormalRule) -> Iterator[LabelUse]:
    """What the rule reads, in the order of its literals."""
    grouped = _GROUPING if groups_bindings(rule) else (None, "")
    anchors = _anchors(rule)
    for event in rule.events:
        if isinstance(event, CelPattern):
            # What an SREM compares `type` with may be the label of no event at all.
            is_test = event.language == "srem"
            for label in sorted(named_labels(event.query, event.language)):
                yield LabelUse(label, event.query_span, _PATTERN, "pattern over ", is_test)
        else:
            yield LabelUse(event.term.label, event.span, *(_TEMPORAL if event.ident in anchors else grouped))
    for collect in rule.collects:
        yield LabelUse(collect.term.label, collect.span, *(_TABLE if isinstance(collect, At) else grouped))
    for negation in rule.negations:
        word = "at … not " if isinstance(negation, At) else "not "
        yield LabelUse(negation.term.label, negation.span, "negation", word)


def _anchors(rule: NormalRule) -> frozenset[str]:
    """Identifiers that some timer is anchored on, itself or through other timers."""
    return frozenset(timer.anchor for timer in rule.timers if isinstance(timer, RelativeTimer))


def stratify(rules: Sequence[NormalRule], below: Mapping[str, int] | None = None) -> Strata:
    """Raises QueryError where a rule depends on its own result through a strict step. `below` are the strata of labels
    that other rules derive, which read nothing of these."""
    known = below or {}
    reads = [list(label_uses(rule)) for rule in rules]
    makers: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        makers.setdefault(rule.head.label, []).append(number)
    edges = [sorted({maker for use in found for maker in makers.get(use.label, ())}) for found in reads]

    level: dict[int, int] = {}
    strata: list[list[Group]] = []
    for component in _components(edges):
        members = frozenset(component)
        _check_steps(component, members, rules, reads, makers)
        steps = [
            level[maker] + (use.strict is not None)
            for number in component
            for use in reads[number]
            for maker in makers.get(use.label, ())
            if maker not in members
        ]
        steps += [
            known[use.label] + (use.strict is not None)
            for number in component
            for use in reads[number]
            if use.label in known
        ]
        height = max(steps, default=0)
        level |= dict.fromkeys(component, height)
        strata += [[] for _ in range(height + 1 - len(strata))]
        recursive = any(maker in members for number in component for maker in edges[number])
        strata[height].append(Group(tuple(rules[number] for number in component), recursive))

    incoming: dict[str, Span] = {}
    for use in (use for found in reads for use in found):
        if not use.if_derived and use.label not in makers and use.label not in known:
            incoming.setdefault(use.label, use.span)
    heights = {label: max(level[number] for number in found) for label, found in makers.items()}
    read = frozenset(use.label for found in reads for use in found)
    return Strata(tuple(map(tuple, strata)), heights, incoming, read)


def _components(edges: Sequence[Sequence[int]]) -> list[list[int]]:
    """Strongly connected components, each after all that it has edges to (Tarjan), without recursion."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    open_: list[int] = []
    found: list[list[int]] = []
    placed: set[int] = set()
    for root in range(len(edges)):
        path = [] if root in order else [(root, iter(edges[root]))]
        while path:
            node, rest = path[-1]
            if node not in order:
                order[node] = low[node] = len(order)
                open_.append(node)
            following = next((other for other in rest if other not in order), None)
            if following is not None:
                path.append((following, iter(edges[following])))
                continue
            path.pop()
            low[node] = min([order[node], *(low[other] for other in edges[node] if other not in placed)])
            if low[node] == order[node]:
                at = open_.index(node)
                found.append(sorted(open_[at:]))
                placed.update(open_[at:])
                del open_[at:]
    return found


def _check_steps(
    component: Sequence[int],
    members: frozenset[int],
    rules: Sequence[NormalRule],
    reads: Sequence[Sequence[LabelUse]],
    makers: Mapping[str, Sequence[int]],
) -> None:
    for number in component:
        for use in reads[number]:
            inside = [maker for maker in makers.get(use.label, ()) if maker in members]
            if use.strict is None or not inside:
                continue
            rule = rules[number]
            back = _way(inside, number, members, reads, makers)
            shown = " <- ".join([rule.head.label, *(step.word + step.label for step in (use, *back))])
            raise QueryError(
                f"rule {rule.number} ({rule.head.label}) depends on its own result through {use.strict}: {shown}",
                span=use.span,
                fix="give what one of these rules derives another label, so that no rule waits for itself",
            )


def _way(
    sources: Sequence[int],
    target: int,
    members: frozenset[int],
    reads: Sequence[Sequence[LabelUse]],
    makers: Mapping[str, Sequence[int]],
) -> list[LabelUse]:
    """The fewest uses that lead from one of the sources to the target, inside a component."""
    ways: dict[int, list[LabelUse]] = {source: [] for source in sources}
    queue = deque(sources)
    while target not in ways:
        number = queue.popleft()
        for use in reads[number]:
            for maker in makers.get(use.label, ()):
                if maker in members and maker not in ways:
                    ways[maker] = [*ways[number], use]
                    queue.append(maker)
    return ways[target]
