"""Schemas from XML Schema."""

from __future__ import annotations

from pathlib import Path

import pytest

from ostinato.documents.schema.xsd import from_xsd
from ostinato.errors import DataError

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
        ("<a/>", "not an XML Schema"),
        ("<a", "not well-formed"),
        ("<!DOCTYPE a [<!ENTITY e 'x'>]><a/>", "entities"),
    ):
        file.write_text(content)
        with pytest.raises(DataError, match=reason):
            from_xsd(file)
    with pytest.raises(DataError, match="cannot read"):
        from_xsd(tmp_path / "missing.xsd")
