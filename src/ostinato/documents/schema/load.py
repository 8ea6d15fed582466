"""A schema from a file: a DTD, an XML Schema, or a sample document."""

from __future__ import annotations

import os
from pathlib import Path

from ostinato.documents.schema.model import Schema
from ostinato.errors import DataError


def load_schema(path: str | os.PathLike[str]) -> Schema:
    """By extension: .dtd, .xsd; anything else is read as a sample document."""
    file = Path(path)
    if not file.is_file():
        raise DataError("there is no such file", source=str(path), fix="give a .dtd, .xsd or sample .xml file")
    if file.suffix.lower() == ".dtd":
        from ostinato.documents.schema.dtd import from_dtd

        return from_dtd(file.read_text(encoding="utf-8"), source=file.name)
    if file.suffix.lower() == ".xsd":
        from ostinato.documents.schema.xsd import from_xsd

        return from_xsd(file)
    from ostinato.documents.nested_words import letters_of_source
    from ostinato.documents.schema.sample import from_sample
    from ostinato.documents.xml.tokeniser import XmlSource

    return from_sample([letters_of_source(XmlSource(file))], source=file.name)
