"""The declarative evaluator of XSeq against XPath and XQuery engines, on what can be said in both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ostinato.xseq.plan.check import parse_and_check
from ostinato.xseq.semantics.axes import Axes
from ostinato.xseq.semantics.tree import Node, NodeKind, read_xml
from ostinato.xseq.semantics.walks import Walks
from support.generators.xseq import Draw, Tree, answer, pick, to_xml, trees

Both = tuple[str, str]  # in XSeq, in XPath


def numbered(tree: Tree) -> Tree:
    """The tree, with a number `u` for each element to know it by."""
    for number, element in enumerate(_elements(tree)):
        element.attributes["u"] = str(number)
    return tree


def _elements(tree: Tree) -> Iterator[Tree]:
    yield tree
    for child in tree.children:
        if isinstance(child, Tree):
            yield from _elements(child)


def reached(text: str, document: Node) -> list[tuple[str, ...]]:
    """The nodes that a bare path finds, each known by the number of its element."""
    path = parse_and_check(text).path
    return [_known(node) for node in Walks(path, Axes()).nodes(path, document) if node.kind is not NodeKind.DOCUMENT]


def _known(node: Node) -> tuple[str, ...]:
    if node.kind is NodeKind.ELEMENT:
        return (node.attribute("u") or "",)
    assert node.parent is not None
    return node.parent.attribute("u") or "", node.name, node.value


# --- paths in both languages

_AXES = {
    "/": "/child::",
    "//": "/descendant::",
    "/parent::": "/parent::",
    "/ancestor::": "/ancestor::",
    "/following_sibling::": "/following-sibling::",
    " ": "/following-sibling::",
    "/preceding_sibling::": "/preceding-sibling::",
    "/self::": "/self::",
}


def _step(draw: Draw, depth: int, first: bool = False) -> Both:
    axis = pick(draw, "//", "/") if first else pick(draw, *_AXES, "/", "//")
    name = pick(draw, "a", "b", "c") if axis == " " else pick(draw, "a", "*", "b", "*", "c")
    ours, theirs = f"{axis}{name}", f"{_AXES[axis]}{name}"
    special = pick(draw, None, None, None, None, None, "next", "first", "below", "above")
    if special == "next" and not first:
        ours, theirs = rf" \ {name}", f"/following-sibling::*[1]/self::{name}"
    elif special == "first" and not first:
        ours, theirs = rf" /\ {name}", f"/child::*[1]/self::{name}"
    elif special == "below" and not first:
        return " (/*)*", "/descendant-or-self::*"
    elif special == "above" and not first:
        return " (parent::*)*", "/ancestor-or-self::*"
    for _ in range(pick(draw, 0, 0, 1, 0) if depth else 0):
        ours, theirs = _add(ours, theirs, _predicate(draw, depth - 1))
    return ours, theirs


def _add(ours: str, theirs: str, predicate: Both) -> Both:
    return f"{ours}[{predicate[0]}]", f"{theirs}[{predicate[1]}]"


def _predicate(draw: Draw, depth: int) -> Both:
    kind = pick(draw, "exists", "attribute", "compare", "text", "child", "not", "and", "or", "two paths")
    match kind:
        case "exists":
            ours, theirs = _path(draw, depth, relative=True)
            return ours, theirs
        case "not":
            ours, theirs = _predicate(draw, depth)
            return f"not({ours})", f"not({theirs})"
        case "and" | "or":
            one, other = _predicate(draw, depth), _predicate(draw, depth)
            return f"({one[0]}) {kind} ({other[0]})", f"({one[1]}) {kind} ({other[1]})"
        case "two paths":
            same = f"{pick(draw, 'a', 'b')}/@{pick(draw, 'p', 'k')} = {pick(draw, 'c', '*')}/@k"
            return same.replace("*/@k", "child::*/@k"), same
        case "attribute":
            same = f"@{pick(draw, 'p', 'k', 'n')}"
        case "compare":  # these are numbers wherever they are; of others the two languages think differently
            same = f"@{pick(draw, 'k', 'n')} {pick(draw, '<', '>', '=', '!=', '<=', '>=')} {pick(draw, '1', '0', '2')}"
        case "text":
            same = f"text() {pick(draw, '=', '!=')} 'x'"
        case _:
            same = f"{pick(draw, 'a', 'b', 'c')} = 'x'"
    return same, same


def _path(draw: Draw, depth: int, relative: bool = False) -> Both:
    steps = [_step(draw, depth, first=place == 0) for place in range(pick(draw, 1, 2, 1, 3, 4))]
    ours, theirs = "".join(step[0] for step in steps), "".join(step[1] for step in steps)
    return ours, theirs.removeprefix("/") if relative else theirs


@st.composite
def xpaths(draw: Draw) -> Both:
    """A path in both languages."""
    ours, theirs = _path(draw, 2)
    if pick(draw, False, False, True):
        more = _path(draw, 1)
        ours, theirs = f"({ours} union {more[0]})", f"({theirs} | {more[1]})"
        step = _step(draw, 1)
        ours, theirs = ours + step[0], theirs + step[1]
    end = pick(draw, ("", ""), ("", ""), ("/@p", "/@p"), ("/@*", "/@*"), ("/text()", "/text()"), ("//text()",) * 2)
    return ours + end[0], theirs + ("/descendant::text()" if end[0] == "//text()" else end[1])


@given(xpaths(), trees(11))
@settings(max_examples=30)
def test_bare_paths_find_what_lxml_finds(both: Both, tree: Tree) -> None:
    etree = pytest.importorskip("lxml.etree")
    ours, theirs = both
    data = to_xml(numbered(tree))
    found = etree.ElementTree(etree.fromstring(data)).xpath(theirs)
    assert reached(ours, read_xml(data)) == [_known_to_lxml(node) for node in found]


def _known_to_lxml(node: Any) -> tuple[str, ...]:
    if not isinstance(node, str):
        return (node.get("u"),)
    parent = node.getparent()  # type: ignore[attr-defined]
    if node.is_attribute:  # type: ignore[attr-defined]
        return parent.get("u"), str(node.attrname), str(node)  # type: ignore[attr-defined]
    return (parent.getparent() if node.is_tail else parent).get("u"), "", str(node)  # type: ignore[attr-defined]


# --- several variables, in XQuery


@cache
def _saxon() -> Callable[[str, str], list[str]]:
    saxonche = pytest.importorskip("saxonche", reason="several variables are compared with Saxon: pip install saxonche")
    processor = saxonche.PySaxonProcessor(license=False)

    def run(query: str, document: str) -> list[str]:
        compiled = processor.new_xquery_processor()
        compiled.set_context(xdm_item=processor.parse_xml(xml_text=document))
        compiled.set_query_content(query)
        found = compiled.run_query_to_value()
        return [] if found is None else [item.get_string_value() for item in found]

    return run


@st.composite
def loops(draw: Draw) -> tuple[str, str]:
    """Variables A, B … each a step further than the one before, in XSeq and as a `for` of XQuery."""
    names = "ABC"[: pick(draw, 2, 3)]
    ours, bound = "", []
    for place, name in enumerate(names):
        axis = "//" if place == 0 else pick(draw, *_AXES, " ", "/")
        predicate = _predicate(draw, 1) if pick(draw, False, False, True) else None
        ours += f"{axis}${name}" + (f"[{predicate[0]}]" if predicate else "")
        theirs = f"{_AXES[axis]}*" + (f"[{predicate[1]}]" if predicate else "")
        bound.append(f"${name} in {f'${names[place - 1]}' if place else ''}{theirs}")
    one, other, sign = pick(draw, *names), pick(draw, *names), pick(draw, "<", ">=", "=", "!=")
    where = f"${one}@n {sign} ${other}@n + 1"
    # n is a number or not there, and then nothing holds
    their_where = f"exists(${one}/@n) and exists(${other}/@n) and number(${one}/@n) {sign} number(${other}/@n) + 1"
    if pick(draw, True, False):
        where, their_where = f"not({where})", f"not({their_where})"
    shown = ", ".join(f"${name}@u" for name in names)
    their_shown = ", ' ', ".join(f"${name}/@u" for name in names)
    text = f"return {shown} from {ours} where {where}"
    return text, f"for {', '.join(bound)} where {their_where} return concat({their_shown})"


@given(loops(), trees(11))
@settings(max_examples=30)
def test_several_variables_find_what_saxon_finds(both: tuple[str, str], tree: Tree) -> None:
    ours, theirs = both
    data = to_xml(numbered(tree))
    rows = [" ".join(map(str, row)) for row in answer(parse_and_check(ours), read_xml(data))]
    assert sorted(rows) == sorted(_saxon()(theirs, data.decode()))


@given(trees(11), st.sampled_from(["<", ">", "<=", "!="]))
@settings(max_examples=30)
def test_sequences_of_siblings_find_what_saxon_finds(tree: Tree, sign: str) -> None:
    """What the paper writes as Figure 1: every two neighbours in a run of siblings are compared."""
    ours = rf"return $Z@u, last($X)@u from //$Z \$X (\$X)* where $X@k {sign} prev($X)@k"
    theirs = f"""
        for $Z in //*, $last in $Z/following-sibling::*
        let $run := $Z/following-sibling::*[not(. >> $last)]
        where every $i in 2 to count($run) satisfies number($run[$i]/@k) {sign} number($run[$i - 1]/@k)
            and exists($run[$i]/@k) and exists($run[$i - 1]/@k)
        return concat($Z/@u, ' ', $last/@u)"""
    data = to_xml(numbered(tree))
    rows = [" ".join(map(str, row)) for row in answer(parse_and_check(ours), read_xml(data))]
    assert sorted(rows) == sorted(_saxon()(theirs, data.decode()))
