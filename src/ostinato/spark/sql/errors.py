"""What Spark says about the query around the clauses, as errors of ours with their place in the query."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from ostinato.errors import QueryError, Span, did_you_mean
from ostinato.sql.syntax.words import words


@contextmanager
def spark_errors(text: str, tables: Iterable[str]) -> Iterator[None]:
    """`tables` are the names of those that were given."""
    from pyspark.errors import AnalysisException, ParseException

    try:
        yield
    except (AnalysisException, ParseException) as error:
        raise _explain(error, text, tables) from None


def _explain(error: Any, text: str, tables: Iterable[str]) -> QueryError:
    condition, about = error.getCondition() or "", error.getMessageParameters() or {}
    if condition.startswith("TABLE_OR_VIEW_NOT_FOUND") and "relationName" in about:
        name = _names(about["relationName"])[-1]
        fix = f'make it a view, frame.createOrReplaceTempView("{name}"), or give it: query.detect({{"{name}": frame}})'
        if get_close_matches(name, list(tables), cutoff=0.5):
            fix = did_you_mean(name, tables) or fix
        return QueryError(f"there is no table or view `{name}`", text=text, span=_place(text, name), fix=fix)
    if condition.startswith("UNRESOLVED_COLUMN") and "objectName" in about:
        name = _names(about["objectName"])[-1]
        near = [_names(each)[-1] for each in about.get("proposal", "").split(", ") if each]
        reason = f"there is no column `{name}` in the query around the clause"
        return QueryError(reason, text=text, span=_place(text, name), fix=did_you_mean(name, near))
    return QueryError(_first_line(error), text=text, fix="the query around the clause is Spark SQL")


def _names(path: str) -> list[str]:
    """Of `` `a`.`b` ``."""
    return [name.replace("``", "`") for name in re.findall(r"`((?:[^`]|``)*)`", path)] or [path]


def _place(text: str, name: str) -> Span | None:
    found = (word.span for word in words(text) if word.is_name and word.name.lower() == name.lower())
    return next(found, None)


def _first_line(error: Any) -> str:
    line = str(error).strip().split("\n")[0]
    return line.partition("] ")[2].split(" SQLSTATE")[0] if line.startswith("[") else line
