"""Names of elements and attributes with the prefixes of a query, whatever prefixes the document uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ostinato.documents.kernels.utf8 import PAD, name_fault
from ostinato.documents.names import NameTable
from ostinato.documents.tokens import ATTR, OPEN
from ostinato.documents.xml.kernels.namespaces import (
    ATTRIBUTE,
    DECLARES,
    DONE,
    ELEMENT,
    ENDS,
    NAMESPACES_STATE,
    NEXT,
    PUT,
    SCOPE,
    SINCE,
    TWICE,
    ResolvedNames,
    resolve,
)
from ostinato.documents.xml.kernels.namespaces import DEPTH as OPENED
from ostinato.documents.xml.kernels.state import NAME, START, XmlScan
from ostinato.documents.xml.messages import Fault
from ostinato.errors import QueryError

_XML, _XMLNS = b"http://www.w3.org/XML/1998/namespace", b"http://www.w3.org/2000/xmlns/"


@dataclass
class _Scope:
    """A part of a document in which prefixes stand for the same: those it declares, and what names are in it."""

    number: int
    declared: dict[bytes, bytes]
    elements: dict[int, int] = field(default_factory=dict)
    attributes: dict[int, int] = field(default_factory=dict)


class _Wrong(Exception):
    """What is wrong with the tag at hand."""


class Namespaces:
    """Turns names as written into names in their namespaces, token by token.

    A name in a namespace of `prefixes` is `prefix:local` (`local`, for the prefix ""), one in another is `{uri}local`.
    A name in none is `local`; only elements are `{}local` if "" is one of `prefixes`.
    """

    def __init__(self, prefixes: Mapping[str, str], written: NameTable, names: NameTable, tokens: XmlScan) -> None:
        for prefix, uri in prefixes.items():
            if not uri and prefix:
                raise QueryError(f"the prefix `{prefix}` stands for no namespace", fix="give the namespace's name")
        self._written, self._names = written, names
        self._default = bool(prefixes.get(""))
        self._prefixes = {uri.encode(): prefix.encode() for prefix, uri in reversed(list(prefixes.items())) if prefix}
        self._prefixes.setdefault(_XML, b"xml")
        self._plain = prefixes.get("", "").encode()
        none = np.zeros(0, np.int64)
        self._tokens, self._state = tokens, np.zeros(NAMESPACES_STATE, np.int64)
        self._arrays = ResolvedNames(
            tokens=tokens,
            names=names.arrays,
            state=self._state,
            declares=np.zeros(0, np.uint8),
            elements=none,
            attributes=none,
            seen=none,
        )
        self._scopes: dict[tuple[int, frozenset[tuple[bytes, bytes]]], _Scope] = {}
        self._made = self._known = 0
        self._uris: dict[bytes, list[bytes]] = {b"xml": [_XML], b"": [b""]}  # of each prefix, the innermost last
        self._outer: list[tuple[_Scope, int]] = []
        self._scope = self._scope_of(-1, {})
        self._enter(self._scope, -1)

    def apply(self, count: int) -> tuple[int, Fault | None]:
        """Rename the first `count` tokens in place; how many are left, and what is wrong after them."""
        self._grow()
        state = self._state
        state[NEXT] = state[PUT] = 0
        while True:
            status = resolve(self._arrays, count)
            at = int(state[NEXT])
            try:
                if status == DONE:
                    return int(state[PUT]), None
                if status == DECLARES:
                    self._declare(at)
                elif status == ENDS:
                    for prefix in self._scope.declared:
                        self._uris[prefix].pop()
                    self._enter(*self._outer.pop())
                elif status in (ELEMENT, ATTRIBUTE):
                    self._meet(int(self._tokens.spans[NAME, at]), element=status == ELEMENT)
                elif status == TWICE:
                    raise _Wrong("the element has an attribute twice, under two prefixes of one namespace")
            except _Wrong as error:
                while (
                    self._tokens.kind[at] != OPEN
                ):  # what was put in place of earlier tokens never reaches the tag at hand
                    at -= 1
                return int(state[PUT]), Fault(int(self._tokens.spans[START, at]), str(error))

    def _grow(self) -> None:
        """The arrays have a place for every name as written."""
        self._written.sync()
        arrays, known, room = self._arrays, self._arrays.declares.size, self._written.capacity
        if known < room:
            none = np.full(2 * (room - known), -1, np.int64)
            arrays.update(
                declares=np.concatenate([arrays.declares, np.zeros(room - known, np.uint8)]),
                elements=np.concatenate([arrays.elements, none]),
                attributes=np.concatenate([arrays.attributes, none]),
            )
        for number in range(self._known, len(self._written.texts)):
            text = self._written.texts[number]
            arrays.declares[number] = text == b"xmlns" or text.startswith(b"xmlns:")
        self._known = len(self._written.texts)
        self._grow_seen()

    def _grow_seen(self) -> None:
        seen = self._arrays.seen
        missing = self._names.capacity - seen.size
        if missing > 0:
            self._arrays.seen = np.concatenate([seen, np.full(missing, -1, np.int64)])

    def _scope_of(self, outer: int, declared: dict[bytes, bytes]) -> _Scope:
        key = outer, frozenset(declared.items())
        found = self._scopes.get(key)
        if found is None:
            if len(self._scopes) >= 1000:  # a document may have no end of them
                self._scopes.clear()
            found = self._scopes[key] = _Scope(self._made, declared)
            self._made += 1
        return found

    def _enter(self, scope: _Scope, since: int) -> None:
        self._scope = scope
        self._state[SCOPE], self._state[SINCE] = scope.number, since

    def _declare(self, at: int) -> None:
        """Enter the scope of the tag at `at`."""
        tokens, declared = self._tokens, dict[bytes, bytes]()
        place = at + 1
        while place < tokens.kind.size and tokens.kind[place] == ATTR:
            name, start, stop = tokens.spans[:, place].tolist()
            text = self._written.texts[name]
            if self._arrays.declares[name]:
                prefix, uri = text[6:], tokens.buffer[start:stop].tobytes()
                self._check(prefix, uri, text)
                declared[prefix] = uri
            place += 1
        self._outer.append((self._scope, int(self._state[SINCE])))
        self._enter(self._scope_of(self._scope.number, declared), int(self._state[OPENED]))
        for prefix, uri in declared.items():
            self._uris.setdefault(prefix, []).append(uri)

    @staticmethod
    def _check(prefix: bytes, uri: bytes, text: bytes) -> None:
        if text == b"xmlns:" or b":" in prefix:
            raise _Wrong(f"`{text.decode()}` declares no prefix")
        if prefix == b"xmlns" or uri == _XMLNS or (prefix == b"xml") != (uri == _XML):
            raise _Wrong("the prefixes xml and xmlns and their namespaces are reserved")
        if prefix and not uri:
            raise _Wrong(f"the prefix `{prefix.decode()}` is declared for no namespace")

    def _meet(self, written: int, *, element: bool) -> None:
        """A name that is new in this scope."""
        known = self._scope.elements if element else self._scope.attributes
        number = known.get(written)
        if number is None:
            number = known[written] = self._names.id_of(self._named(self._written.texts[written], element=element))
            self._grow_seen()
        places = self._arrays.elements if element else self._arrays.attributes
        places[2 * written], places[2 * written + 1] = self._scope.number, number

    def _named(self, text: bytes, *, element: bool) -> bytes:
        prefix, colon, local = text.rpartition(b":")
        if (colon and not prefix) or b":" in prefix or not local:
            raise _Wrong(f"`{text.decode()}` is not a name with a prefix")
        if not _starts(local):
            raise _Wrong(f"`{local.decode()}` is not a name")
        if not prefix and not element:
            return local
        uris = self._uris.get(prefix)
        if not uris:
            raise _Wrong(f"the prefix `{prefix.decode()}` is not declared")
        uri = uris[-1]
        if not uri:
            return b"{}" + local if self._default else local
        if element and uri == self._plain:
            return local
        if uri in self._prefixes:
            return self._prefixes[uri] + b":" + local
        return b"{" + uri + b"}" + local


def _starts(local: bytes) -> bool:
    """Whether what follows a prefix could be a name by itself."""
    padded = np.frombuffer(local + bytes(PAD), np.uint8)
    return int(name_fault(padded, 0, len(local))) < 0
