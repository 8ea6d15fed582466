"""Documents as trees: XML by expat, JSON by the documented mapping."""

from __future__ import annotations

import pytest
from hypothesis import given

from ostinato.errors import DataError
from ostinato.xseq.semantics.tree import Node, NodeKind, read_json, read_xml
from support.generators.xseq import Tree, to_json, to_xml, trees, xml_documents


def shape(node: Node) -> object:
    """A node without what it is written like."""
    if node.kind is NodeKind.TEXT:
        return node.value
    attributes = {each.name: each.value for each in node.attributes}
    return node.name, attributes, [shape(child) for child in node.children]


def root(document: Node) -> Node:
    (element,) = document.children
    return element


def xml(text: str) -> object:
    return shape(root(read_xml(text.encode())))


def test_elements_attributes_and_texts() -> None:
    assert xml("<a p='1' q='2'>x<b/> </a>") == ("a", {"p": "1", "q": "2"}, ["x", ("b", {}, []), " "])


def test_comments_and_instructions_split_texts_and_cdata_does_not() -> None:
    assert xml("<a>x<!-- c -->y<?p i?>z</a>") == ("a", {}, ["x", "y", "z"])
    assert xml("<a>x<![CDATA[<&]]>y</a>") == ("a", {}, ["x<&y"])
    assert xml("<a><![CDATA[]]><!----></a>") == ("a", {}, [])


def test_references_and_line_ends_are_resolved() -> None:
    assert xml("<a p='&lt;&#65;&#x42;'>&amp;\r\n&#13;</a>") == ("a", {"p": "<AB"}, ["&\n\r"])


def test_names_are_as_they_are_written() -> None:
    assert xml("<x:a xmlns:x='u' x:p='1'/>") == ("x:a", {"xmlns:x": "u", "x:p": "1"}, [])


def test_document_order_has_attributes_before_children() -> None:
    document = read_xml(b"<a p='1' q='2'>x<b r='3'/></a>")
    nodes = list(document.subtree())
    assert [node.position for node in nodes] == list(range(len(nodes)))
    assert [node.name or node.value for node in nodes] == ["", "a", "p", "q", "x", "b", "r"]
    assert [node.parent for node in nodes[2:5]] == [nodes[1]] * 3


@pytest.mark.parametrize(
    "element",
    ["<b/>", "<b  />", "<b></b >", "<b p='>'/>", '<b p="/>">x</b>', "<b>&lt;é<!-- </b> --></b>", "<b><c/></b>"],
)
def test_an_element_is_kept_as_it_is_written(element: str) -> None:
    document = read_xml(f"<?xml version='1.0'?>\n<a>é{element}</a>".encode())
    assert [child.source for child in root(document).elements] == [element]
    assert root(document).source == f"<a>é{element}</a>"


