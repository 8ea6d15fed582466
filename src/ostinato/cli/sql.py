"""What `ostinato detect`, `check` and `explain` do with a query in SQL: its tables come from files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.cli.options import check_output, parse_files, print_warnings, usage
from ostinato.core.text.counts import format_count

if TYPE_CHECKING:
    from ostinato.cli.jobs.sql import SqlJob
    from ostinato.cli.options import Form
    from ostinato.sql.query import SqlQuery

_NAMED = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)


def refuse_options(*, for_spark: bool = False, **options: object) -> None:
    """Options of `detect` that are for other languages, or for Spark; none may be given."""
    for name, value in options.items():
        if value:
            usage(f"--{name.replace('_', '-')} is {'for --engine spark' if for_spark else 'not for queries in SQL'}")


def run_sql(query: SqlQuery, inputs: Sequence[str], output: Path | None, form: Form | None) -> None:
    from ostinato.files.stdio import STANDARD

    _check_inputs(inputs)
    files = _files_by_table(query, inputs)
    given = [file for each in files.values() for file in each]
    check_output(output, given, spark=False)
    if form and STANDARD not in given:
        usage("--format is for --engine spark, and for standard input: other files have it in their names")
    print_warnings(query)
    with _job(query, files, form) as job:
        job.run(output)


def run_sql_on_spark(
    query: SqlQuery,
    inputs: Sequence[str],
    output: Path | None,
    form: Form | None,
    master: str | None,
    *,
    stream: bool,
    on_stream: Mapping[str, Any],
) -> None:
    """`on_stream`: lateness, once and checkpoint, which are for streams."""
    from ostinato.files.stdio import STANDARD

    _check_inputs(inputs)
    files = _files_by_table(query, inputs)
    given = [file for each in files.values() for file in each]
    check_output(output, given, spark=True)
    if STANDARD in given:
        usage("standard input is not for --engine spark")
    if not stream and (options := [name for name, value in on_stream.items() if value]):
        usage(f"--{options[0]} is for --stream")
    print_warnings(query)
    from ostinato.cli.jobs.spark.sql import SparkSqlJob

    job = SparkSqlJob(query, files, master)
    if stream:
        job.stream(output, form, **on_stream)
    else:
        job.batch(output, form)


def _check_inputs(inputs: Sequence[str]) -> None:
    if not inputs:
        usage("tables are missing: --input FILE, or --input NAME=FILE for each")


def check_sql(query: SqlQuery, inputs: Sequence[str]) -> str:
    """What `ostinato check` says of a query, once it is known to be right, and to fit the files."""
    print_warnings(query)
    clauses = format_count(len(query.query.clauses), "clause")
    reads = ", ".join(query.tables) or "no tables"
    if not inputs:
        return f"ok: {clauses} of MATCH_RECOGNIZE, reads {reads}"
    with _job(query, _files_by_table(query, inputs), None) as job:
        columns = job.check()
    return f"ok: {clauses} of MATCH_RECOGNIZE, reads {reads}; gives {', '.join(columns)}"


@contextmanager
def _job(query: SqlQuery, files: Mapping[str, list[Path]], form: Form | None) -> Iterator[SqlJob]:
    """With standard input, which one table may be, as a file."""
    from ostinato.cli.jobs.sql import SqlJob
    from ostinato.files.stdio import STANDARD, spool_standard_input

    given = [file for each in files.values() for file in each]
    if given.count(STANDARD) > 1:
        usage("standard input is read once: give another table as a file")
    with ExitStack() as stack:
        read = {name: stack.enter_context(spool_standard_input(each, form)) for name, each in files.items()}
        yield SqlJob(query, read)


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
