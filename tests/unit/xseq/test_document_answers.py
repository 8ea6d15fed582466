"""Documents on several threads: the rows of one, in the same order, and its errors."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import ostinato as ost
from ostinato.files.reader import OnError
from ostinato.xseq import document_answers
from ostinato.xseq.evaluate import evaluate_document

QUERY = ost.xseq("//b")
DOCUMENTS = pa.array([b"<a>" + b"<b>x</b>" * (number % 7) + b"</a>" for number in range(300)])


@pytest.fixture(autouse=True)
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_answers, "_GROUP_BYTES", 100)
    monkeypatch.setattr(document_answers, "_SMALL", 25)  # about half of the groups


@pytest.mark.parametrize("threads", [2, 5])
def test_rows_and_counts_are_those_of_one_thread(threads: int) -> None:
    assert QUERY.detect(DOCUMENTS, threads=threads).equals(QUERY.detect(DOCUMENTS, threads=1))
    assert QUERY.count(DOCUMENTS, threads=threads) == QUERY.count(DOCUMENTS, threads=1) == QUERY.count(DOCUMENTS)


def test_files(tmp_path: Path) -> None:
    for number in range(9):
        (tmp_path / f"{number}.xml").write_bytes(b"<a>" + b"<b/>" * number + b"</a>")
    assert QUERY.detect(tmp_path, threads=3).equals(QUERY.detect(tmp_path, threads=1))


@pytest.mark.parametrize("on_error", ["skip", "collect"])
def test_documents_that_cannot_be_read(on_error: OnError) -> None:
    damaged = pa.array([*DOCUMENTS.to_pylist()[:40], b"<a><b></a>", *DOCUMENTS.to_pylist()[40:60]])
    alone = QUERY.detect(damaged, threads=1, on_error=on_error)
    assert QUERY.detect(damaged, threads=4, on_error=on_error).equals(alone)


def test_the_first_error_is_raised() -> None:
    damaged = pa.array([*DOCUMENTS.to_pylist()[:40], b"<a><b></a>", b"<c>", *DOCUMENTS.to_pylist()[40:60]])
    with pytest.raises(ost.DataError, match="row 40"):
        QUERY.detect(damaged, threads=4)


@pytest.mark.parametrize(("smallest", "alone"), [(1, False), (1_000, True)])
def test_small_documents_are_read_where_they_are_asked_for(
    smallest: int, alone: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(document_answers, "_SMALL", smallest)
    readers = set()

    def watched(*args: Any, **options: Any) -> Any:
        readers.add(threading.current_thread())
        return evaluate_document(*args, **options)

    monkeypatch.setattr(document_answers, "evaluate_document", watched)
    for number in range(9):
        (tmp_path / f"{number}.xml").write_bytes(b"<a>" + b"<b/>" * number + b"</a>")
    for source in (DOCUMENTS, tmp_path):
        readers.clear()
        QUERY.detect(source, threads=2)
        assert (readers == {threading.current_thread()}) == alone


def test_the_option_is_checked() -> None:
    with pytest.raises(ost.OstinatoError, match="threads"):
        QUERY.detect(DOCUMENTS, threads=0)
