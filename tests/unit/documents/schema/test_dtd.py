"""Schemas from a DTD."""

from __future__ import annotations

import pytest

from ostinato.documents.schema.dtd import from_dtd
from ostinato.documents.schema.model import DOCUMENT
from ostinato.errors import LimitError, OstinatoError

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
        ("<r/>", "not a declaration"),
        ("<!ATTLIST a b CDATA #IMPLIED>", "declares no element"),
        ("<!ELEMENT a (b, c | d)>", "content model of `a`"),
        ("<!ELEMENT a (b", "not a declaration"),
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
