"""Small random documents and random paths over them, for the automata of XSeq and its optimisations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ostinato.xseq.syntax import nodes as n

NAMES = ("a", "b", "c")
ATTRIBUTES = ("p", "q")
FORWARD = (
    n.Axis.CHILD,
    n.Axis.CHILD,
    n.Axis.DESCENDANT,
    n.Axis.FOLLOWING_SIBLING,
    n.Axis.IMMEDIATE_FOLLOWING_SIBLING,
    n.Axis.FIRST_CHILD,
)
BACKWARD = (n.Axis.PARENT, n.Axis.ANCESTOR, n.Axis.PRECEDING_SIBLING)
ANY, NODE, TEXT = n.NodeTest(n.Kind.ANY), n.NodeTest(n.Kind.NODE), n.NodeTest(n.Kind.TEXT)


@st.composite
def elements(draw: Any, depth: int = 3) -> str:
    name = draw(st.sampled_from(NAMES))
    attributes = draw(st.dictionaries(st.sampled_from(ATTRIBUTES), st.sampled_from(("1", "2")), max_size=2))
    inside = draw(st.lists(st.one_of(st.just("t"), elements(depth - 1)), max_size=4)) if depth else []
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(inside)}</{name}>"


def documents() -> st.SearchStrategy[bytes]:
    return elements().map(str.encode)


def tests() -> st.SearchStrategy[n.NodeTest]:
    return st.one_of(st.builds(n.NodeTest, st.just(n.Kind.NAME), st.sampled_from(NAMES)), st.just(ANY))


def attribute(name: str) -> n.Step:
    return n.Step(n.Axis.ATTRIBUTE, n.NodeTest(n.Kind.NAME, name))


def local_predicates() -> st.SearchStrategy[n.Predicate]:
    attributes = st.sampled_from(ATTRIBUTES).map(attribute)
    values = st.sampled_from(("1", "2"))
    sides = st.builds(n.Relative, attributes), st.builds(n.Constant, values)
    compared = st.builds(n.Holds, st.builds(n.Comparison, st.sampled_from(("=", "!=", "<")), *sides))
    return st.one_of(compared, st.builds(n.Exists, attributes))


@st.composite
def steps(draw: Any, axes: tuple[n.Axis, ...], predicates: st.SearchStrategy[n.Predicate]) -> n.Step:
    held = (draw(predicates),) if not predicates.is_empty and draw(st.integers(0, 5)) == 0 else ()
    return n.Step(draw(st.sampled_from(axes)), draw(tests()), predicates=held)


def last_steps() -> st.SearchStrategy[n.Step]:
    return st.sampled_from(
        (
            attribute("p"),
            n.Step(n.Axis.CHILD, TEXT),
            n.Step(n.Axis.DESCENDANT, TEXT),
            n.Step(n.Axis.CHILD, NODE),
            n.Step(n.Axis.SELF, NODE),
        )
    )


def _together(kind: type[n.Concat] | type[n.Union] | type[n.Intersect], inner: Any, size: int = 3) -> Any:
    return st.lists(inner, min_size=2, max_size=size).map(lambda some: kind(tuple(some)))


@st.composite
def paths(
    draw: Any,
    axes: tuple[n.Axis, ...] = FORWARD,
    predicates: st.SearchStrategy[n.Predicate] | None = None,
    *,
    intersect: bool = True,
    variables: bool = True,
) -> n.Path:
    """A path from the document node; most begin by going down."""
    single = steps(axes, local_predicates() if predicates is None else predicates)

    def larger(inner: Any) -> Any:
        kinds = [
            _together(n.Concat, inner),
            _together(n.Concat, inner),
            st.builds(n.Star, inner, st.sampled_from((None, None, n.Axis.CHILD, n.Axis.DESCENDANT))),
            _together(n.Union, inner, 2),
        ]
        if intersect:
            kinds.append(_together(n.Intersect, inner, 2))
        return st.one_of(kinds)

    rest = draw(st.recursive(single, larger, max_leaves=4))
    if variables and draw(st.integers(0, 3)) == 0:
        tail: n.Path = n.Concat((rest, n.Call("Z")))
        if draw(st.booleans()):
            tail = n.Union((tail, draw(single)))
        rest = n.Define("Z", tail, draw(st.sampled_from((None, n.Axis.CHILD, n.Axis.DESCENDANT))))
        if draw(st.booleans()):
            rest = n.Concat((rest, n.Call("Z")))
    ends = (draw(last_steps()),) if draw(st.integers(0, 3)) == 0 else ()
    first = draw(st.sampled_from(((), (n.Step(n.Axis.DESCENDANT, ANY),), (n.Step(n.Axis.CHILD, ANY),))))
    every = (*first, rest, *ends)
    return every[0] if len(every) == 1 else n.Concat(every)
