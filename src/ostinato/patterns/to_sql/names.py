"""Names of SQL."""

from __future__ import annotations

# Of DuckDB and of the clause: what cannot stand as a name without quotes.
_KEYWORDS = frozenset(
    (
        *("all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric", "at", "both", "case", "cast"),
        *("check", "classifier", "collate", "column", "constraint", "create", "cross", "default"),
        *("deferrable", "define", "desc", "describe", "distinct", "do", "else", "empty", "end", "escape"),
        *("except", "false", "fetch", "final", "first", "for", "foreign", "from", "full", "grant", "group"),
        *("having", "ilike", "in", "initially", "inner", "intersect", "interval", "into", "is", "isnull", "join"),
        *("lambda", "last", "lateral", "leading", "left", "like", "limit", "match_number"),
        *("match_recognize", "matches", "measures", "natural", "next", "not", "notnull", "null", "offset"),
        *("on", "one", "only", "or", "order", "outer", "partition", "past", "pattern", "per", "permute", "pivot"),
        *("placing", "positional", "prev", "primary", "qualify", "references", "returning", "right", "row"),
        *("rows", "running", "select", "semi", "show", "similar", "skip", "some", "subset", "summarize"),
        *("symmetric", "table", "tablesample", "then", "to", "trailing", "true", "union", "unique"),
        *("unmatched", "unpivot", "using", "variadic", "when", "where", "window", "with", "within"),
    )
)


def quoted(name: str) -> str:
    """A name as SQL reads it."""
    if _is_plain(name):
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def row_name(wanted: str, taken: set[str]) -> str:
    """A name for rows of the pattern, which needs no quotes and is not taken."""
    name = wanted.upper() if _is_plain(wanted) else f"{wanted.upper()}_" if _is_plain(f"{wanted}_") else "E"
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    taken.add(found)
    return found


def _is_plain(name: str) -> bool:
    return name.isidentifier() and name.isascii() and name.lower() not in _KEYWORDS
