"""Small random documents and random paths over them, for the automata of XSeq and its optimisations."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from ostinato.xseq.syntax.nodes import (
    Axis,
    Call,
    Comparison,
    Concat,
    Constant,
    Define,
    Exists,
    Holds,
    Intersect,
    Kind,
    NodeTest,
    Path,
    Predicate,
    Relative,
    Star,
    Step,
    Union,
)

NAMES = ("a", "b", "c")
ATTRIBUTES = ("p", "q")
FORWARD = (
    Axis.CHILD,
    Axis.CHILD,
    Axis.DESCENDANT,
    Axis.FOLLOWING_SIBLING,
    Axis.IMMEDIATE_FOLLOWING_SIBLING,
    Axis.FIRST_CHILD,
)
BACKWARD = (Axis.PARENT, Axis.ANCESTOR, Axis.PRECEDING_SIBLING)
ANY, NODE, TEXT = NodeTest(Kind.ANY), NodeTest(Kind.NODE), NodeTest(Kind.TEXT)


@st.composite
def elements(draw: Any, depth: int = 3) -> str:
    name = draw(st.sampled_from(NAMES))
    attributes = draw(st.dictionaries(st.sampled_from(ATTRIBUTES), st.sampled_from(("1", "2")), max_size=2))
    inside = draw(st.lists(st.one_of(st.just("t"), elements(depth - 1)), max_size=4)) if depth else []
    written = "".join(f' {key}="{value}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(inside)}</{name}>"


def documents() -> st.SearchStrategy[bytes]:
    return elements().map(str.encode)


def tests() -> st.SearchStrategy[NodeTest]:
    return st.one_of(st.sampled_from(NAMES).map(lambda name: NodeTest(Kind.NAME, name)), st.just(ANY))


def attribute(name: str) -> Step:
    return Step(Axis.ATTRIBUTE, NodeTest(Kind.NAME, name))


def local_predicates() -> st.SearchStrategy[Predicate]:
    compared = st.builds(
        lambda name, sign, value: Holds(Comparison(sign, Relative(attribute(name)), Constant(value))),
        st.sampled_from(ATTRIBUTES),
        st.sampled_from(("=", "!=", "<")),
        st.sampled_from(("1", "2")),
    )
    return st.one_of(compared, st.sampled_from(ATTRIBUTES).map(lambda name: Exists(attribute(name))))


@st.composite
def steps(draw: Any, axes: tuple[Axis, ...], predicates: st.SearchStrategy[Predicate]) -> Step:
    held = (draw(predicates),) if not predicates.is_empty and draw(st.integers(0, 5)) == 0 else ()
    return Step(draw(st.sampled_from(axes)), draw(tests()), predicates=held)


def last_steps() -> st.SearchStrategy[Step]:
    return st.sampled_from(
        (
            attribute("p"),
            Step(Axis.CHILD, TEXT),
            Step(Axis.DESCENDANT, TEXT),
            Step(Axis.CHILD, NODE),
            Step(Axis.SELF, NODE),
        )
    )


def _together(kind: type[Concat] | type[Union] | type[Intersect], inner: Any, size: int = 3) -> Any:
    return st.lists(inner, min_size=2, max_size=size).map(lambda some: kind(tuple(some)))


@st.composite
def paths(
    draw: Any,
    axes: tuple[Axis, ...] = FORWARD,
    predicates: st.SearchStrategy[Predicate] | None = None,
    *,
    intersect: bool = True,
    variables: bool = True,
) -> Path:
    """A path from the document node; most begin by going down."""
    single = steps(axes, local_predicates() if predicates is None else predicates)

    def larger(inner: Any) -> Any:
        kinds = [_together(Concat, inner), _together(Concat, inner), inner.map(Star), _together(Union, inner, 2)]
        if intersect:
            kinds.append(_together(Intersect, inner, 2))
        return st.one_of(kinds)

    rest = draw(st.recursive(single, larger, max_leaves=4))
    if variables and draw(st.integers(0, 3)) == 0:
        tail: Path = Concat((rest, Call("Z")))
        if draw(st.booleans()):
            tail = Union((tail, draw(single)))
        rest = Define("Z", tail, draw(st.sampled_from((None, Axis.CHILD, Axis.DESCENDANT))))
        if draw(st.booleans()):
            rest = Concat((rest, Call("Z")))
    ends = (draw(last_steps()),) if draw(st.integers(0, 3)) == 0 else ()
    first = draw(st.sampled_from(((), (Step(Axis.DESCENDANT, ANY),), (Step(Axis.CHILD, ANY),))))
    every = (*first, rest, *ends)
    return every[0] if len(every) == 1 else Concat(every)
