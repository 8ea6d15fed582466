"""Schemas from a DTD."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ostinato.documents.schema.content import (
    EMPTY,
    ChildName,
    Content,
    ContentChoice,
    ContentSequence,
    RepeatedContent,
    any_order,
    element_type,
)
from ostinato.documents.schema.model import ElementType, Schema
from ostinato.errors import DataError, LimitError

EXPANDED = 1_000_000  # characters that a DTD may grow to by its parameter entities
DEPTH = 200  # brackets in brackets of a content model

_NAME = r"[^\s<>()|,?*+%&;'\"=/\[\]]+"
_DECLARATION = re.compile(
    r"<!--.*?-->|<\?.*?\?>|<!(?P<what>[A-Z]+)\s(?P<body>(?:[^>'\"]|'[^']*'|\"[^\"]*\")*)>|(?P<blank>\s+)"
    r"|%(?P<entity>[^\s;%]+);|(?P<conditional><!\[)",
    re.DOTALL,
)
_DOCTYPE = re.compile(rf"<!DOCTYPE\s+(?P<root>{_NAME})\s*(?:[^\[>]*?)(?:\[(?P<subset>.*)\]\s*)?>", re.DOTALL)
_TOKEN = re.compile(rf"\s*(#PCDATA|{_NAME}|[()|,?*+])")


def from_dtd(text: str, *, root: str | None = None, source: str = "DTD") -> Schema:
    """What a DTD (internal or external subset, or a whole DOCTYPE declaration) lets occur; nothing is fetched."""
    if (whole := _DOCTYPE.search(text)) is not None:
        root = root or whole.group("root")
        text = whole.group("subset") or ""
    contents: dict[str, str] = {}
    attributes: dict[str, set[str]] = {}
    for what, body in _Declarations(text, source):
        match what:
            case "ELEMENT":
                name, *model = body.split(None, 1)
                contents.setdefault(name, "".join(model).strip())
            case "ATTLIST":
                name, *rest = body.split(None, 1)
                attributes.setdefault(name, set()).update(_attributes(rest[0] if rest else ""))
            case "ENTITY" | "NOTATION":
                pass
            case _:
                raise DataError(f"<!{what} …> is not a declaration of a DTD", source=source)
    if not contents:
        raise DataError("the DTD declares no element", source=source, fix="give the text of the DTD itself")
    every = frozenset(contents)
    types = {
        name: replace(
            _model(name, model, every, source), attributes=frozenset(attributes.get(name, ())), text=model != "EMPTY"
        )
        for name, model in contents.items()
    }
    if root is not None and root not in types:
        raise DataError(f"the DTD does not declare its root element `{root}`", source=source)
    held = frozenset(child for kind in types.values() for child in kind.children)
    # A DTD by itself names no root; any element could be one, but usually it is one that no other holds.
    roots = frozenset({root}) if root is not None else (every - held or every)
    return Schema(roots, types, source)


class _Declarations:
    """The declarations of a DTD one after the other, parameter entities expanded as far as the bound allows."""

    def __init__(self, text: str, source: str) -> None:
        self._text, self._source = text, source
        self._entities: dict[str, str] = {}
        self._room = EXPANDED

    def __iter__(self) -> Iterator[tuple[str, str]]:
        texts = [(self._text, 0)]  # what is read, and under it what goes on after an entity that stands between
        while texts:
            text, at = texts.pop()
            if at == len(text):
                continue
            found = _DECLARATION.match(text, at)
            if found is None or found.group("conditional"):
                line = text.count("\n", 0, at) + 1
                what = "a conditional section" if found is not None else "text that is not a declaration"
                raise DataError(f"{what} in the DTD, line {line}: {text[at : at + 40]!r}", source=self._source)
            texts.append((text, found.end()))
            if found.group("entity"):
                texts.append((self._value(found.group("entity")), 0))
            elif found.group("what") == "ENTITY" and found.group("body").lstrip().startswith("%"):
                self._declare(found.group("body"))
            elif found.group("what"):
                yield found.group("what"), self._expanded(found.group("body"))

    def _declare(self, body: str) -> None:
        found = re.match(rf"\s*%\s+({_NAME})\s+(?:'([^']*)'|\"([^\"]*)\")\s*$", body)
        if found is not None:
            self._entities.setdefault(found.group(1), found.group(2) if found.group(3) is None else found.group(3))
            return
        name = re.match(rf"\s*%\s+({_NAME})", body)
        # An external entity is never fetched; only a reference to it is an error.
        if name is None:
            raise DataError(f"cannot read <!ENTITY{body}>", source=self._source)

    def _value(self, name: str) -> str:
        if name not in self._entities:
            raise DataError(
                f"the parameter entity %{name}; is not declared in this DTD",
                source=self._source,
                fix="put the text of external entities into the DTD: nothing external is fetched",
            )
        value = self._entities[name]
        self._room -= len(value) + 1
        if self._room < 0:
            raise LimitError(
                "characters",
                EXPANDED,
                reason="the parameter entities of the DTD expand to too much text",
                fix="give a DTD without entities that hold each other many times",
            )
        return f" {value} "

    def _expanded(self, body: str, depth: int = 0) -> str:
        if depth > DEPTH:
            raise LimitError("depth", DEPTH, reason="parameter entities hold each other", fix="give a simpler DTD")
        return re.sub(r"%([^\s;%]+);", lambda found: self._expanded(self._value(found.group(1)), depth + 1), body)


def _attributes(body: str) -> Iterator[str]:
    token = re.compile(rf"\s*(?:('[^']*'|\"[^\"]*\")|(\([^)]*\))|(#?{_NAME}))")
    words = [found.group(0).strip() for found in token.finditer(body)]
    at = 0
    while at < len(words):
        yield words[at]
        at += 3 if at + 1 < len(words) and words[at + 1] == "NOTATION" else 2
        at += 2 if at < len(words) and words[at] == "#FIXED" else 1


def _model(name: str, model: str, every: frozenset[str], source: str) -> ElementType:
    if model == "EMPTY":
        return element_type(EMPTY)
    if model == "ANY":
        return element_type(any_order(every))
    tokens = _TOKEN.findall(model)
    if _TOKEN.sub("", model).strip() or not tokens or tokens[0] != "(":
        raise DataError(f"cannot read the content model of `{name}`: {model!r}", source=source)
    if "#PCDATA" in tokens:
        return element_type(any_order(frozenset(token for token in tokens if token not in ("#PCDATA", *"()|*,?+"))))
    reader = _ModelReader(name, tokens, source)
    return element_type(reader.read())


class _ModelReader:
    """A content model of names in brackets, such as (title, (year | date)?, author*)."""

    def __init__(self, name: str, tokens: list[str], source: str) -> None:
        self._name, self._tokens, self._source = name, tokens, source
        self._at = 0

    def read(self) -> Content:
        content = self._particle(0)
        if self._at != len(self._tokens):
            raise self._wrong()
        return content

    def _next(self) -> str:
        if self._at >= len(self._tokens):
            raise self._wrong()
        self._at += 1
        return self._tokens[self._at - 1]

    def _particle(self, depth: int) -> Content:
        if depth > DEPTH:
            raise LimitError("depth", DEPTH, reason="a content model nests too deeply", fix="give a simpler DTD")
        token = self._next()
        content: Content
        if token == "(":
            parts, signs = [self._particle(depth + 1)], set()
            while (sign := self._next()) in "|,":
                signs.add(sign)
                parts.append(self._particle(depth + 1))
            if sign != ")" or len(signs) > 1:
                raise self._wrong()
            content = ContentChoice(tuple(parts)) if signs == {"|"} else ContentSequence(tuple(parts))
        elif token in "|,?*+)":
            raise self._wrong()
        else:
            content = ChildName(token)
        if self._at < len(self._tokens) and self._tokens[self._at] in "?*+":
            sign = self._next()
            return RepeatedContent(content, least=int(sign == "+"), many=sign in "*+")
        return content

    def _wrong(self) -> DataError:
        return DataError(f"cannot read the content model of `{self._name}`", source=self._source)
