"""`ostinato check` and `explain`: what a query in any language means, before any event is read."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ostinato.cli.failures import report_errors
from ostinato.cli.forecast import explain_model_folder
from ostinato.cli.options import (
    EngineChoice,
    EngineName,
    FileInputs,
    GivenTables,
    Kinds,
    LanguageChoice,
    Master,
    Matches,
    MoreInputs,
    QueryFile,
    QueryText,
    SchemaFile,
    TableInputs,
    TimeColumn,
    TypeColumn,
    begin_option,
    compile_arguments,
    document_option,
    end_option,
    longest_option,
    parse_files,
    parse_kinds,
    usage,
)
from ostinato.cli.patterns import check_pattern
from ostinato.cli.rules import check_rules, load_tables
from ostinato.cli.sql import check_sql
from ostinato.cli.xseq import check_xseq

_OF_RULES = "Rules"


@report_errors
def check(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    language: LanguageChoice = None,
    inputs: TableInputs = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
    begin: Annotated[str | None, begin_option(_OF_RULES)] = None,
    end: Annotated[str | None, end_option(_OF_RULES)] = None,
    document: Annotated[str | None, document_option(_OF_RULES)] = None,
    kind: Kinds = None,
    table: GivenTables = None,
    matches: Matches = None,
    schema: SchemaFile = None,
) -> None:
    """Check a query before any event is read.

    With --input, names and types are checked against the columns of the files as well.

    [dim]Examples:[/]
    [cyan]ostinato check fires.cel[/]
    [cyan]ostinato check fires.cel --input events.parquet[/]
    [cyan]ostinato check falling.xseq --schema stocks.dtd[/]
    [cyan]ostinato check v.sql --input ticks=ticks.parquet[/]
    """
    from ostinato.patterns.query import PatternQuery
    from ostinato.sql.query import SqlQuery
    from ostinato.xseq.query import XSeqQuery

    compiled, inputs = compile_arguments(query, more, text, inputs, language, matches, schema)
    if table and isinstance(compiled, SqlQuery | XSeqQuery | PatternQuery):
        usage("--table is for rules")
    if isinstance(compiled, SqlQuery):
        if time or type or begin or end or document or kind:
            usage("--time, --type, --begin, --end, --document and --kind are not for queries in SQL")
        typer.echo(check_sql(compiled, inputs))
        return
    files = parse_files(inputs)
    if isinstance(compiled, XSeqQuery):
        if files or time or type or begin or end or document or kind:
            usage("an XSeq query has no columns to check; --schema FILE says what its documents hold")
        typer.echo(check_xseq(compiled))
        return
    if not isinstance(compiled, PatternQuery):
        named = {"begin": begin, "end": end, "time": time, "type": type, "document": document}
        typer.echo(check_rules(compiled, files, named, parse_kinds(kind), load_tables(compiled, table)))
        return
    if begin or end or document:
        usage("--begin, --end and --document are for rules")
    typer.echo(check_pattern(compiled, files, time, type, parse_kinds(kind)))


@report_errors
def explain(
    query: QueryFile = None,
    more: MoreInputs = None,
    text: QueryText = None,
    language: LanguageChoice = None,
    svg: Annotated[
        Path | None, typer.Option("--svg", metavar="FILE", help="Draw the automaton into this file (.svg or .dot).")
    ] = None,
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
    inputs: FileInputs = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
    longest: Annotated[str | None, longest_option(_OF_RULES)] = None,
    matches: Matches = None,
    schema: SchemaFile = None,
) -> None:
    """Show how a query is understood and compiled, stage by stage, and what Spark would do around it.

    For the folder of a model, show what was learned.

    [dim]Examples:[/]
    [cyan]ostinato explain fires.cel[/]
    [cyan]ostinato explain -q "A AS x ; B AS y" --svg automaton.svg[/]
    [cyan]ostinato explain fires.cel --engine spark --input events/[/]
    [cyan]ostinato explain model/[/]
    """
    from ostinato.rules.program import RuleProgram
    from ostinato.sql.query import SqlQuery
    from ostinato.xseq.query import XSeqQuery

    if query is not None and text is None and (text := explain_model_folder(query)) is not None:
        typer.echo(text)
        return

    compiled, inputs = compile_arguments(query, more, text, inputs, language, matches, schema)
    if isinstance(compiled, RuleProgram):
        if svg is not None or inputs or engine is EngineName.SPARK:
            usage("--svg, --engine and --input are for queries; the plan of rules is the same for every engine")
        typer.echo(compiled.explain(longest=longest))
        return
    if longest is not None:
        usage("--longest is for rules")
    if isinstance(compiled, SqlQuery):
        if svg is not None or inputs or engine is EngineName.SPARK:
            usage("--svg, --engine and --input are not for queries in SQL")
        typer.echo(compiled.explain())
        return
    files = parse_files(inputs)
    if (engine is EngineName.SPARK) != bool(files):
        usage("--engine spark and --input go together: what Spark does depends on the columns")
    if svg is not None and svg.suffix.lower() not in (".svg", ".dot", ".gv"):
        usage(f"--svg {svg} must end in .svg, .dot or .gv")
    if isinstance(compiled, XSeqQuery) and files:
        usage("--engine and --input are for queries of events; a document is read the same way wherever it is")
    if svg is not None:
        compiled.diagram().save(svg)
    if isinstance(compiled, XSeqQuery) or not files:
        typer.echo(compiled.explain())
        return
    from ostinato.cli.jobs.spark.events import SparkJob

    typer.echo(SparkJob(compiled, files, master, options={"time": time, "type": type}).explain())
