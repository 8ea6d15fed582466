"""What DuckDB says about a query or its data, as our own errors with their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import duckdb

from ostinato.errors import DataError, QueryError, Span, did_you_mean
from ostinato.sql.syntax import nodes as n
from ostinato.sql.syntax.words import closing, words

VALUE_ERRORS = (duckdb.DataError, duckdb.InvalidInputException)
_TYPES = {"INTEGER_LITERAL": "INTEGER"}


@contextmanager
def translate_errors(text: str, tables: Iterable[str]) -> Iterator[None]:
    """Errors of running a query; `tables` are those that there are."""
    try:
        yield
    except QueryError as error:
        raise error.within(text) from None
    except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException) as error:
        raise binding_error(text, str(error), None, tables) from None
    except duckdb.NotImplementedException as error:
        raise QueryError(_first_line(str(error)), text=text) from None
    except (duckdb.IOException, duckdb.PermissionException):
        fix = "read files first, and give their rows as tables"
        raise DataError("a query in SQL reads tables that it is given, and no files", fix=fix) from None
    except VALUE_ERRORS as error:
        raise DataError(f"a value cannot be used: {_value_reason(error)}", fix=_value_fix(error)) from error


@contextmanager
def blame(value: n.Sql, where: str) -> Iterator[None]:
    """Errors of values name the expression that fails: the query is wrong where it writes the value itself."""
    try:
        yield
    except VALUE_ERRORS as error:
        reason = f"a value cannot be used in {where}: {_value_reason(error)}"
        found = re.search(r"string '(.*)' to", reason)
        if found is not None and f"'{found[1]}'" in value.render(lambda term: " "):
            raise QueryError(reason, span=value.span, fix="compare values of the same type") from None
        raise DataError(reason, fix=_value_fix(error)) from error


def _value_reason(error: duckdb.Error) -> str:
    """Without the names of our own columns, and without advice on DuckDB's settings."""
    reason = re.sub(r" when casting from source column #\w+", "", _first_line(str(error)))
    return re.sub(r"\. Use TRY\(.*|!$", "", reason)


def _value_fix(error: duckdb.Error) -> str | None:
    message = str(error)
    if "Division by zero" in message:
        return "guard the division: x // nullif(y, 0)"
    if "Overflow" in message or isinstance(error, duckdb.OutOfRangeException):
        return "cast the operands to DOUBLE or HUGEINT"
    return "use TRY_CAST, which gives NULL for such values" if isinstance(error, duckdb.ConversionException) else None


def binding_error(
    text: str, message: str, span: Span | None, known: Iterable[str], columns: Iterable[str] = ()
) -> QueryError:
    """An error about names or types, at the name that DuckDB complains about, or else at `span`.

    `known` are the tables or pattern variables that may be meant, `columns` the columns, where all are known.
    """
    reason = _first_line(message)
    if found := re.search(r'Referenced table "([^"]+)" not found', reason):
        fix = did_you_mean(found[1], known)
        if span is None and re.search(rf'(?<!\w){re.escape(found[1])}"?\s+MATCH_RECOGNIZE\b', text, re.IGNORECASE):
            fix = f"give the rows of the clause a name: MATCH_RECOGNIZE (…) AS {found[1]}"
        return _at(text, f"there is no table or pattern variable `{found[1]}`", found[1], span, fix, qualifies=True)
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
    if "expression depth limit" in reason:
        fix = "compute parts of it in a subquery that the clause reads from"
        return QueryError("an expression nests more than 1,000 levels deep", text=text, span=span, fix=fix)
    named = re.search(r'"([^"]+)"', reason)
    return _at(text, reason, named[1] if named else "", span, None)


def _at(
    text: str, reason: str, name: str, span: Span | None, fix: str | None, *, qualifies: bool = False
) -> QueryError:
    """An error about a name, at the first place that has it; after a dot, if it stands nowhere else. Without a span it
    stands outside the clauses, and a name that qualifies others before a dot, if it stands there."""
    first, last = (span.start, span.end) if span is not None else (0, len(text))
    searched = text if span is not None else _without_clauses(text)
    bare, any_place = rf'(?<![\w".]){re.escape(name)}(?!\w)', rf"(?<!\w){re.escape(name)}(?!\w)"
    patterns = [(rf'{bare}(?="?\s*\.)', searched)] if qualifies else []
    for pattern, within in (*patterns, (bare, searched), (any_place, searched), (any_place, text)):
        place = re.compile(pattern, re.IGNORECASE).search(within, first, last) if name else None
        if place is not None:
            return QueryError(reason, text=text, span=Span(*place.span()), fix=fix)
    return QueryError(reason, text=text, span=span, fix=fix)


def _without_clauses(text: str) -> str:
    """The text with spaces for what stands in the brackets of MATCH_RECOGNIZE."""
    found = words(text)
    for index, word in enumerate(found[:-1]):
        if word.keyword == "MATCH_RECOGNIZE" and found[index + 1].text == "(":
            first, last = found[index + 1].end, found[closing(found, index + 1)].start
            text = text[:first] + " " * (last - first) + text[last:]
    return text


def _first_line(message: str) -> str:
    """Without the kind of the error in front."""
    line = message.split("\n")[0]
    return re.sub(r"^(?:\w+ ){1,3}?Error: ", "", line)


def quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
