"""Syntax trees back to text."""

from __future__ import annotations

from ostinato.sql.syntax import nodes as n

_SKIPS = {"PAST LAST ROW": "past its last row", "NEXT ROW": "at the row after its first"}
_ROWS = {
    "ONE ROW": "one row per match",
    "ALL ROWS SHOW EMPTY": "all rows of each match, and one for an empty match",
    "ALL ROWS OMIT EMPTY": "all rows of each match",
    "ALL ROWS WITH UNMATCHED": "all rows, of matches or not",
}


def pattern_text(pattern: n.Pattern) -> str:
    """As PATTERN writes it, with the brackets that it needs."""
    if isinstance(pattern, n.Symbol):
        return name_text(pattern.name)
    if isinstance(pattern, n.Sequence):
        return " ".join(_in_brackets(part, n.Alternation) for part in pattern.parts) or "()"
    if isinstance(pattern, n.Alternation):
        return " | ".join(map(pattern_text, pattern.parts))
    if isinstance(pattern, n.Permute):
        return f"PERMUTE({', '.join(map(pattern_text, pattern.parts))})"
    if isinstance(pattern, n.Exclude):
        return f"{{- {pattern_text(pattern.body)} -}}"
    if isinstance(pattern, n.Anchor):
        return pattern.at
    several = isinstance(pattern.body, n.Sequence) and pattern.body.parts
    body = f"({pattern_text(pattern.body)})" if several else _in_brackets(pattern.body, n.Alternation, n.Repeat)
    return f"{body}{_quantifier(pattern)}"


def _in_brackets(pattern: n.Pattern, *kinds: type[n.Pattern]) -> str:
    text = pattern_text(pattern)
    return f"({text})" if isinstance(pattern, kinds) else text


def _quantifier(repeat: n.Repeat) -> str:
    bounds = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((repeat.least, repeat.most))
    if bounds is None:
        exact = repeat.least == repeat.most
        bounds = f"{{{repeat.least}}}" if exact else f"{{{repeat.least},{'' if repeat.most is None else repeat.most}}}"
    return bounds if repeat.greedy else f"{bounds}?"


def name_text(name: str) -> str:
    """A variable as texts name it: in quotes where they keep its letters as they are."""
    plain = name.isidentifier() and name == name.upper()
    return name if plain else '"' + name.replace('"', '""') + '"'


def term_text(term: n.Term) -> str:
    """A term with all that it leaves unsaid."""
    if isinstance(term, n.MatchNumber):
        return "MATCH_NUMBER()"
    if isinstance(term, n.Classifier):
        return "CLASSIFIER()"
    if isinstance(term, n.Aggregate):
        rows = f" of {name_text(term.variable)}" if term.variable else ""
        return f"{'FINAL ' if term.mode == 'FINAL' else ''}{expression_text(term.call)}{rows}"
    value = expression_text(term.value)
    qualified = f"{name_text(term.variable)}.{value}" if term.variable else value
    inner = f"{'FINAL ' if term.mode == 'FINAL' else ''}{term.end}({qualified}{f', {term.skip}' if term.skip else ''})"
    if not term.step:
        return inner
    plain = (term.end, term.skip, term.mode) == ("LAST", 0, "RUNNING")
    steps = f", {abs(term.step)}" if abs(term.step) > 1 else ""
    return f"{'PREV' if term.step < 0 else 'NEXT'}({qualified if plain else inner}{steps})"


def expression_text(value: n.Sql) -> str:
    return " ".join(value.render(term_text).split())


def key_text(key: n.Key) -> str:
    nulls = f" NULLS {key.nulls}" if key.nulls else ""
    return f"{expression_text(key.value)}{' DESC' if key.descending else ''}{nulls}"


def skip_text(skip: n.Skip) -> str:
    if skip.variable is None:
        return _SKIPS[skip.to]
    return f"at the {skip.to.lower()} row of {name_text(skip.variable)}"


def rows_text(match: n.MatchRecognize) -> str:
    return _ROWS[match.rows]
