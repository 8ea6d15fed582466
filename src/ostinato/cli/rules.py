"""`ostinato rules`: events derived from files of events by a program of rules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ostinato.cli.failures import report_errors
from ostinato.cli.options import (
    NAMED_FILE,
    Checkpoint,
    EngineChoice,
    EngineName,
    ErrorMode,
    Form,
    GivenTables,
    Kinds,
    Language,
    Lateness,
    Master,
    MoreInputs,
    Once,
    OnError,
    Stream,
    TimeColumn,
    TypeColumn,
    begin_option,
    check_embedded,
    check_output,
    compile_arguments,
    document_option,
    end_option,
    input_option,
    longest_option,
    output_option,
    parse_files,
    parse_kinds,
    parse_topic,
    print_warnings,
    topic_or_files,
    usage,
)
from ostinato.core.text.counts import format_count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from ostinato.rules.program import RuleProgram
    from ostinato.spark.kafka import Topic


@report_errors
def rules(
    program: Annotated[
        str | None, typer.Argument(metavar="PROGRAM", help="File with the rules.", show_default=False)
    ] = None,
    more: MoreInputs = None,
    text: Annotated[
        str | None, typer.Option("--query", "-q", metavar="TEXT", help="The rules themselves, instead of a file.")
    ] = None,
    inputs: Annotated[
        list[str] | None,
        input_option(
            "Events: .parquet, .csv, .jsonl or .arrow files, folders of them, or - for standard input; "
            "for a stream on Spark also a topic."
        ),
    ] = None,
    output: Annotated[
        Path | None, output_option("Write derived events here; the extension sets the format. - is standard output.")
    ] = None,
    begin: Annotated[str | None, begin_option()] = None,
    end: Annotated[str | None, end_option()] = None,
    time: TimeColumn = None,
    type: TypeColumn = None,
    document: Annotated[str | None, document_option()] = None,
    kind: Kinds = None,
    table: GivenTables = None,
    sort: Annotated[bool, typer.Option("--sort", help="Read everything first; events may be in any order.")] = False,
    on_error: ErrorMode = OnError.RAISE,
    lateness: Lateness = None,
    longest: Annotated[str | None, longest_option()] = None,
    engine: EngineChoice = EngineName.EMBEDDED,
    master: Master = None,
    form: Annotated[
        Form | None,
        typer.Option(
            "--format",
            help="What standard input and output hold [dim]\\[by how it begins; jsonl][/]; with Spark: how results are "
            "written [dim]\\[by the extension, or parquet][/].",
        ),
    ] = None,
    stream: Stream = False,
    once: Once = False,
    checkpoint: Checkpoint = None,
) -> None:
    """Derive events from events by a program of rules (DETECT … ON … END).

    Files are read piece by piece, in order of the ends of events, so they may be larger than memory.
    Without --output the first derived events are printed; those of standard input at once, as lines of JSON.

    [dim]Examples:[/]
    [cyan]ostinato rules plant.rules --input events.jsonl --output derived.jsonl[/]
    [cyan]ostinato rules plant.rules --input log.csv --begin since --end until --type kind --sort[/]
    [cyan]ostinato rules plant.rules --input *.jsonl --lateness "30 seconds" --longest "5 minutes"[/]
    [cyan]tail -f events.jsonl | ostinato rules plant.rules --input -[/]
    [cyan]ostinato rules vip.rules --input orders.parquet --table customers=customers.csv[/]
    [cyan]ostinato rules plant.rules --engine spark --input events/ --output derived/[/]
    """
    from ostinato.rules.program import RuleProgram

    compiled, inputs = compile_arguments(program, more, text, inputs, Language.RULES)
    assert isinstance(compiled, RuleProgram)
    topic, files = topic_or_files(inputs, spark_stream=engine is EngineName.SPARK and stream)
    from ostinato.files.stdio import STANDARD, spool_standard_input

    check_output(output, files, spark=engine is EngineName.SPARK)
    columns = {"begin": begin, "end": end, "time": time, "type": type, "document": document}
    kinds = parse_kinds(kind)
    tables = load_tables(compiled, table)
    if engine is EngineName.SPARK:
        if sort or on_error is OnError.COLLECT:
            usage(f"{'--sort' if sort else '--on-error collect'} is not for --engine spark")
        if STANDARD in files:
            usage("standard input is not for --engine spark")
        if not stream and (once or checkpoint or lateness or longest):
            usage("--once, --checkpoint, --lateness and --longest are for --stream; else Spark reads all at once")
        from ostinato.cli.jobs.rules import NOUN
        from ostinato.cli.jobs.spark.events import SparkJob

        source: Sequence[Path] | Topic = files
        if topic:
            kinds = dict.fromkeys(filter(None, (begin, end)), "timestamp") | kinds
            kinds |= {document: "string"} if document else {}
            source, kinds = parse_topic(topic, kinds, set() if document else _read(compiled), end or time, type)
        options: dict[str, Any] = {**columns}
        options |= {"tables": tables} if tables else {}
        options |= {"lateness": lateness or 0, "longest": longest} if stream else {}
        print_warnings(compiled)
        spark_job = SparkJob(compiled, source, master, kinds, on_error.value, options, NOUN)
        if stream:
            spark_job.stream(output, form, checkpoint=checkpoint, once=once)
        else:
            spark_job.batch(output, form)
        return
    check_embedded(files, output, form, spark_only=bool(master or stream or once or checkpoint))
    if sort and (lateness or longest):
        usage("--lateness and --longest are for files read piece by piece; --sort reads all of them first")
    print_warnings(compiled)
    from ostinato.cli.jobs.rules import RulesJob

    job = RulesJob(compiled, files, columns, kinds, on_error.value, tables)
    if STANDARD in files and not sort:
        job.live(output or STANDARD, form, lateness=lateness, longest=longest)
        return
    with spool_standard_input(files, form) as read:
        replace(job, files=read).run(output, form, sort=sort, lateness=lateness, longest=longest)


def load_tables(program: RuleProgram, given: Sequence[str] | None) -> dict[str, pa.Table]:
    """The rows of `--table NAME=FILE`, by name. What does not fit the program is said of these files."""
    found: dict[str, list[Path]] = {}
    for each in given or ():
        if (named := NAMED_FILE.fullmatch(each)) is None:
            usage(f"--table takes the name of a table and a file, --table customers=customers.csv, not {each}")
        found.setdefault(named[1], []).extend(parse_files([named[2]]))
    if not found:
        return {}
    from ostinato.cli.jobs.events import load, name_files, open_typed
    from ostinato.rules.runtime.given_rows import check_table, given_tables

    tables: dict[str, pa.Table] = {}
    for label, files in found.items():
        check_table(label, program.tables)
        with name_files(files):
            tables |= given_tables({label: load(open_typed(files, {}))}, program.tables)
    return tables


def check_rules(
    program: RuleProgram,
    files: Sequence[Path],
    columns: Mapping[str, str | None],
    kinds: Mapping[str, str],
    tables: Mapping[str, pa.Table],
) -> str:
    """What `ostinato check` says of rules, once they are known to be right, and to fit the files."""
    against = ""
    if files:
        from ostinato.cli.jobs.rules import RulesJob

        schema = RulesJob(program, files, columns, kinds, tables=tables).check_schema()
        against = f", fits the {format_count(len(schema), 'column')} of {', '.join(file.name for file in files)}"
    print_warnings(program)
    number = len(program.program.rules)
    derives = ", ".join(program.derived) or "nothing that is shown"
    if program.private:
        derives += f" (private: {', '.join(program.private)})"
    reads = ", ".join(label for label in program.incoming if label not in tables) or "nothing"
    for label, key in program.tables.items():
        reads += f", with {label} as a table by {', '.join(key)}"
    return f"ok: {number} rule{'s' if number != 1 else ''}, derives {derives} from {reads}{against}"


def _read(program: RuleProgram) -> set[str]:
    """The columns that query terms ask incoming events for."""
    from ostinato.rules.plan.normal_form import normalise
    from ostinato.rules.syntax.nodes import Bind, CelPattern, ChildQuery, Element, Optional, Position

    terms: list[ChildQuery] = []
    for rule in normalise(program.program):
        for literal in (*rule.events, *rule.collects, *rule.negations):
            if not isinstance(literal, CelPattern) and literal.term.label in program.incoming:
                terms += literal.term.children
    inner = [term.term if isinstance(term, Bind | Optional | Position) else term for term in terms]
    return {term.label for term in inner if isinstance(term, Element) and not term.is_regex}
