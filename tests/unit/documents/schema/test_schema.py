from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.documents.schema.dtd import from_dtd, from_sample
from ostinato.documents.schema.model import DOCUMENT, Schema
from ostinato.documents.schema.xsd import from_xsd
from ostinato.errors import DataError, LimitError, OstinatoError
from ostinato.xseq.semantics.tree import read_xml
from support.nested_words import element_word, letters_of_tree, text_word
from support.schema import allowed_pairs, check_letters

SIGMOD = """\
<!-- the Sigmod record -->
<!ENTITY % names "author*">
<!ELEMENT SigmodRecord (issue)*>
<!ELEMENT issue (volume, number, articles)>
<!ELEMENT volume (#PCDATA)> <!ELEMENT number (#PCDATA)>
<!ELEMENT articles (article)*>
<!ELEMENT article (title, initPage?, authors)>
<!ELEMENT title (#PCDATA)> <!ELEMENT initPage EMPTY>
<!ELEMENT authors ( %names; )>
<!ELEMENT author (#PCDATA)>
<!ATTLIST author position CDATA #IMPLIED
                 kind (first|other) "other"
                 form NOTATION (a|b) #FIXED 'a' last CDATA #REQUIRED>
"""


def test_a_dtd() -> None:
    schema = from_dtd(SIGMOD)
    assert schema.roots == {"SigmodRecord"} and not schema.assumed
    article = schema.of("article")
    assert article.children == {"title", "initPage", "authors"} and not article.many
    assert article.first == {"title"} and article.after("title") == {"initPage", "authors"}
    assert article.follows["title"] == {"initPage", "authors"}
    assert schema.of("authors").many == {"author"} and schema.of("authors").follows == {"author": {"author"}}
    assert schema.of("author").attributes == {"position", "kind", "form", "last"}
    assert schema.of("author").text and not schema.of("initPage").text
    assert schema.parents("author") == {"authors"} and schema.parents("SigmodRecord") == {DOCUMENT}
    assert schema.below(["issue"]) >= {"author", "volume"} and "issue" not in schema.below(["issue"])
    assert schema.above(["authors"]) == {"article", "articles", "issue", "SigmodRecord", DOCUMENT}


def test_a_doctype_and_its_forms() -> None:
    schema = from_dtd("<!DOCTYPE r [<!ELEMENT r (a | (b, c+))><!ELEMENT a ANY><!ELEMENT b (#PCDATA | a)*>]>")
    assert schema.roots == {"r"} and schema.of("r").first == {"a", "b"}
    assert schema.of("r").many == {"c"} and schema.of("a").children == {"r", "a", "b"}
    assert schema.of("b").children == {"a"} and schema.of("b").many == {"a"}


@pytest.mark.parametrize(
    ("dtd", "reason"),
    [
        ("<r/>", "no declaration"),
        ("<!ATTLIST a b CDATA #IMPLIED>", "declares no element"),
        ("<!ELEMENT a (b, c | d)>", "content model of `a`"),
        ("<!ELEMENT a (b", "no declaration"),
        ("<!ELEMENT a b>", "content model of `a`"),
        ("<!ELEMENT a (%x;)>", "parameter entity %x; is not declared"),
        ('<!ENTITY % x SYSTEM "file:///etc/passwd">%x;', "nothing external is fetched"),
        ("<![INCLUDE[<!ELEMENT a EMPTY>]]>", "conditional section"),
        ('<!ENTITY % x "%x;"><!ELEMENT a (%x;)>', "hold each other"),
        ('<!ENTITY % x "%x; %x;">%x;', "too much text"),
        ("<!DOCTYPE r [<!ELEMENT a EMPTY>]>", "does not declare its root"),
        ("<!ELEMENT a " + "(" * 300 + "b" + ")" * 300 + ">", "nests too deeply"),
    ],
)
def test_bad_dtds(dtd: str, reason: str) -> None:
    with pytest.raises(OstinatoError) as caught:
        from_dtd(dtd)
    assert reason in str(caught.value)


def test_entities_are_bounded() -> None:
    laughs = '<!ENTITY % a0 "x">' + "".join(f'<!ENTITY % a{n} "{f"%a{n - 1};" * 10}">' for n in range(1, 12))
    with pytest.raises(LimitError, match="expand to too much"):
        from_dtd(laughs + "<!ELEMENT r (%a11;)>")


def sample() -> Schema:
    return from_sample([letters_of_tree(read_xml(b'<r><a p="1"/><a>t</a><b><a/></b></r>'))], source="small.xml")


