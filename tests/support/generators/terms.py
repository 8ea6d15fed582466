"""Random data terms, query terms that often match them, and rows with nested attributes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from ostinato.rules.syntax.nodes import (
    ANY_LABEL,
    Bind,
    ChildQuery,
    Const,
    Desc,
    Element,
    Fitting,
    Optional,
    Position,
    QueryTerm,
    Without,
)
from ostinato.rules.terms.data import Child, DataTerm

Draw = Callable[[st.SearchStrategy[Any]], Any]
Row = dict[str, Any]

LABELS = ("a", "b", "c")
SCALARS: tuple[bool | int | float | str, ...] = (1, "x", 0, True, 1.0, 0.5, "y", "1", False)


def pick(draw: Draw, *options: Any) -> Any:
    """One of the options, shrinking to the first."""
    return options[draw(st.integers(0, len(options) - 1))]


# Data and query terms -------------------------------------------------------------------------------------------------


@st.composite
def terms(draw: Draw, max_depth: int = 3) -> DataTerm:
    return _term(draw, max_depth)


def _term(draw: Draw, depth: int) -> DataTerm:
    count = pick(draw, 2, 1, 3, 0, 2)
    children: tuple[Child, ...] = tuple(
        _term(draw, depth - 1) if depth > 1 and pick(draw, True, False) else pick(draw, *SCALARS) for _ in range(count)
    )
    return DataTerm(pick(draw, *LABELS), children)


@st.composite
def asked(draw: Draw, max_depth: int = 3) -> tuple[Element, DataTerm]:
    """A data term and a query term made out of it, or out of another one."""
    data = _term(draw, max_depth)
    source = pick(draw, data, data, data, _term(draw, max_depth))
    query = _element(draw, source)
    return replace(query, label=pick(draw, data.label, data.label, data.label, query.label)), data


def _element(draw: Draw, source: DataTerm) -> Element:
    total, ordered = pick(draw, False, False, True), pick(draw, False, True)
    kept = [child for child in source.children if total or pick(draw, True, True, False)]
    if not ordered and pick(draw, False, True):
        kept.reverse()
    children = [_child(draw, child, source) for child in kept]
    if pick(draw, False, False, True):
        children.insert(pick(draw, 0, len(children)), Optional(_query(draw, _term(draw, 1))))
    for _ in range(0 if total else pick(draw, 0, 0, 1, 2)):
        absent = pick(draw, _term(draw, 1), *source.children)
        children.insert(pick(draw, 0, len(children)), Without(_query(draw, absent)))
    return Element(source.label, tuple(children), total, ordered)


def _child(draw: Draw, source: Child, parent: DataTerm) -> ChildQuery:
    query = _query(draw, source)
    if isinstance(query, Element) and pick(draw, False, False, False, True):
        query = replace(query, label=pick(draw, ANY_LABEL, f"[{query.label}z]", "b|c"), is_regex=True)
    if pick(draw, False, False, False, False, True):
        place = next(place for place, child in enumerate(parent.children, 1) if child is source)
        return Position(pick(draw, place, place - len(parent.children) - 1, "P", "X", 1), query)
    return Optional(query) if pick(draw, False, False, False, True) else query


def _query(draw: Draw, source: Child) -> QueryTerm:
    kind = pick(draw, "same", "bind", "same", "bind whole", "desc", "other")
    if kind == "bind":
        return Bind(_name(draw))
    if kind == "desc":
        below = source
        while isinstance(below, DataTerm) and below.children and pick(draw, True, True, False):
            below = below.children[pick(draw, *range(len(below.children)))]
        return Desc(_same(draw, below))
    if kind == "other":
        return Const(pick(draw, *SCALARS))
    return Bind(_name(draw), _same(draw, source)) if kind == "bind whole" else _same(draw, source)


def _same(draw: Draw, source: Child) -> QueryTerm:
    if isinstance(source, DataTerm):
        return _element(draw, source)
    assert isinstance(source, bool | int | float | str)
    if isinstance(source, str) and pick(draw, False, False, True):
        return Fitting(pick(draw, source, "[xy]", ".", "1+"))
    return Const(source)


def _name(draw: Draw) -> str:
    return pick(draw, "X", "Y", "Z", "X")


# Rows with nested attributes ------------------------------------------------------------------------------------------

NESTED_SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "begin": pa.int64(),
        "end": pa.int64(),
        "k": pa.string(),
        "p": pa.struct({"x": pa.int64(), "y": pa.string()}),
        "q": pa.list_(pa.int64()),
        "r": pa.list_(pa.struct({"k": pa.string(), "n": pa.int64()})),
    }
)
_texts = st.sampled_from(["x", "y", "z", None])
_numbers = st.sampled_from([1, 0, 2, 3, None])


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[Row]:
    """A row with these fields in this order: the order of columns is the order of children."""
    return st.tuples(*fields.values()).map(lambda values: dict(zip(fields, values, strict=True)))


_nested = record(
    k=_texts,
    p=st.none() | record(x=_numbers, y=_texts),
    q=st.none() | st.lists(_numbers, max_size=3),
    r=st.none() | st.lists(st.none() | record(k=_texts, n=_numbers), max_size=3),
)


@st.composite
def nested_streams(draw: Draw, max_size: int = 6) -> list[Row]:
    """Rows of NESTED_SCHEMA by end; times are whole seconds."""
    rows: list[Row] = []
    for _ in range(draw(st.integers(0, max_size))):
        end = draw(st.integers(0, 60))
        begin = max(0, end - pick(draw, 0, 0, 1, 3, 10))
        rows.append({"type": pick(draw, *LABELS), "begin": begin, "end": end, **draw(_nested)})
    return sorted(rows, key=lambda row: row["end"])


def nested_element(draw: Draw, label: str, own: str) -> tuple[Element, dict[str, tuple[str, ...]]]:
    """A term over such a row, and the variables it binds by kind: k text, v number, t term.

    `own` makes the names of optional variables those of one literal: they may join nothing.
    """
    part, bound = pick(
        draw,
        (Element("k", (Bind("K"),)), {"k": ("K",)}),
        (Element("p", (Element("x", (Bind("V"),)),)), {"v": ("V",)}),
        (
            Element("p", (Element("x", (Bind("V"),)), Element("y", (Bind("K"),))), ordered=True),
            {"k": ("K",), "v": ("V",)},
        ),
        (Element("q", (Bind("V"),)), {"v": ("V",)}),
        (Element("r", (Element("k", (Bind("K"),)), Element("n", (Bind("V"),)))), {"k": ("K",), "v": ("V",)}),
        (Bind("R", Element("r", (Element("k", (Bind("K"),)),))), {"k": ("K",), "t": ("R",)}),
        (Desc(Element("n", (Bind("V"),))), {"v": ("V",)}),
        (Desc(Element("k", (Bind("K"),))), {"k": ("K",)}),
        (Element("[pr]", (Element("k|y", (Bind("K"),), is_regex=True),), is_regex=True), {"k": ("K",)}),
        (Position("V", Element("q", (Bind("U"),))), {"v": ("V", "U")}),
        (
            Element("p", (Element("x", (Bind("V"),)), Optional(Element("y", (Bind(f"O{own}"),))))),
            {"v": ("V",), "k": (f"O{own}",)},
        ),
    )
    more: tuple[ChildQuery, ...] = pick(
        draw,
        (),
        (),
        (Optional(Element("q", (Bind(f"Q{own}"),))),),
        (Element("r", (Element("n", (Const(1),)),)),),
        (Without(Element("q")),),
        (Without(Element("k", (Const("x"),))),),
        (Element("r", (Without(Element("n")),)),),
        (Element("r", (Element("k", (Fitting("[xy]"),)),)),),
        (Position(-1, Element(ANY_LABEL, is_regex=True)),),
        (Element("q", (Const(1), Const(2)), ordered=True),),
    )
    return Element(label, (part, *more)), bound
