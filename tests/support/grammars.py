"""Writes the tables of all grammars beside them: `python -m support.grammars`, or `make grammars`."""

from __future__ import annotations

import io
import pickle
from importlib.resources import files
from pathlib import Path
from typing import Any

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

SHIFT = 0  # what lark writes for the action that goes to another state; the other one reduces by a rule


def tables_path(package: str, start: str) -> Path:
    return Path(str(files(package).joinpath(tables_name(start))))


def make_tables(package: str, start: str, words: Words | None) -> bytes:
    """The file of a grammar's tables, which are the same whenever they are made."""
    parser = build_parser(package, start, words)
    file = io.BytesIO()
    parser.save(file, exclude_options={"postlex"})
    made = pickle.loads(file.getvalue())
    made["data"]["parser"]["parser"] = _renumbered(made["data"]["parser"]["parser"])
    return pack_tables(_plain({"grammar": parser.source_grammar, "lark": lark.__version__, **made}, {}))


def _renumbered(table: dict[str, Any]) -> dict[str, Any]:
    """lark numbers states and symbols as they come out of sets: here by the alphabet, breadth first."""
    tokens: dict[int, str] = table["tokens"]
    number = {token: place for place, token in enumerate(sorted(tokens, key=tokens.__getitem__))}
    states = [state for _, state in sorted(table["start_states"].items())]
    actions = []
    for state in states:  # which grows on the way
        actions.append(sorted((number[token], action) for token, action in table["states"][state].items()))
        reached = [state for _, (kind, state) in actions[-1] if kind == SHIFT]
        states += [state for state in dict.fromkeys(reached) if state not in states]
    place = {state: place for place, state in enumerate(states)}
    return {
        "tokens": {number[token]: tokens[token] for token in sorted(tokens, key=number.__getitem__)},
        "states": {
            place[state]: {token: (kind, place[to] if kind == SHIFT else to) for token, (kind, to) in found}
            for state, found in zip(states, actions, strict=True)
        },
        "start_states": {start: place[state] for start, state in sorted(table["start_states"].items())},
        "end_states": {start: place[state] for start, state in sorted(table["end_states"].items())},
    }


def _plain(value: Any, texts: dict[str, str]) -> Any:
    """The same of parts that nothing shares but texts, which all do: pickle writes what is shared once."""
    if isinstance(value, dict):
        return {_plain(key, texts): _plain(each, texts) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_plain(each, texts) for each in value)
    return texts.setdefault(value, value) if isinstance(value, str) else value


if __name__ == "__main__":
    for grammar in GRAMMARS:
        path, content = tables_path(*grammar[:2]), make_tables(*grammar)
        path.write_bytes(content)
        print(f"{len(content):>7,} bytes  {path}")