def test_a_sample() -> None:
    schema = sample()
    assert schema.assumed and schema.roots == {"r"}
    assert schema.of("r").children == {"a", "b"} and schema.of("r").many == {"a"}
    assert schema.of("r").first == {"a"} and schema.of("r").follows == {"a": {"a", "b"}}
    assert schema.of("a").attributes == {"p"} and schema.of("a").text and not schema.of("r").text
    assert {("b", "a"), ("a", "text()"), ("a", "@p")} <= allowed_pairs(schema)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (element_word("x"), "`x` stands in the document"),
        (element_word("r", inside=[element_word("c")]), "`c` stands in `r`"),
        (element_word("r", {"p": "1"}), "`r` has an attribute `p`"),
        (element_word("r", inside=[text_word(" ")]), "`r` has text"),
    ],
)
def test_a_document_unlike_the_sample(word: list[object], reason: str) -> None:
    with pytest.raises(DataError) as caught:
        list(check_letters(word, sample()))  # type: ignore[arg-type]
    assert reason in str(caught.value) and "sample small.xml" in str(caught.value) and "fix:" in str(caught.value)


def test_order_is_checked_only_where_it_is_promised() -> None:
    word = element_word("r", inside=[element_word("b"), element_word("a")])
    assert list(check_letters(word, sample())) == word
    dtd = from_dtd("<!ELEMENT r (a, b)><!ELEMENT a EMPTY><!ELEMENT b EMPTY>")
    with pytest.raises(DataError, match="`b` stands first in `r`"):
        list(check_letters(word, dtd))
    with pytest.raises(DataError, match="`b` stands directly after `b`"):
        list(check_letters(element_word("r", inside=[element_word("a"), element_word("b"), element_word("b")]), dtd))


XSD = """\
<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">
  <xs:element name="library" type="Library"/>
  <xs:complexType name="Library">
    <xs:sequence>
      <xs:element ref="book" minOccurs="0" maxOccurs="unbounded"/>
      <xs:choice minOccurs="0"><xs:element name="shop" type="xs:string"/><xs:group ref="places"/></xs:choice>
    </xs:sequence>
    <xs:attributeGroup ref="stamped"/>
  </xs:complexType>
  <xs:group name="places"><xs:all>
    <xs:element name="town" type="xs:string"/><xs:element name="road" type="Named"/></xs:all></xs:group>
  <xs:attributeGroup name="stamped"><xs:attribute name="date"/></xs:attributeGroup>
  <xs:element name="book">
    <xs:complexType mixed="true"><xs:complexContent><xs:extension base="Named">
      <xs:sequence><xs:element name="year" type="xs:int"/></xs:sequence><xs:attribute name="id" use="required"/>
    </xs:extension></xs:complexContent></xs:complexType>
  </xs:element>
  <xs:complexType name="Named"><xs:sequence><xs:element name="title" type="xs:string"/></xs:sequence></xs:complexType>
</xs:schema>
"""


def test_an_xml_schema(tmp_path: Path) -> None:
    file = tmp_path / "library.xsd"
    file.write_text(XSD)
    schema = from_xsd(file)
    library = schema.of("library")
    assert schema.roots == {"library", "book"} and library.children == {"book", "shop", "town", "road"}
    assert library.attributes == {"date"} and library.follows["book"] == {"book", "shop", "town", "road"}
    assert library.follows["town"] == {"town", "road"}
    assert schema.of("book").first == {"title"} and schema.of("book").follows == {"title": {"year"}}
    assert schema.of("book").attributes == {"id"} and schema.of("road").children == {"title"}


@pytest.mark.parametrize(
    ("inside", "reason"),
    [
        ("<xs:element name='a'/>", "'a' has no type"),
        ("<xs:element name='a' type='T'/><xs:complexType name='T'><xs:any/></xs:complexType>", "xs:any is outside"),
        ("<xs:import namespace='x'/>", "xs:import is outside"),
        ("<xs:element name='a'><xs:complexType><xs:group ref='g'/></xs:complexType></xs:element>", "refers to 'g'"),
        ("<xs:complexType name='T'/>", "no element at its top"),
        ("<xs:element name='a' type='T'/><xs:complexType name='T'><xs:complexContent><xs:extension base='T'/>"
         "</xs:complexContent></xs:complexType>", "in a circle"),
    ],
)  # fmt: skip
def test_what_is_outside_the_subset(tmp_path: Path, inside: str, reason: str) -> None:
    file = tmp_path / "s.xsd"
    file.write_text(f"<xs:schema xmlns:xs='http://www.w3.org/2001/XMLSchema'>{inside}</xs:schema>")
    with pytest.raises(DataError) as caught:
        from_xsd(file)
    assert reason in str(caught.value) and "s.xsd" in str(caught.value)


def test_what_is_no_xml_schema(tmp_path: Path) -> None:
    file = tmp_path / "s.xsd"
    for content, reason in (
        ("<a/>", "no XML Schema"),
        ("<a", "not well-formed"),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]><a/>", "entities"),
    ):
        file.write_text(content)
        with pytest.raises(DataError, match=reason):
            from_xsd(file)
    with pytest.raises(DataError, match="cannot read"):
        from_xsd(tmp_path / "missing.xsd")
