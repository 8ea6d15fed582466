"""Schemas from XML Schema: elements, complex types, groups, extensions; what is outside this subset is an error."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

from ostinato.documents.schema.content import (
    EMPTY,
    ChildName,
    Content,
    ContentChoice,
    ContentSequence,
    RepeatedContent,
    element_type,
)
from ostinato.documents.schema.model import ElementType, Schema
from ostinato.errors import DataError

_XS = "{http://www.w3.org/2001/XMLSchema}"
_SKIPPED = {"annotation", "key", "keyref", "unique", "simpleType", "notation"}
_DEPTH = 200
Node = ElementTree.Element


def from_xsd(path: str | os.PathLike[str]) -> Schema:
    """What a local, trusted schema file lets occur. Types of elements of one name are put together."""
    source = str(path)
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot read: {error.strerror}", source=source) from error
    if b"<!ENTITY" in text:
        raise DataError("the schema declares entities", source=source, fix="give a schema without a DOCTYPE")
    try:
        top = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise DataError(f"not well-formed XML: {error}", source=source) from error
    if top.tag != f"{_XS}schema":
        raise DataError("this is not an XML Schema: its root element is not xs:schema", source=source)
    return _Reader(top, source).schema()


def _kind(node: Node) -> str:
    return node.tag.removeprefix(_XS)


def _plain(name: str) -> str:
    """A reference without its prefix: names of a schema are those of one namespace."""
    return name.rpartition(":")[2]


class _Reader:
    def __init__(self, top: Node, source: str) -> None:
        self._source = source
        self._globals: dict[tuple[str, str], Node] = {}
        self._types: dict[str, ElementType] = {}
        self._todo: list[Node] = []
        self._done: set[int] = set()
        for node in top:
            if _kind(node) in ("import", "include", "redefine", "override"):
                raise self._outside(node, "put the other file's declarations into this one")
            if "name" in node.attrib:
                self._globals[_kind(node), node.attrib["name"]] = node
        self._roots = [node for (kind, _), node in self._globals.items() if kind == "element"]

    def schema(self) -> Schema:
        if not self._roots:
            raise DataError("the schema declares no element at its top", source=self._source)
        self._todo = list(self._roots)
        while self._todo:
            node = self._todo.pop()
            if id(node) not in self._done:
                self._done.add(id(node))
                name = node.attrib["name"]
                self._types[name] = self._types.get(name, ElementType()) | self._element(node)
        return Schema(frozenset(node.attrib["name"] for node in self._roots), self._types, self._source)

    def _outside(self, node: Node, fix: str = "leave it out, or take a sample document instead") -> DataError:
        named = f" {node.attrib['name']!r}" if "name" in node.attrib else ""
        return DataError(
            f"xs:{_kind(node)}{named} is outside the part of XML Schema read here", source=self._source, fix=fix
        )

    def _global(self, kind: str, reference: str, node: Node) -> Node:
        found = self._globals.get((kind, _plain(reference)))
        if found is None:
            raise DataError(
                f"xs:{_kind(node)} refers to {reference!r}, which the schema does not declare", source=self._source
            )
        return found

    def _element(self, node: Node) -> ElementType:
        if "substitutionGroup" in node.attrib:
            raise self._outside(node)
        for child in node:
            if _kind(child) == "complexType":
                return self._complex(child, 0)
            if _kind(child) == "simpleType":
                return ElementType(text=True)
        kind = node.attrib.get("type")
        if kind is None:
            raise DataError(
                f"the element {node.attrib['name']!r} has no type, so anything may stand in it", source=self._source
            )
        named = self._globals.get(("complexType", _plain(kind)))
        return ElementType(text=True) if named is None else self._complex(named, 0)

    def _complex(self, node: Node, depth: int) -> ElementType:
        # White space may stand between elements even where no other text may.
        content, attributes = self._inside(node, depth)
        return element_type(content, attributes=attributes, text=True)

    def _inside(self, node: Node, depth: int) -> tuple[Content, frozenset[str]]:
        """The children and attributes that a complex type, an extension or a group of attributes declares."""
        if depth > _DEPTH:
            raise DataError("types of the schema refer to each other in a circle", source=self._source)
        contents: list[Content] = []
        attributes: set[str] = set()
        for child in node:
            match _kind(child):
                case "sequence" | "choice" | "all" | "group":
                    contents.append(self._particle(child, depth + 1))
                case "attribute":
                    if child.attrib.get("use") != "prohibited":
                        attributes.add(_plain(child.attrib["ref"]) if "ref" in child.attrib else child.attrib["name"])
                case "attributeGroup":
                    group = self._global("attributeGroup", child.attrib["ref"], child)
                    attributes |= self._inside(group, depth + 1)[1]
                case "complexContent" | "simpleContent":
                    for inner in child:
                        if _kind(inner) == "extension":
                            content, more = self._extended(inner, depth + 1)
                            contents.append(content)
                            attributes |= more
                        elif _kind(inner) not in _SKIPPED:
                            raise self._outside(inner)
                case other if other in _SKIPPED:
                    pass
                case _:
                    raise self._outside(child)
        return ContentSequence(tuple(contents)), frozenset(attributes)

    def _extended(self, node: Node, depth: int) -> tuple[Content, frozenset[str]]:
        content, attributes = self._inside(node, depth)
        base = self._globals.get(("complexType", _plain(node.attrib["base"])))
        if base is None:
            return content, attributes
        before, more = self._inside(base, depth)
        return ContentSequence((before, content)), attributes | more

    def _particle(self, node: Node, depth: int) -> Content:
        if depth > _DEPTH:
            raise DataError("groups of the schema refer to each other in a circle", source=self._source)
        content: Content
        match _kind(node):
            case "element":
                content = ChildName(self._declared(node))
            case "sequence":
                content = ContentSequence(self._parts(node, depth))
            case "choice":
                content = ContentChoice(self._parts(node, depth))
            case "all":
                content = RepeatedContent(ContentChoice(self._parts(node, depth)), many=True)  # any order
            case "group":
                group = self._global("group", node.attrib["ref"], node)
                content = ContentSequence(self._parts(group, depth))
            case _:
                raise self._outside(node)
        least, most = node.attrib.get("minOccurs", "1"), node.attrib.get("maxOccurs", "1")
        if most == "0":
            return EMPTY
        return (
            content
            if (least, most) == ("1", "1")
            else RepeatedContent(content, least=int(least != "0"), many=most != "1")
        )

    def _parts(self, node: Node, depth: int) -> tuple[Content, ...]:
        return tuple(self._particle(child, depth + 1) for child in node if _kind(child) not in _SKIPPED)

    def _declared(self, node: Node) -> str:
        """The name of an element where it stands; its own type is read in its turn."""
        declared = self._global("element", node.attrib["ref"], node) if "ref" in node.attrib else node
        self._todo.append(declared)
        return declared.attrib["name"]
