"""Writes the tables of all grammars beside them: `python -m support.grammars`, or `make grammars`."""

from __future__ import annotations

import io
import pickle
from importlib.resources import files
from pathlib import Path

import lark

from ostinato.core.text.grammar import Words, build_parser, pack_tables, tables_name
from ostinato.sql.syntax.parse import WORDS as SQL_WORDS
from ostinato.xseq.syntax.parse import WORDS

# Where each grammar lies, the rule that texts start with, and what makes its words if not lark.
GRAMMARS: list[tuple[str, str, Words | None]] = [
    ("ostinato.patterns.syntax.cel", "query", None),
    ("ostinato.patterns.syntax.cel", "expr", None),
    ("ostinato.patterns.syntax.srem", "pattern", None),
    ("ostinato.rules.syntax", "program", None),
    ("ostinato.xseq.syntax", "query", WORDS),
    ("ostinato.sql.syntax", "clause", SQL_WORDS),
]


def tables_path(package: str, start: str) -> Path:
    return Path(str(files(package).joinpath(tables_name(start))))


def write_tables(package: str, start: str, words: Words | None) -> None:
    path = tables_path(package, start)
    parser = build_parser(package, start, words)
    file = io.BytesIO()
    parser.save(file, exclude_options={"postlex"})
    tables = {"grammar": parser.source_grammar, "lark": lark.__version__, **pickle.loads(file.getvalue())}
    path.write_bytes(pack_tables(tables))
    print(f"{path.stat().st_size:>7,} bytes  {path}")


if __name__ == "__main__":
    for grammar in GRAMMARS:
        write_tables(*grammar)
