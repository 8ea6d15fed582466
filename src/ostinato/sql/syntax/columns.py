"""The columns that a piece of SQL names, by sqlglot's parser for DuckDB."""

from __future__ import annotations


def column_names(text: str) -> list[str]:
    """In small letters, tables in front left out; none where the piece is no expression that sqlglot knows.

    The piece may be the brackets of a call, `(DISTINCT x ORDER BY y) FILTER (WHERE z)`.
    """
    import sqlglot
    from sqlglot import exp

    try:
        parsed = sqlglot.parse_one(f"list{text}" if text.startswith("(") else text, read="duckdb")
    except sqlglot.errors.SqlglotError:
        return []
    bound = {name.name.lower() for each in parsed.find_all(exp.Lambda) for name in each.expressions}
    columns = [column for column in parsed.find_all(exp.Column) if not column.find_ancestor(exp.Subquery)]
    firsts = [column.parts[0].name.lower() for column in columns]
    return [name for name in firsts if name not in bound]
