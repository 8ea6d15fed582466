"""Answers many times the size of the document: elements in one another, each shown as it is written."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import ostinato
from ostinato import XSeqLimits
from ostinato.xseq.runtime import rows
from ostinato.xseq.runtime.texts import TextSlices

DEEP = b"<a>" * 200 + b"x" * 1000 + b"</a>" * 200
STREAMED = "//a"
KEPT = ["//a[ancestor::a]", "return $X as x from //$X"]
LARGEST = 7 * 200 + 1000


@pytest.mark.parametrize("text", [STREAMED, *KEPT, "return $X@t from //$X//$Y"])
@pytest.mark.parametrize("matches", ["all", "longest"])
def test_counting_copies_no_text(text: str, matches: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    query = ostinato.xseq(text, matches=matches)
    wanted = query.detect(DEEP).num_rows
    copied = []
    array = TextSlices.array

    def watched(self: TextSlices) -> pa.Array:
        copied.append(self.nbytes)
        return array(self)

    monkeypatch.setattr(TextSlices, "array", watched)
    assert query.count(DEEP) == wanted and query.recognises(DEEP) == (wanted > 0)
    assert not any(copied)


def test_counting_keeps_no_open_element() -> None:
    compiled = ostinato.xseq(STREAMED).compiled
    assert compiled.stream is not None
    for texts in (True, False):
        evaluator = compiled.evaluator(XSeqLimits(), texts=texts)
        from ostinato.documents.xml.tokeniser import XmlSource

        source = XmlSource(b"<!-- -->" * 600 + b"<a>" + b"<b/>" * 1000 + b"</a>", chunk_size=64)
        kept = 1 << 62
        while (tokens := source.read(min(evaluator.keep_from, 1 << 62))) is not None:
            evaluator.shift(source.moved)
            evaluator.push(tokens, source.names)
            kept = min(kept, evaluator.keep_from)
        assert (kept < 1 << 62) == texts


@pytest.mark.parametrize("text", [STREAMED, *KEPT])
def test_pieces_have_so_many_bytes(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = ostinato.xseq(text)
    whole = query.detect(DEEP)
    monkeypatch.setattr(rows, "PIECE", 10_000)
    pieces = list(query.batches(DEEP))
    assert len(pieces) > 10
    assert all(piece.nbytes < 10_000 + LARGEST for piece in pieces)
    assert sorted(pa.concat_tables(pieces)[0].to_pylist()) == sorted(whole[0].to_pylist())
    assert query.detect(DEEP).equals(whole)


@pytest.mark.parametrize("text", [STREAMED, *KEPT])
def test_strings_that_arrow_cannot_put_together(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    query = ostinato.xseq(text)
    document = (
        b"<r>"
        + b"".join(b"<a n='%d'>%s</a>" % (n, b"<a>" * (n % 7) + b"x" * n + b"</a>" * (n % 7)) for n in range(99))
        + b"</r>"
    )
    whole = query.detect(document, chunk_size=512)
    monkeypatch.setattr(rows, "_STRINGS", 1000)
    assert query.detect(document, chunk_size=512).equals(whole)


@pytest.mark.parametrize("text", [STREAMED, *KEPT, "return $X, count($Y) from //$X//$Y"])
def test_an_answer_as_a_whole_has_a_limit(text: str) -> None:
    query, limits = ostinato.xseq(text), XSeqLimits(answer_bytes=100_000)
    with pytest.raises(ostinato.LimitError, match=r"too many bytes .*\(limit answer_bytes=100,000\)\nfix: return less"):
        query.detect(DEEP, limits=limits)
    with pytest.raises(ostinato.LimitError, match="answer_bytes"):
        query.detect(pa.array([DEEP[3:-4], DEEP]), limits=limits)
    if "count" not in text:
        assert sum(piece.num_rows for piece in query.batches(DEEP, limits=limits)) == query.count(DEEP)


def test_an_answer_over_many_documents_has_a_limit() -> None:
    query, limits = ostinato.xseq("//b"), XSeqLimits(answer_bytes=100_000)
    document = b"<r><b>" + b"x" * 2000 + b"</b></r>"
    assert query.detect(pa.array([document] * 30), limits=limits).num_rows == 30
    with pytest.raises(ostinato.LimitError, match="answer_bytes"):
        query.detect(pa.array([document] * 60), limits=limits)


def test_matches_that_wait_to_become_longer_have_a_limit() -> None:
    query = ostinato.xseq(r"return $X@t from /r/$X (\ $Y)* where tag($X) = 'a'", matches="longest")
    assert query.compiled.stream is not None
    document = b"<r><a t='" + b"x" * 1000 + b"'/>" + b"<b/>" * 2000 + b"</r>"
    assert query.count(document) == query.detect(document).num_rows
    with pytest.raises(ostinato.LimitError, match="kept_bytes"):
        query.detect(document, limits=XSeqLimits(kept_bytes=500), chunk_size=1000)


def test_texts_that_are_compared_as_a_whole_have_a_limit() -> None:
    query = ostinato.xseq("return tag($X) from //$X where $X != 'y'")
    document = b"<a>y" * 100 + b"x" * 1000 + b"</a>" * 100
    assert query.count(document) == 100
    with pytest.raises(ostinato.LimitError, match=r"compared as a whole .*kept_bytes"):
        query.count(document, limits=XSeqLimits(kept_bytes=20_000))
