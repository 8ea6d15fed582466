"""Random small documents, as XML and as JSON, with values that are often alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]

NAMES = ("a", "b", "c", "d")
ATTRIBUTES = ("p", "k", "n")


def pick(draw: Draw, *options: Any) -> Any:
    return options[draw(st.integers(0, len(options) - 1))]


@dataclass
class Tree:
    """An element to be written down: texts and elements are its children."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list[Tree | str] = field(default_factory=list)


@st.composite
def trees(draw: Draw, max_size: int = 9, *, for_json: bool = False) -> Tree:
    """A tree of at most `max_size` + 1 elements, wide ones and deep ones; with `for_json` one that JSON can say."""
    top = Tree(pick(draw, "a", "b", "a"), _attributes(draw))
    deep = pick(draw, 0, 1, 1, 3)  # how readily a new element goes below the last one
    open_elements = [top]
    for _ in range(draw(st.integers(0, max_size)) if pick(draw, False, False, True) else max_size):
        parent = open_elements[-1] if draw(st.integers(0, 3)) < deep else pick(draw, *open_elements[:2])
        child = Tree(pick(draw, *NAMES, "a", "b"), _attributes(draw))
        parent.children.append(child)
        open_elements = [*open_elements[: open_elements.index(parent) + 1], child]
    _add_texts(draw, top, for_json)
    return top


def _attributes(draw: Draw) -> dict[str, str]:
    p = pick(draw, "1", "2", "3", "2", "1", "4", "x", "10", None)
    k = pick(draw, "1", "2", "1", "1", "2", None)
    n = pick(draw, "0", "1", "-1", None, None, "0.5")
    return {name: value for name, value in zip(ATTRIBUTES, (p, k, n), strict=True) if value is not None}


def _add_texts(draw: Draw, tree: Tree, for_json: bool) -> None:
    for child in tree.children:
        if isinstance(child, Tree):
            _add_texts(draw, child, for_json)
    if for_json:  # a member of an object is an attribute or a child; only what is a scalar has a text
        tree.children.sort(key=lambda child: NAMES.index(child.name) if isinstance(child, Tree) else -1)
        if not tree.children and pick(draw, False, True, False):
            tree.attributes.clear()
            tree.children = [_text(draw)]
        return
    for place in reversed(range(len(tree.children) + 1)):
        if pick(draw, False, False, True, False):
            tree.children.insert(place, _text(draw))


def _text(draw: Draw) -> str:
    return pick(draw, "1", "2", "x", " ", "3", "x < y & z", "10")


def to_xml(tree: Tree, draw: Draw | None = None) -> bytes:
    """The tree as it may be written; with `draw` in one of the ways that mean the same."""
    return ("" if draw is None else pick(draw, "", "", "<?xml version='1.0'?>\n<!-- c -->")).encode() + _xml(
        tree, draw
    ).encode()


def _xml(tree: Tree, draw: Draw | None) -> str:
    tag = tree.name + "".join(f" {name}={quoteattr(value)}" for name, value in tree.attributes.items())
    inner = "".join(_xml(child, draw) if isinstance(child, Tree) else _xml_text(child, draw) for child in tree.children)
    return f"<{tag}/>" if not inner and (draw is None or pick(draw, True, False)) else f"<{tag}>{inner}</{tree.name}>"


def _xml_text(text: str, draw: Draw | None) -> str:
    as_data = draw is not None and pick(draw, False, False, True)
    return f"<![CDATA[{text}]]>" if as_data else escape(text)


@st.composite
def xml_documents(draw: Draw, max_size: int = 9) -> bytes:
    return to_xml(draw(trees(max_size)), draw)


def to_json(tree: Tree) -> bytes:
    """A tree made with `for_json`; an element of one kind that stands alone may be no array."""
    return json.dumps(_json(tree)).encode()


def _json(tree: Tree) -> object:
    if tree.children and isinstance(tree.children[0], str):
        return tree.children[0]
    members: dict[str, Any] = {name: _number(value) for name, value in tree.attributes.items()}
    for child in tree.children:
        assert isinstance(child, Tree)
        members.setdefault(child.name, []).append(_json(child))
    for name, items in members.items():
        if isinstance(items, list) and len(items) == 1 and isinstance(items[0], dict):
            members[name] = items[0]
    return members


def _number(text: str) -> object:
    return json.loads(text) if text[-1].isdigit() else text


@st.composite
def json_documents(draw: Draw, max_size: int = 9) -> bytes:
    return to_json(draw(trees(max_size, for_json=True)))
