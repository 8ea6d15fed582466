"""Documents that are not what the schema says are refused where the answer could depend on it."""

from __future__ import annotations

from pathlib import Path

import pytest

import ostinato

DTD = """<!ELEMENT r (a*, b?)> <!ELEMENT a EMPTY> <!ELEMENT b (a)>
<!ATTLIST a i CDATA #IMPLIED> <!ATTLIST b k CDATA #IMPLIED>"""


@pytest.fixture
def dtd(tmp_path: Path) -> Path:
    path = tmp_path / "r.dtd"
    path.write_text(DTD, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("query", "document", "what"),
    [
        (r"/r/b\a/@i", "<r>\n<b><a/></b><a i='1'/></r>", "line 2, column 12: <a> stands directly after <b> inside <r>"),
        ("//a", "<r><b/>\n <c/></r>", "line 2, column 2: <c> stands inside <r>"),
        ("//a", "<r><b><b/></b></r>", "line 1, column 7: <b> stands inside <b>"),
        ("//a", "<a/>", "line 1, column 1: <a> stands as the root"),
        ("//a/@j", "<r>\n<a\n j='1'/></r>", "line 3, column 5: <a> has an attribute `j`"),
        ("//b (/a union /@i)", "<r><b i='1'><a/></b></r>", "<b> has an attribute `i`"),
        ("//b/@*", "<r><b x='&lt;'><a/></b></r>", "line 1, column 4: <b> has an attribute `x`"),
        ("//a/text()", "<r><a>x</a></r>", "line 1, column 7: <a> has text"),
        ("//b/parent::r[/@x]", "<r x='1'><b><a/></b></r>", "<r> has an attribute `x`"),
        ("return $X@i from //$X/text()", "<r><a>x</a></r>", "<a> has text"),
    ],
)
def test_what_the_answer_could_depend_on(query: str, document: str, what: str, dtd: Path) -> None:
    with pytest.raises(ostinato.DataError) as raised:
        ostinato.xseq(query, schema=dtd).detect(document)
    assert what in str(raised.value)
    assert "which r.dtd does not have\nfix: leave out schema" in str(raised.value).replace(f"{dtd.parent}/", "")


@pytest.mark.parametrize(
    ("query", "document"),
    [
        ("//a/@i", "<r>\n <a i='1' j='1' xml:lang='de'/>\n <a/> <b k='2'><a/></b>\n</r>"),  # nobody asks for j
        ("//a/@i", "<r><a>white space, or any text, that is not asked for</a></r>"),
        ("//a/@*", "<r xmlns='urn:r'><a i='1' xml:lang='de'/></r>"),
        ("//a/@i", "<r/>"),
    ],
)
def test_what_is_no_fault(query: str, document: str, dtd: Path) -> None:
    with_schema, without = ostinato.xseq(query, schema=dtd), ostinato.xseq(query)
    assert with_schema.detect(document).equals(without.detect(document))


def test_piece_by_piece(dtd: Path) -> None:
    document = b"<r>" + b"<a/>\n" * 3000 + b"<b><a/></b>" + b"<a/></r>"
    query = ostinato.xseq("//a", schema=dtd)
    with pytest.raises(ostinato.DataError, match="line 3001, column 12: <a> stands directly after <b>"):
        query.count(document, chunk_size=100)
    assert query.count(document.replace(b"<a/></r>", b"</r>"), chunk_size=100) == 3001


def test_order_is_nothing_that_a_sample_shows(tmp_path: Path) -> None:
    sample = tmp_path / "sample.xml"
    sample.write_text("<r><a i='1'/><b/></r>", encoding="utf-8")
    query = ostinato.xseq(r"/r/b\a/@i", schema=sample)
    assert query.warnings == [] and query.count("<r> <b/> <a i='2'/> </r>") == 1
    with pytest.raises(ostinato.DataError, match="<c> stands inside <r>"):
        query.count("<r><c/></r>")
