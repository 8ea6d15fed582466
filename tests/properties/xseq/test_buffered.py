"""The evaluator over kept subtrees answers as the declarative one does, however the document comes in."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from ostinato.documents.xml.tokeniser import XmlSource
from ostinato.errors import QueryError
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.plan.check import check
from ostinato.xseq.runtime.buffered.evaluator import BufferedEvaluator
from ostinato.xseq.runtime.buffered.kept_subtrees import Anchor
from ostinato.xseq.runtime.buffered.tables import build_tree_tables
from ostinato.xseq.runtime.rows import MatchRows, assemble_tables
from ostinato.xseq.semantics.query import Matches, Row
from ostinato.xseq.semantics.tree import read_xml
from ostinato.xseq.syntax import nodes as n
from ostinato.xseq.syntax.normal_form import normalise
from ostinato.xseq.syntax.variables import repeating_variables
from ostinato.xseq.walk.program import build_program
from support.generators.xseq import answer, queries, xml_documents
from support.xseq import padded, same

pytestmark = pytest.mark.slow

WHOLE = Anchor((), (), "it is wanted so")


def buffered(query: n.Query, document: bytes, matches: Matches, chunk: int, whole: bool) -> list[Row]:
    program = build_program(normalise(query), repeating_variables(query))
    evaluator = BufferedEvaluator(build_tree_tables(program), matches=matches)
    if whole:
        evaluator.anchor = WHOLE
    source = XmlSource(document, chunk_size=chunk)

    def blocks() -> Iterator[MatchRows]:
        while (tokens := source.read(evaluator.keep_from)) is not None:
            yield from evaluator.push(tokens, source.names)
        yield from evaluator.finish()

    tables = assemble_tables(program, blocks(), XSeqLimits(), sort=True, whole=True)
    return [row for table in tables for row in zip(*(column.to_pylist() for column in table.columns), strict=True)]


@settings(max_examples=45)
@given(
    queries(), xml_documents(), st.sampled_from(["all", "longest"]), st.sampled_from([1, 7, 64, 1 << 16]), st.booleans()
)
def test_as_declared(query: n.Query, document: bytes, matches: Matches, chunk: int, whole: bool) -> None:
    try:
        check(query)
    except QueryError:
        reject()
    document = padded(document)
    expected = answer(query, read_xml(document), matches)
    found = buffered(query, document, matches, chunk, whole)
    assert len(found) == len(expected)
    for row, wanted in zip(found, expected, strict=True):
        assert all(map(same, row, wanted)), (found, expected)
