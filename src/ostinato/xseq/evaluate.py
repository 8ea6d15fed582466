"""From a document to rows: tokens are read and evaluated chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from ostinato.core.options import bad_option
from ostinato.documents.formats import Format
from ostinato.documents.tokens import Tokens
from ostinato.errors import DataError, Limit, LimitError, Message, Option
from ostinato.xseq.compile import CompiledXSeq
from ostinato.xseq.limits import XSeqLimits
from ostinato.xseq.runtime.rows import MatchRows

if TYPE_CHECKING:
    from ostinato.core.stopwatch import Stopwatch
    from ostinato.documents.chunked_source import ChunkedSource
    from ostinato.documents.json.tokeniser import JsonSource
    from ostinato.documents.xml.tokeniser import XmlSource

CHUNK = 1 << 20  # bytes that are read at a time


def open_tokens(
    compiled: CompiledXSeq,
    document: Any,
    format: Format,
    limits: XSeqLimits,
    *,
    doctype: Literal["refuse", "skip"] = "refuse",
    encoding: str | None = None,
    namespaces: Mapping[str, str] | None = None,
    root: str = "json",
    record: str = "item",
    on_error: Literal["raise", "skip"] = "raise",
    name: str | None = None,
    chunk_size: int | None = None,
    whole: bool = False,
) -> XmlSource | JsonSource:
    """A source of tokens that hands on what the query needs, or all of them (`whole`)."""
    if on_error not in ("raise", "skip"):
        raise bad_option("on_error", on_error, '"raise" or "skip"; "collect" is for many documents')
    if doctype not in ("refuse", "skip"):
        raise bad_option("doctype", doctype, '"refuse" or "skip"')
    for option, value in (("root", root), ("record", record)):
        if not isinstance(value, str) or value == "":  # type: ignore[redundant-expr]
            raise bad_option(option, value, "a name")
    if namespaces is not None and not isinstance(namespaces, Mapping):
        raise bad_option("namespaces", namespaces, "prefixes and the names they stand for, as a dict")
    stream = compiled.stream
    wanted: dict[str, Any] = {"encoding": encoding, "name": name, "chunk_size": chunk_size or CHUNK}
    if stream is not None and not whole:
        text, attributes = stream.wants_text, stream.wanted_attributes
        if compiled.schema is not None:  # the schema may have left out steps, which must not be possible
            from ostinato.xseq.runtime.conformance import required_parts

            steps = required_parts(compiled.written.path)
            text |= steps.text
            if attributes is not None and steps.attributes is not None:
                attributes |= {name.encode() for name in steps.attributes}
            else:
                attributes = None
        wanted |= {"text": text, "attributes": attributes, "names": stream.first_names}
    if format == "xml":
        from ostinato.documents.xml.tokeniser import XmlLimits, XmlSource

        bounds = XmlLimits(depth=limits.depth, token=limits.token, attributes=limits.attributes, names=limits.names)
        return XmlSource(document, doctype=doctype, namespaces=namespaces, limits=bounds, **wanted)
    if namespaces is not None:
        raise DataError("JSON has no namespaces", fix=Message("leave out ", Option("namespaces", None)))
    from ostinato.documents.json.tokeniser import JsonLimits, JsonSource

    return JsonSource(
        document, lines=format == "jsonl", root=root, record=record, on_error=on_error,
        limits=JsonLimits(depth=limits.depth, names=limits.names), **wanted,
    )  # fmt: skip


def _check_sizes(tokens: Tokens, most: int) -> None:
    """No text or attribute is larger than the limit; where the chunk is not, none can be."""
    if tokens.buffer.size > most and tokens.kind.size and int((tokens.end - tokens.start).max()) > most:
        raise LimitError(
            "token",
            most,
            reason="a text or an attribute is too large",
            fix=Message("raise the limit, ", Limit("token", "XSeqLimits"), ", if the document is meant to be so"),
        )


def evaluate_document(
    compiled: CompiledXSeq, source: ChunkedSource[Any], limits: XSeqLimits, clock: Stopwatch, *, texts: bool = True
) -> Iterator[MatchRows]:
    """The matches of one document, as soon as they are certain; use each before you ask for the next.

    Without `texts` texts are left empty, which is enough to count rows.
    """
    evaluator = compiled.evaluator(limits, clock, texts=texts)
    check = None
    if compiled.schema is not None:
        from ostinato.xseq.runtime.conformance import ConformanceCheck, required_parts

        check = ConformanceCheck(compiled.schema, required_parts(compiled.written.path))
    used = 0
    while (tokens := source.read(min(evaluator.keep_from, used))) is not None:
        clock.check()
        evaluator.shift(source.moved)
        used = tokens.used
        _check_sizes(tokens, limits.token)
        if check is not None:
            check.push(tokens, source)
        yield from evaluator.push(tokens, source.names)
    yield from evaluator.finish()
    if compiled.stream is not None and evaluator.is_small:
        compiled.stream.idle.append(evaluator)  # it has come to the end of a document, and can begin another
