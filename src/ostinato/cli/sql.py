"""What `ostinato detect`, `check` and `explain` do with a query in SQL: its tables come from files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ostinato.cli.options import NAMED_FILE, check_output, parse_files, print_warnings, usage
from ostinato.core.text.counts import format_count

if TYPE_CHECKING:
    from ostinato.cli.jobs.sql import SqlJob
    from ostinato.cli.options import Form
    from ostinato.files.reader import OnError
    from ostinato.sql.limits import SqlLimits
    from ostinato.sql.query import SqlQuery


# Options of `detect` that are for patterns, and what to write instead.
_INSTEAD = {
    "time": "ORDER BY says what the time is",
    "type": "compare it in DEFINE, as in DEFINE a AS type = 'A'",
    "order_by": "write it in ORDER BY, after the time",
    "events": "write ALL ROWS PER MATCH",
    "identity": "write MEASURES MATCH_NUMBER() AS number, which counts the matches of a partition",
    "sort": "leave it out: rows are always put in the order of ORDER BY",
    "limit_matches": "write LIMIT at the end of the query, or give --limit-seconds",
}


@dataclass(frozen=True)
class SqlReading:
    """How the tables are read: `kinds` says what columns of text files hold, in whichever table has them."""

    kinds: Mapping[str, str] = field(default_factory=dict)
    on_error: OnError = "raise"
    limits: SqlLimits | None = None


def refuse_options(**options: object) -> None:
    for name, value in options.items():
        if value:
            usage(f"--{name.replace('_', '-')} is not for queries in SQL; {_INSTEAD[name]}")


def refuse_spark_options(**options: object) -> None:
    for name, value in options.items():
        if value:
            usage(f"--{name} is for --engine spark")


def run_sql(
    query: SqlQuery, inputs: Sequence[str], reading: SqlReading, output: Path | None, form: Form | None, *, count: bool
) -> None:
    from ostinato.files.stdio import STANDARD

    files = _checked_files(query, inputs, output, spark=False, count=count)
    if form and not any(STANDARD in each for each in files.values()):
        usage("--format is for --engine spark, and for standard input: other files have it in their names")
    print_warnings(query)
    with _job(query, files, reading, form) as job:
        if count:
            job.count()
        else:
            job.run(output)


def run_sql_on_spark(
    query: SqlQuery,
    inputs: Sequence[str],
    reading: SqlReading,
    output: Path | None,
    form: Form | None,
    master: str | None,
    *,
    count: bool,
    stream: bool,
    on_stream: Mapping[str, Any],
) -> None:
    """`on_stream`: lateness, once and checkpoint, which are for streams."""
    from ostinato.files.stdio import STANDARD

    files = _checked_files(query, inputs, output, spark=True, count=count)
    if any(STANDARD in each for each in files.values()):
        usage("standard input is not for --engine spark")
    if reading.on_error == "collect":
        usage("--on-error collect is not for --engine spark")
    if stream and count:
        usage("--count is not for --stream, which has no end")
    if not stream and (options := [name for name, value in on_stream.items() if value]):
        usage(f"--{options[0]} is for --stream")
    print_warnings(query)
    from ostinato.cli.jobs.spark.sql import SparkSqlJob

    job = SparkSqlJob(query, files, master, reading.kinds, reading.on_error, reading.limits)
    if count:
        job.count()
    elif stream:
        job.stream(output, form, **on_stream)
    else:
        job.batch(output, form)


def _checked_files(
    query: SqlQuery, inputs: Sequence[str], output: Path | None, *, spark: bool, count: bool
) -> Mapping[str, list[Path]]:
    if not inputs:
        usage("tables are missing: --input FILE, or --input NAME=FILE for each")
    if count and output is not None:
        usage("--count prints a number; leave out --output")
    files = _files_by_table(query, inputs)
    check_output(output, [file for each in files.values() for file in each], spark=spark)
    return files


def check_sql(query: SqlQuery, inputs: Sequence[str]) -> str:
    """What `ostinato check` says of a query, once it is known to be right, and to fit the files."""
    print_warnings(query)
    clauses = format_count(len(query.query.clauses), "clause")
    reads = ", ".join(query.tables) or "no tables"
    if not inputs:
        return f"ok: {clauses} of MATCH_RECOGNIZE, reads {reads}"
    with _job(query, _files_by_table(query, inputs), SqlReading(), None) as job:
        columns = job.check()
    return f"ok: {clauses} of MATCH_RECOGNIZE, reads {reads}; gives {', '.join(columns)}"


@contextmanager
def _job(query: SqlQuery, files: Mapping[str, list[Path]], reading: SqlReading, form: Form | None) -> Iterator[SqlJob]:
    """With standard input, which one table may be, as a file."""
    from ostinato.cli.jobs.sql import SqlJob
    from ostinato.files.stdio import STANDARD, spool_standard_input

    given = [file for each in files.values() for file in each]
    if given.count(STANDARD) > 1:
        usage("standard input is read once: give another table as a file")
    with ExitStack() as stack:
        read = {name: stack.enter_context(spool_standard_input(each, form)) for name, each in files.items()}
        yield SqlJob(query, read, reading.kinds, reading.on_error, reading.limits)


def _files_by_table(query: SqlQuery, inputs: Sequence[str]) -> Mapping[str, list[Path]]:
    """Files of each table: `NAME=FILE`, or a file alone for the only table."""
    found: dict[str, list[Path]] = {}
    for each in inputs:
        named = None if Path(each).exists() else NAMED_FILE.fullmatch(each)
        if named is not None:
            found.setdefault(named[1], []).extend(parse_files([named[2]]))
        elif len(query.tables) == 1:
            found.setdefault(query.tables[0], []).extend(parse_files([each]))
        else:
            names = " and ".join(f"--input {name}=FILE" for name in query.tables)
            usage(f"the query reads {', '.join(query.tables) or 'no table'}: say which file is which table, {names}")
    return found
