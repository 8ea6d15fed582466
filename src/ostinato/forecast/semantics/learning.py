"""What is learned from a stream of symbols, straight from the definitions (Ron, Singer, Tishby; SRA paper, section 8).

Every context that occurs is tried, by loops over the events. It shares nothing with `forecast.learn`, so that each can
be tested against the other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import TypeAlias

Context: TypeAlias = tuple[int, ...]  # oldest symbol first
Event: TypeAlias = tuple[Hashable, int]  # the key and the symbol
Followers: TypeAlias = Mapping[
    Context, Mapping[int, float]
]  # N(σ | s): how often the symbol σ came after the context s


def count_followers(events: Sequence[Event], order: int) -> Followers:
    """For every context up to the order, how often each symbol came right after it within its key."""
    found: dict[Context, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    past: dict[Hashable, list[int]] = defaultdict(list)
    for key, symbol in events:
        before = past[key]
        for length in range(min(order, len(before)) + 1):
            found[tuple(before[len(before) - length :])][symbol] += 1
        before.append(symbol)
    return found


def suffix(context: Context) -> Context:
    """The longest suffix that is shorter."""
    return context[1:]


def tells_more(
    found: Followers, context: Context, *, p_min: float, min_count: float, alpha: float, gamma: float, r: float
) -> bool:
    """Whether a context is frequent, and some symbol that is not rare after it is notably more or less frequent there
    than after its suffix."""
    times = sum(found[context].values())
    if times / sum(found[()].values()) < p_min or times < min_count:
        return False
    before = sum(found[suffix(context)].values())
    for symbol, number in found[context].items():
        likely = number / times
        ratio = likely / (found[suffix(context)][symbol] / before)
        if likely >= (1 + alpha) * gamma and (ratio >= r or ratio <= 1 / r):
            return True
    return False


def contexts(found: Followers, *, p_min: float, min_count: float, alpha: float, gamma: float, r: float) -> set[Context]:
    """The empty context, those that tell more than their suffixes, and all suffixes of these."""
    chosen: set[Context] = {()}
    for context in found:
        if context and tells_more(found, context, p_min=p_min, min_count=min_count, alpha=alpha, gamma=gamma, r=r):
            while context:
                chosen.add(context)
                context = suffix(context)
    return chosen


def distribution(found: Followers, context: Context, prior: float, alphabet: int) -> list[float]:
    """Of all events after the context: empirical for the empty one; any other is drawn to its suffix's as by `prior`
    events of that for each symbol that came after it."""
    after = [found[context].get(symbol, 0.0) for symbol in range(alphabet)]
    times = sum(after)
    if not context:
        return [number / times for number in after]
    return _shrink(after, distribution(found, suffix(context), prior, alphabet), prior)


def own_distribution(
    found: Followers, chosen: set[Context], context: Context, prior: float, alphabet: int
) -> list[float]:
    """P(σ | s) in a tree: of the events after the context that come after no longer one of the tree, drawn to that of
    all of them where these are more."""
    whole = distribution(found, context, prior, alphabet)
    longer = [other for other in chosen if other and suffix(other) == context]
    own = [
        found[context].get(symbol, 0.0) - sum(found[other].get(symbol, 0.0) for other in longer)
        for symbol in range(alphabet)
    ]
    return _shrink(own, whole, prior) if longer and sum(own) else whole


def _shrink(numbers: list[float], towards: list[float], prior: float) -> list[float]:
    weight = prior * sum(number > 0 for number in numbers)
    total = sum(numbers) + weight
    return [(number + weight * likely) / total for number, likely in zip(numbers, towards, strict=True)]
