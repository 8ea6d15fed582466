"""What DuckDB says about a query or its data, as our own errors with their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import duckdb

from ostinato.errors import DataError, QueryError, Span, did_you_mean

_TYPES = {"INTEGER_LITERAL": "INTEGER"}


@contextmanager
def translate_errors(text: str, tables: Iterable[str]) -> Iterator[None]:
    """Errors of running a query; `tables` are those that there are."""
    try:
        yield
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise binding_error(text, str(error), None, tables) from None
    except duckdb.NotImplementedException as error:
        raise QueryError(_first_line(str(error)), text=text) from None
    except (duckdb.IOException, duckdb.PermissionException):
        fix = "read files first, and give their rows as tables"
        raise DataError("a query in SQL reads tables that it is given, and no files", fix=fix) from None
    except (duckdb.DataError, duckdb.InvalidInputException) as error:
        raise DataError(f"a value cannot be used: {_first_line(str(error))}") from error


def binding_error(
    text: str, message: str, span: Span | None, known: Iterable[str], columns: Iterable[str] = ()
) -> QueryError:
    """An error about names or types, at the name that DuckDB complains about, or else at `span`.

    `known` are the tables or pattern variables that may be meant, `columns` the columns, where all are known.
    """
    reason = _first_line(message)
    if found := re.search(r'Referenced table "([^"]+)" not found', reason):
        fix = did_you_mean(found[1], known)
        return _at(text, f"there is no table or pattern variable `{found[1]}`", found[1], span, fix)
    if found := re.search(r"Table with name (\S+) does not exist", reason):
        fix = did_you_mean(found[1], known) or 'give tables by name: query.detect({"ticks": …})'
        return _at(text, f"there is no table `{found[1]}`", found[1], span, fix)
    if found := re.search(r'Referenced column "([^"]+)" not found', reason):
        near = re.findall(r'"([^"]+)"', message.partition("Candidate bindings")[2])
        fix = did_you_mean(found[1], list(columns) or [each for each in near if not each.startswith("#")])
        if found[1].upper() in ("CLASSIFIER", "MATCH_NUMBER"):
            fix = f"write {found[1].upper()}()"
        return _at(text, f"there is no column `{found[1]}`", found[1], span, fix)
    if found := re.search(r"Function with name (\S+) does not exist", reason):
        near = re.findall(r'"([^"]+)"', message.partition("Did you mean")[2])
        return _at(text, f"there is no function `{found[1]}`", found[1], span, did_you_mean(found[1], near))
    if found := re.search(r"Cannot compare values of type (\S+) and type (\S+)", reason):
        first, second = (_TYPES.get(kind, kind) for kind in found.groups())
        fix = f"cast one of them: CAST(… AS {second.rstrip('-')})"
        return QueryError(f"{first} and {second} cannot be compared", text=text, span=span, fix=fix)
    if found := re.search(r"argument types '(.+?)\((.+)\)'", reason):
        kinds = " and ".join(_TYPES.get(kind, kind) for kind in found[2].split(", "))
        fix = f"cast what has the wrong type: CAST(… AS {'VARCHAR' if found[1] == '||' else 'INTEGER'})"
        return QueryError(f"`{found[1]}` does not take {kinds}", text=text, span=span, fix=fix)
    named = re.search(r'"([^"]+)"', reason)
    return _at(text, reason, named[1] if named else "", span, None)


def _at(text: str, reason: str, name: str, span: Span | None, fix: str | None) -> QueryError:
    """An error about a name, at the first place that has it; after a dot, if it stands nowhere else."""
    first, last = (span.start, span.end) if span is not None else (0, len(text))
    for pattern in (rf'(?<![\w".]){re.escape(name)}(?!\w)', rf"(?<!\w){re.escape(name)}(?!\w)"):
        place = re.compile(pattern, re.IGNORECASE).search(text, first, last) if name else None
        if place is not None:
            return QueryError(reason, text=text, span=Span(*place.span()), fix=fix)
    return QueryError(reason, text=text, span=span, fix=fix)


def _first_line(message: str) -> str:
    """Without the kind of the error in front."""
    line = message.split("\n")[0]
    return re.sub(r"^\w+(?: \w+)? Error: ", "", line)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
