"""The options that verbs share, and how their values are parsed."""

from __future__ import annotations

import re
import shlex
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from ostinato.cli.failures import write_option
from ostinato.errors import Message, QueryError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ostinato.patterns.query import PatternQuery
    from ostinato.rules.program import RuleProgram
    from ostinato.spark.kafka import Topic
    from ostinato.sql.query import SqlQuery
    from ostinato.xseq.query import XSeqQuery

    Compiled = PatternQuery | RuleProgram | SqlQuery | XSeqQuery

KINDS = ("number", "string", "boolean", "timestamp")
TOPIC = "kafka://"  # what an input begins with that is a topic


class OnError(StrEnum):
    RAISE = "raise"
    SKIP = "skip"
    COLLECT = "collect"


class EngineName(StrEnum):
    EMBEDDED = "embedded"
    SPARK = "spark"


class Language(StrEnum):
    CEL = "cel"
    SREM = "srem"
    RULES = "rules"
    XSEQ = "xseq"
    SQL = "sql"


class PatternLanguage(StrEnum):
    CEL = "cel"
    SREM = "srem"


class MatchChoice(StrEnum):
    ALL = "all"
    LONGEST = "longest"


class Form(StrEnum):
    PARQUET = "parquet"
    JSONL = "jsonl"
    CSV = "csv"


QueryFile = Annotated[str | None, typer.Argument(metavar="QUERY", help="File with the query.", show_default=False)]
QueryText = Annotated[
    str | None, typer.Option("--query", "-q", metavar="TEXT", help="The query itself, instead of a file.")
]
LanguageChoice = Annotated[
    Language | None,
    typer.Option(
        "--language",
        help="What the query is written in [dim]\\[by its file: *.srem, *.rules, *.xseq, *.sql, else cel][/].",
    ),
]


def input_option(help: str) -> Any:
    """The option that names what is read."""
    return typer.Option("--input", "-i", metavar="FILE", help=help, show_default=False)


def output_option(help: str, metavar: str = "FILE") -> Any:
    """The option that names what is written."""
    return typer.Option("--output", "-o", metavar=metavar, help=help, show_default=False)


_FILES = "Events: .parquet, .csv, .jsonl or .arrow files, "
FileInputs = Annotated[list[str] | None, input_option(f"{_FILES}or folders of them.")]
Inputs = Annotated[list[str] | None, input_option(f"{_FILES}folders of them, or - for standard input.")]
TableInputs = Annotated[list[str] | None, input_option(f"{_FILES}or folders of them; for SQL also NAME=FILE.")]
MoreInputs = Annotated[list[str] | None, typer.Argument(metavar="FILE", hidden=True)]
TimeColumn = Annotated[
    str | None, typer.Option("--time", metavar="COLUMN", help="Column of event times [dim]\\[ts][/].")
]
TypeColumn = Annotated[
    str | None, typer.Option("--type", metavar="COLUMN", help="Column of event types [dim]\\[type][/].")
]


GivenTables = Annotated[
    list[str] | None,
    typer.Option(
        "--table",
        metavar="NAME=FILE",
        help="Rules: rows of a table (TABLE … KEY …) that hold from the start; for each such table.",
        show_default=False,
    ),
]
NAMED_FILE = re.compile(r"([^\W\d]\w*)=(.+)", re.DOTALL)


def _help(of: str, text: str) -> str:
    return f"{of}: {text}" if of else text[0].upper() + text[1:]


def begin_option(of: str = "") -> Any:
    """This and the next are options of rules: `of` says so in the help of verbs for all languages."""
    return typer.Option("--begin", metavar="COLUMN", help=_help(of, "column of when events begin [dim]\\[begin][/]."))


def end_option(of: str = "") -> Any:
    return typer.Option("--end", metavar="COLUMN", help=_help(of, "column of when events end [dim]\\[end][/]."))


def document_option(of: str = "") -> Any:
    return typer.Option("--document", metavar="COLUMN", help=_help(of, "column whose JSON or XML texts are events."))


