"""What `ostinato detect`, `check` and `explain` do with a query in SQL: its tables come from files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ostinato.cli.options import check_output, parse_files, print_warnings, usage
from ostinato.core.text.counts import format_count

if TYPE_CHECKING:
    from ostinato.cli.jobs.sql import SqlJob
    from ostinato.sql.query import SqlQuery

_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)


def run_sql(query: SqlQuery, inputs: Sequence[str], output: Path | None, **options: object) -> None:
    """`options`: those of `detect` that are for other languages, or for Spark; none may be given."""
    for name, value in options.items():
        if value:
            usage(f"--{name.replace('_', '-')} is not for queries in SQL")
    if not inputs:
        usage("tables are missing: --input FILE, or --input NAME=FILE for each")
    job = _job(query, inputs)
    check_output(output, [file for files in job.files.values() for file in files], spark=False)
    print_warnings(query)
    job.run(output)


def check_sql(query: SqlQuery, inputs: Sequence[str]) -> str:
    """What `ostinato check` says of a query, once it is known to be right, and to fit the files."""
    print_warnings(query)
    clauses = format_count(len(query.query.clauses), "clause")
    reads = ", ".join(query.tables) or "no tables"
    if not inputs:
        return f"ok: {clauses} of MATCH_RECOGNIZE, reads {reads}"
    columns = _job(query, inputs).check()
    return f"ok: {clauses} of MATCH_RECOGNIZE, reads {reads}; gives {', '.join(columns)}"


def _job(query: SqlQuery, inputs: Sequence[str]) -> SqlJob:
    from ostinato.cli.jobs.sql import SqlJob

    return SqlJob(query, _files_by_table(query, inputs))


def _files_by_table(query: SqlQuery, inputs: Sequence[str]) -> Mapping[str, list[Path]]:
    """Files of each table: `NAME=FILE`, or a file alone for the only table."""
    found: dict[str, list[Path]] = {}
    for each in inputs:
        named = None if Path(each).exists() else _NAMED.fullmatch(each)
        if named is not None:
            found.setdefault(named[1], []).extend(parse_files([named[2]]))
        elif len(query.tables) == 1:
            found.setdefault(query.tables[0], []).extend(parse_files([each]))
        else:
            names = " and ".join(f"--input {name}=FILE" for name in query.tables)
            usage(f"the query reads {', '.join(query.tables) or 'no table'}: say which file is which table, {names}")
    return found