def test_string_value_and_attribute() -> None:
    node = root(read_xml(b"<a p='1'>x<b>y</b>z</a>"))
    assert (node.string, node.attribute("p"), node.attribute("q")) == ("xyz", "1", None)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_encodings(encoding: str) -> None:
    declared = "" if encoding.startswith("utf") else f"<?xml version='1.0' encoding='{encoding}'?>"
    node = root(read_xml(f"{declared}<a>é</a>".encode(encoding)))
    assert (node.string, node.source) == ("é", "<a>é</a>")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<a>\n<b></a>", "line 2, column 6: not well-formed XML: mismatched tag"),
        (b"", "no element found"),
        (b"<a>&e;</a>", "undefined entity"),
        (b"<!DOCTYPE a []><a/>", "DOCTYPE"),
        (b"<a>\xff</a>", "cannot be read"),
        (b"<?xml version='1.0' encoding='no-such'?><a/>", "no-such"),
    ],
)
def test_bad_xml(data: bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_xml(data)


# JSON -----------------------------------------------------------------------------------------------------------------


def from_json(text: str, **options: str) -> object:
    return shape(root(read_json(text, **options)))  # type: ignore[arg-type]


def test_members_with_scalars_are_attributes_and_nulls_are_absent() -> None:
    text = '{"s": "x\\n\\u00e9", "n": 1.50, "e": -1E+2, "t": true, "f": false, "z": null, "": ""}'
    attributes = {"s": "x\né", "n": "1.50", "e": "-1E+2", "t": "true", "f": "false", "": ""}
    assert from_json(text) == ("json", attributes, [])


def test_objects_and_arrays_are_children() -> None:
    text = '{"o": {"p": 1}, "l": [{"p": 2}, 3, "x", null, true, "", [4, [5], {}]], "none": [], "q": 6}'
    children = [
        ("o", {"p": "1"}, []),
        ("l", {"p": "2"}, []),
        ("l", {}, ["3"]),
        ("l", {}, ["x"]),
        ("l", {}, []),
        ("l", {}, ["true"]),
        ("l", {}, []),
        ("l", {}, [("item", {}, ["4"]), ("item", {}, [("item", {}, ["5"])]), ("item", {}, [])]),
    ]
    assert from_json(text) == ("json", {"q": "6"}, children)


@pytest.mark.parametrize(
    ("text", "children"),
    [('"x"', ["x"]), (" 12 ", ["12"]), ("null", []), ("[]", []), ('["x", {}]', [("r", {}, ["x"]), ("r", {}, [])])],
)
def test_what_stands_at_the_root(text: str, children: list[object]) -> None:
    assert from_json(text, root="top", record="r") == ("top", {}, children)


def test_json_lines() -> None:
    text = '{"p": 1}\n\n  [2] \r\n"x"\n'
    children = [("item", {"p": "1"}, []), ("item", {}, [("item", {}, ["2"])]), ("item", {}, ["x"])]
    assert shape(root(read_json(text.encode(), lines=True))) == ("json", {}, children)
    named = root(read_json(text, lines=True, root="log", record="r"))
    assert (named.name, [child.name for child in named.children]) == ("log", ["r", "r", "r"])
    assert [child.source for child in named.elements] == ['{"p": 1}', "[2]", '"x"']


def test_a_json_element_is_kept_as_it_is_written() -> None:
    node = root(read_json(' {"a": {"b" : 1.0 }, "c": [ "x" , null ]} '))
    assert node.source == '{"a": {"b" : 1.0 }, "c": [ "x" , null ]}'
    assert [child.source for child in node.elements] == ['{"b" : 1.0 }', '"x"', "null"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ('{"b": [{"a": {}, "a": null}]}', "line 1, column 8: the key 'a' stands twice"),
        ('{"a": 1,}', "not JSON"),
        ('{"a":\n1 2}', "line 2, column 3: not JSON"),
        ('{"a": NaN}', "NaN"),
        ("[1] 2", "column 4: more text after the JSON value"),
        ("", "line 1, column 1: not JSON"),
    ],
)
def test_bad_json(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_json(text)


def test_bad_json_lines() -> None:
    with pytest.raises(DataError, match="line 2, column 1: not JSON"):
        read_json('{"a": 1}\n}', lines=True)
    with pytest.raises(DataError, match="line 1, column 3: the line ends before its JSON value does"):
        read_json("[1\n]", lines=True)
    with pytest.raises(DataError, match="more text"):
        read_json("1 2\n", lines=True)


# Both -----------------------------------------------------------------------------------------------------------------


@given(trees(for_json=True))
def test_one_tree_in_both_formats(tree: Tree) -> None:
    assert shape(root(read_json(to_json(tree), root=tree.name))) == shape(root(read_xml(to_xml(tree))))


@given(xml_documents())
def test_an_element_as_it_is_written_is_that_element(data: bytes) -> None:
    for node in read_xml(data).subtree():
        if node.kind is NodeKind.ELEMENT:
            assert shape(root(read_xml(node.source.encode()))) == shape(node)
