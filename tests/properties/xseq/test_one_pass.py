"""`ostinato.xseq` answers as the declarative evaluator does, in one pass or not, however the document comes in."""

from __future__ import annotations

import io
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ostinato as ost
from ostinato.xseq.semantics.query import Matches, Row
from ostinato.xseq.semantics.tree import read_json, read_xml
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.format import query_text
from support.generators.xseq import answer, forward_queries, json_documents, queries, xml_documents
from support.xseq import padded, same

pytestmark = pytest.mark.slow

MATCHES: st.SearchStrategy[Matches] = st.sampled_from(["all", "longest"])
CHUNKS = st.sampled_from([1, 7, 64, 1 << 20])


def assert_same(found: list[Row], expected: list[Row]) -> None:
    assert len(found) == len(expected), (found, expected)
    for row, wanted in zip(found, expected, strict=True):
        assert all(map(same, row, wanted)), (found, expected)


def detected(query: n.Query, document: bytes, matches: Matches, **options: Any) -> list[Row]:
    table = ost.xseq(query_text(query), matches=matches).detect(io.BytesIO(document), **options)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@settings(max_examples=40)
@given(forward_queries(), xml_documents(), MATCHES, CHUNKS)
def test_in_one_pass(query: n.Query, document: bytes, matches: Matches, chunk: int) -> None:
    document = padded(document)
    assert_same(detected(query, document, matches, chunk_size=chunk), answer(query, read_xml(document), matches))


@settings(max_examples=40)
@given(queries(), xml_documents(), MATCHES, CHUNKS)
def test_of_any_kind(query: n.Query, document: bytes, matches: Matches, chunk: int) -> None:
    document = padded(document)
    assert_same(detected(query, document, matches, chunk_size=chunk), answer(query, read_xml(document), matches))


@settings(max_examples=40)
@given(queries(), json_documents(), MATCHES)
def test_over_json(query: n.Query, document: bytes, matches: Matches) -> None:
    assert_same(detected(query, document, matches, format="json"), answer(query, read_json(document), matches))


@settings(max_examples=40)
@given(queries(), xml_documents())
def test_recognition(query: n.Query, document: bytes) -> None:
    assert ost.xseq(query_text(query)).recognises(document) == bool(answer(query, read_xml(document)))


@settings(max_examples=36)
@given(forward_queries(), st.lists(xml_documents(), min_size=2, max_size=4), MATCHES)
def test_one_document_after_the_other(query: n.Query, documents: list[bytes], matches: Matches) -> None:
    """A query that has run before knows nothing of the documents it ran over."""
    compiled = ost.xseq(query_text(query), matches=matches)
    for document in documents:
        table = compiled.detect(document)
        found = list(zip(*(column.to_pylist() for column in table.columns), strict=True))
        assert_same(found, answer(query, read_xml(document), matches))
