"""The tables that a query reads, by name."""

from __future__ import annotations

from ostinato.errors import DataError
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import Word, closing, words

_BEFORE = ("FROM", "JOIN")
_ENDS = ("WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "UNION", "EXCEPT", "INTERSECT", "WINDOW", "QUALIFY", "SELECT")


def table_names(query: n.Query) -> list[str]:
    """The names after FROM and JOIN that are neither common table expressions nor functions, each once."""
    found = words(query.text)
    defined = {name.lower() for name in _defined(found)}
    names: dict[str, str] = {}
    for index in _places(found):
        path = [found[index].name]
        at = index + 1
        while at + 1 < len(found) and found[at].text == "." and found[at + 1].is_name:
            path.append(found[at + 1].name)
            at += 2
        if not (at < len(found) and found[at].text == "(") and path[-1].lower() not in defined:
            names.setdefault(path[-1].lower(), path[-1])
    return list(names.values())


def only_table(query: n.Query) -> str:
    """The name of the one table that a query reads."""
    names = table_names(query)
    if len(names) == 1:
        return names[0]
    reason = f"this query reads {' and '.join(names) or 'no table'}"
    raise DataError(
        reason, fix="give tables by name: query.detect({" + ", ".join(f'"{name}": …' for name in names) + "})"
    )


def _places(found: list[Word]) -> list[int]:
    """Where a table may be named: after FROM and JOIN, and after a comma between such tables."""
    places = []
    in_from = [False]
    for index, word in enumerate(found[:-1]):
        if word.text in ("(", "[", "{"):
            in_from.append(False)
        elif word.text in (")", "]", "}") and len(in_from) > 1:
            in_from.pop()
        elif word.keyword in _ENDS:
            in_from[-1] = False
        if word.keyword in _BEFORE:
            in_from[-1] = True
        if (word.keyword in _BEFORE or (word.text == "," and in_from[-1])) and found[index + 1].is_name:
            if word.keyword == "FROM" and _is_argument(found, index):
                in_from[-1] = False
                continue
            places.append(index + 1)
    return [place for place in places if found[place].keyword not in ("LATERAL", "UNNEST", "VALUES")]


def _is_argument(found: list[Word], index: int) -> bool:
    """`extract(year FROM ts)`, `trim(x FROM y)`, `IS DISTINCT FROM y`: no query's FROM."""
    if found[index - 1].keyword == "DISTINCT" and found[index - 2].keyword in ("IS", "NOT"):
        return True
    depth = 0
    for at in range(index - 1, -1, -1):
        depth += (found[at].text == ")") - (found[at].text == "(")
        if depth < 0:
            return found[at - 1].keyword in ("EXTRACT", "TRIM", "SUBSTRING", "OVERLAY")
        if found[at].keyword in ("SELECT", "FROM"):
            return False
    return False


def _defined(found: list[Word]) -> list[str]:
    """The names of common table expressions: `name [(columns)] AS [NOT MATERIALIZED] (SELECT`."""
    names = []
    for index, word in enumerate(found[:-1]):
        if not word.is_name or found[index - 1].keyword not in ("WITH", "RECURSIVE", ","):
            continue
        at = index + 1
        if found[at].text == "(":
            at = closing(found, at) + 1
        if at + 1 < len(found) and found[at].keyword == "AS":
            at += 1
            while at < len(found) and found[at].keyword in ("NOT", "MATERIALIZED"):
                at += 1
            if at < len(found) and found[at].text == "(":
                names.append(word.name)
    return names
