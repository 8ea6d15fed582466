"""`ostinato xseq`: patterns of elements, found in XML and JSON documents."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostinato.cli.failures import report_errors
from ostinato.cli.options import (
    EngineChoice,
    EngineName,
    Language,
    Master,
    MatchChoice,
    Matches,
    MoreInputs,
    OnError,
    SchemaFile,
    check_output,
    compile_query,
    input_option,
    output_option,
    print_warnings,
    read_query,
    usage,
)
from ostinato.errors import QueryError

if TYPE_CHECKING:
    from ostinato.xseq.limits import XSeqLimits
    from ostinato.xseq.query import XSeqQuery

EXTENSION = ".xseq"


class DocumentFormat(StrEnum):
    XML = "xml"
    JSON = "json"
    JSONL = "jsonl"


class Doctype(StrEnum):
    REFUSE = "refuse"
    SKIP = "skip"


@report_errors
def xseq(
    query: Annotated[
        str | None,
        typer.Argument(metavar="QUERY", help="The query, or its file: *.xseq or @FILE.", show_default=False),
    ] = None,
    more: MoreInputs = None,
    text: Annotated[
        str | None, typer.Option("--query", "-q", metavar="TEXT", help="The query itself; nothing is taken as a file.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        input_option(
            "Documents: XML, JSON or JSON lines files, also compressed, folders of them, or - for standard input."
        ),
    ] = None,
    output: Annotated[Path | None, output_option("Write the rows here; the extension sets the format.")] = None,
    matches: Matches = None,
    schema: SchemaFile = None,
    format: Annotated[
        DocumentFormat | None,
        typer.Option("--format", help="What documents are [dim]\\[by the extension, else how they begin][/]."),
    ] = None,
    column: Annotated[
        str | None,
        typer.Option("--column", metavar="COLUMN", help="Inputs are tables; this column holds a document in each row."),
    ] = None,
    doctype: Annotated[
        Doctype, typer.Option("--doctype", help="At a DOCTYPE: refuse the document, or skip it and expand nothing.")
    ] = Doctype.REFUSE,
    encoding: Annotated[
        str | None, typer.Option("--encoding", metavar="NAME", help="How documents are written, if they do not say so.")
    ] = None,
    namespace: Annotated[
        list[str] | None,
        typer.Option("--namespace", metavar="PREFIX=URI", help="What a prefix in the query stands for. Repeatable."),
    ] = None,
    root: Annotated[
        str | None, typer.Option("--root", metavar="NAME", help="JSON: name of the root element [dim]\\[json][/].")
    ] = None,
    record: Annotated[
        str | None, typer.Option("--record", metavar="NAME", help="JSON: name of the records [dim]\\[item][/].")
    ] = None,
    on_error: Annotated[
        OnError,
        typer.Option("--on-error", help="At documents and lines that cannot be read: stop, skip, or skip and list."),
    ] = OnError.RAISE,
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="End after N rows.")] = None,
    sort: Annotated[
        bool, typer.Option("--sort", help="Rows in document order; the answer is held in memory for it.")
    ] = False,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="LIMIT=N", help="Allow more than usual, such as depth=50000. Repeatable."),
    ] = None,
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
) -> None:
    """Find patterns of elements in XML and JSON documents: sequences, repetitions, values compared along them.

    Documents are read once, in pieces, and may be larger than memory (ostinato explain says what is kept).
    Rows are written as soon as they are certain. Without --output the first are printed.
    A shell changes $X and \\ in double quotes: put a query in single quotes, or into a file.

    [dim]Examples:[/]
    [cyan]ostinato xseq '//daughter/son/@Bdate' --input family.xml[/]
    [cyan]ostinato xseq falling.xseq --input nasdaq.xml --output falling.parquet --matches longest[/]
    [cyan]ostinato xseq 'return $X@id, count($Y) from //$X (\\ $Y)*' --input a.xml b.xml[/]
    [cyan]ostinato xseq q.xseq --input documents/ --on-error collect[/]
    [cyan]curl https://example.org/log.jsonl.gz | ostinato xseq q.xseq --input -[/]
    """
    tree = _xseq_query(query, text, matches, schema)
    given = [*(inputs or ()), *(more or ()), *([query] if text is not None and query is not None else ())]
    if not given:
        usage("documents are missing: --input FILE")
    check_output(output, [Path(each) for each in given if each != "-"], spark=engine is EngineName.SPARK)
    options: dict[str, Any] = {
        "format": format.value if format else None,
        "doctype": doctype.value,
        "encoding": encoding,
        "namespaces": _namespaces(namespace),
        "root": root,
        "record": record,
    }
    options = {name: value for name, value in options.items() if value is not None}
    print_warnings(tree)
    limits = _limits(most)
    if engine is EngineName.SPARK:
        if sort or "-" in given:
            usage(f"{'--sort' if sort else 'standard input'} is not for --engine spark")
        from ostinato.cli.jobs.spark.xseq import XSeqSparkJob

        options |= {"on_error": on_error.value, "limits": limits}
        XSeqSparkJob(tree, given, column, options, master, limit).run(output)
        return
    if master:
        usage("--master is for --engine spark")
    from ostinato.cli.jobs.xseq import XSeqJob

    XSeqJob(tree, given, column, options, on_error.value, limits, limit, sort).run(output)


def check_xseq(query: XSeqQuery) -> str:
    """What `ostinato check` says of a query over documents, once it is known to be right."""
    print_warnings(query)
    names = ", ".join(query.columns)
    how = "one pass" if query.compiled.stream is not None else "keeps parts of a document in memory"
    return f"ok: returns {names}; {how}"


def _xseq_query(query: str | None, text: str | None, matches: MatchChoice | None, schema: Path | None) -> XSeqQuery:
    """A query is text, unless its name says that it is a file: a path and the name of a file look too much alike."""
    from ostinato.xseq.query import XSeqQuery

    written = text if text is not None else query
    if written is None:
        usage(f"give a query in single quotes, or the name of a file that ends in {EXTENSION}")
    if text is None and ((written.startswith("@") and len(written) > 1) or written.lower().endswith(EXTENSION)):
        found = compile_query(read_query(written.removeprefix("@")), Language.XSEQ, matches, schema)
    else:
        try:
            found = compile_query(written, Language.XSEQ, matches, schema)
        except QueryError as error:
            raise _after_the_shell(error, written) from None
    assert isinstance(found, XSeqQuery)
    return found


def _after_the_shell(error: QueryError, text: str) -> QueryError:
    """A query that returns something has variables; if it has none, the shell took them."""
    if "$" in text or not text.lower().lstrip().startswith("return"):
        return error
    fix = "in double quotes the shell replaces $X: put the query in single quotes, or into a file that ends in .xseq"
    return error.replace(fix=fix)


def _namespaces(given: list[str] | None) -> dict[str, str] | None:
    pairs = [text.partition("=") for text in given or ()]
    for prefix, equals, uri in pairs:
        if not equals or (prefix and not uri):
            usage("--namespace is PREFIX=URI, such as --namespace svg=http://www.w3.org/2000/svg")
    return {prefix: uri for prefix, _, uri in pairs} or None


def _limits(given: list[str] | None) -> XSeqLimits:
    from ostinato.cli.jobs.xseq import LIMITS
    from ostinato.xseq.limits import XSeqLimits

    pairs = [text.partition("=") for text in given or ()]
    for name, _, number in pairs:
        if name not in LIMITS or not number.isdecimal() or not int(number):
            usage(f"--max is LIMIT=N with a limit among {', '.join(LIMITS)}, and a whole number")
    return XSeqLimits(**{name: int(number) for name, _, number in pairs})