def _check_duration(given: str | None) -> str | None:
    if given is not None:
        from ostinato.core.units import parse_duration

        try:
            parse_duration(given)
        except QueryError as error:
            usage(f"{error.reason}; {error.fix}")
    return given


def longest_option(of: str = "") -> Any:
    text = _help(of, "how long an event lasts at most, which bounds memory.")
    return typer.Option("--longest", metavar="DURATION", callback=_check_duration, help=text)


Matches = Annotated[
    MatchChoice | None,
    typer.Option(
        "--matches", help="XSeq: every match, or only those that no other one continues [dim]\\[all][/].",
        show_default=False,
    ),
]  # fmt: skip
SchemaFile = Annotated[
    Path | None,
    typer.Option("--schema", metavar="FILE", help="XSeq: what can occur: a .dtd, an .xsd or a sample .xml file."),
]
Kinds = Annotated[
    list[str] | None,
    typer.Option(
        "--kind",
        metavar="COLUMN=KIND",
        help=f"What a column of text or a topic holds ({', '.join(KINDS)}); other values make bad rows. Repeatable.",
        show_default=False,
    ),
]
_ON_ERROR = "At rows that cannot be read: stop, skip them, or skip and list them."
ErrorMode = Annotated[OnError, typer.Option("--on-error", help=_ON_ERROR)]
PositionErrorMode = Annotated[OnError, typer.Option("--on-error", help=f"{_ON_ERROR} Skipped rows have no position.")]
Lateness = Annotated[
    str | None,
    typer.Option(
        "--lateness",
        metavar="DURATION",
        callback=_check_duration,
        help="How late events may come, such as '30 seconds'.",
    ),
]
EngineChoice = Annotated[EngineName, typer.Option("--engine", help="What runs the query: this process, or Spark.")]
Master = Annotated[
    str | None,
    typer.Option("--master", metavar="URL", help="With Spark: where it runs, such as 'local[4]' [dim]\\[local[*]][/]."),
]
FormChoice = Annotated[
    Form | None,
    typer.Option("--format", help="With Spark: how results are written [dim]\\[by the extension, or parquet][/]."),
]
Stream = Annotated[
    bool, typer.Option("--stream", help="With Spark: watch the folder for new files, or the topic for messages.")
]
Once = Annotated[bool, typer.Option("--once", help="With --stream: stop when all existing input is read.")]
Checkpoint = Annotated[
    Path | None,
    typer.Option("--checkpoint", metavar="FOLDER", help="With --stream: its state [dim]\\[OUTPUT/_checkpoint][/]."),
]


def usage(message: str) -> NoReturn:
    raise typer.BadParameter(message)


def compile_arguments(
    query: str | None,
    more: list[str] | None,
    text: str | None,
    inputs: list[str] | None,
    language: Language | None,
    matches: MatchChoice | None = None,
    schema: Path | None = None,
) -> tuple[Compiled, list[str]]:
    """The compiled query, and the names of its inputs. `matches` and `schema` are for XSeq.

    A shell expands `--input *.csv` to `--input a.csv b.csv`; the files after the first arrive as plain arguments,
    and with -q so does what looks like the name of a query file.
    """
    files = [*(inputs or ()), *(more or ())]
    if text is not None:
        files += [query] if query is not None else []
        return compile_query(text, language or _language(text), matches, schema), files
    if query is None:
        usage("give a query: the name of a file, or the text after -q")
    by_name = {".srem": Language.SREM, ".rules": Language.RULES, ".xseq": Language.XSEQ, ".sql": Language.SQL}
    language = language or by_name.get(Path(query).suffix.lower(), Language.CEL)
    return compile_query(read_query(query), language, matches, schema), files


def _language(text: str) -> Language:
    """Of a query that is given as text."""
    return Language.SQL if re.search(r"\bmatch_recognize\b", text, re.IGNORECASE) else Language.CEL


def read_query(query: str) -> str:
    """The text of a query in a file."""
    try:
        return Path(query).read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        looks_like_text = any(char.isspace() for char in query)
        fix = f"to give the text itself: -q {shlex.quote(query)}" if looks_like_text else "check the name of the file"
        raise QueryError(f"there is no query file `{query}`", fix=fix) from None
    except IsADirectoryError:
        fix = "name one of the files in it; a folder of queries is run by: ostinato detect FOLDER --input FILE"
        raise QueryError(f"`{query}` is a folder", fix=fix) from None
    except UnicodeDecodeError:
        raise QueryError(f"`{query}` is not a text file", fix="the query comes first, then --input FILE") from None


def compile_query(
    text: str, language: Language, matches: MatchChoice | None = None, schema: Path | None = None
) -> Compiled:
    import ostinato

    if language is Language.XSEQ:
        return ostinato.xseq(text, matches=(matches or MatchChoice.ALL).value, schema=schema)
    if matches is not None or schema is not None:
        usage("--matches and --schema are for queries in XSeq")
    if language is Language.RULES:
        return ostinato.rules(text)
    if language is Language.SQL:
        return ostinato.sql(text)
    return ostinato.srem(text) if language is Language.SREM else ostinato.cel(text)


def topic_or_files(inputs: list[str], *, spark_stream: bool) -> tuple[str | None, list[Path]]:
    """A topic, which is for a stream on Spark, or files."""
    if not inputs:
        usage("events are missing: --input FILE")
    topic = inputs[0] if spark_stream and inputs[0].startswith(TOPIC) else None
    files = parse_files(inputs[1:] if topic else inputs)
    if topic and files:
        usage("a topic is read alone: leave out the files")
    return topic, files


def parse_files(inputs: Iterable[str]) -> list[Path]:
    for each in inputs:
        if each.startswith(TOPIC):
            how = f"--engine spark --stream --input {TOPIC}…"
            usage(f"{each} is a topic, which only a stream on Spark reads, one at a time: {how}")
    return [Path(each) for each in inputs]


def parse_topic(
    url: str, kinds: dict[str, str], wanted: set[str], time: str | None, type: str | None
) -> tuple[Topic, dict[str, str]]:
    """A topic and the kinds of all its columns."""
    from ostinato.spark.kafka import Topic, event_columns

    try:
        return Topic.parse(url), event_columns(kinds, wanted, time, type)
    except ValueError as error:
        usage(Message(*error.args).render(write_option))


def parse_kinds(given: list[str] | None) -> dict[str, str]:
    pairs = [text.rpartition("=") for text in given or ()]
    for column, _, kind in pairs:
        if not column or kind not in KINDS:
            usage(f"--kind is COLUMN=KIND with a kind among {', '.join(KINDS)}")
    return {column: kind for column, _, kind in pairs}


def check_embedded(files: Sequence[Path], output: Path | None, form: Form | None, *, spark_only: bool) -> None:
    """Options that are for Spark, or for standard input and output, are given only there."""
    from ostinato.files.stdio import STANDARD

    if spark_only:
        usage("--master, --stream, --once and --checkpoint are for --engine spark")
    if form and STANDARD not in (*files, output):
        usage("--format is for --engine spark, and for standard input and output: other files have it in their names")
    if STANDARD in files and len(files) > 1:
        usage("standard input is read alone: leave out the files")


def check_output(output: Path | None, files: Iterable[Path], *, spark: bool, standard: bool = True) -> None:
    """Before anything is read: the name of the output tells its format, and the output is not an input."""
    from ostinato.files.encode import EXTENSIONS

    if output is None:
        return
    if any(_same(output, file) for file in files):
        usage(f"--output {output} is one of the input files")
    if output == Path("-") and standard:
        if spark:
            usage("standard output is not for --engine spark")
        return
    if not spark and output.suffix.lower() not in EXTENSIONS:
        usage(f"--output {output} must end in one of {', '.join(EXTENSIONS)}")


def _same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def print_warnings(query: Compiled) -> None:
    for warning in query.warnings:
        typer.echo(f"{typer.style('warning', fg='yellow', bold=True)}: {warning}", err=True)
