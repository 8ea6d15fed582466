"""Formulas and queries back to text that parses to an equal node."""

from __future__ import annotations

from ostinato.core.expressions import Expr, conjoin, literal_text, quote_name
from ostinato.core.expressions import to_text as expr_text
from ostinato.core.units import duration_text
from ostinato.core.window_clause import Window
from ostinato.patterns.syntax import nodes as n
from ostinato.patterns.syntax.cel.groups import put_groups
from ostinato.patterns.syntax.item_names import item_names
from ostinato.patterns.syntax.nodes import Formula
from ostinato.patterns.syntax.srem import nodes as srem

# How tightly each kind of formula binds; a part is bracketed where its place asks for more.
_FILTER, _OR, _AND, _SEQUENCE, _FOLLOWED, _ADJACENT, _PART, _POSTFIX, _ATOM = range(9)
_STRENGTH = {";": _SEQUENCE, "->": _FOLLOWED, ":": _ADJACENT}


def to_text(node: n.Query | Formula) -> str:
    """One line, with no more brackets than needed."""
    if not isinstance(node, n.Query):
        return _formula(node, _FILTER)
    head, formula = _select(node), put_groups(node.formula, node.groups)
    return " ".join([*([head, "WHERE"] if head else []), _formula(formula, _FILTER), *_clauses(node)])


def pretty_print(query: n.Query) -> str:
    """Several lines: SELECT, the formula with one line per FILTER, one line per clause."""
    formula, filters = put_groups(query.formula, query.groups), []
    while isinstance(formula, n.Filter):
        filters.append(f"  FILTER {expr_text(formula.predicate)}")
        formula = formula.body
    head = _select(query)
    lines = [*([head, "WHERE"] if head else []), *_branches(formula), *reversed(filters), *_clauses(query)]
    return "\n".join(lines)


def _branches(formula: Formula) -> list[str]:
    if not isinstance(formula, n.Or):
        return [f"  {_formula(formula, _FILTER)}"]
    first, *rest = (_formula(part, _AND) for part in formula.parts)
    return [f"  {first}", *(f"  OR {part}" for part in rest)]


def _select(query: n.Query) -> str:
    """The SELECT line, empty where the plain form `formula clauses` says the same."""
    if query.items is None and not query.relations and query.strategy == "ALL":
        return ""
    words = ["SELECT"] if query.strategy == "ALL" else ["SELECT", query.strategy]
    if query.items is None:
        words.append("*")
    else:
        defaults = item_names([item.expr for item in query.items])
        items = zip(query.items, defaults, strict=True)
        words.append(", ".join(_item(item.expr, item.name, default) for item, default in items))
    if query.relations:
        words += ["FROM", _names(query.relations)]
    return " ".join(words)


def _item(expr: Expr, name: str, default: str) -> str:
    return expr_text(expr) if name == default else f"{expr_text(expr)} AS {quote_name(name)}"


def _clauses(query: n.Query) -> list[str]:
    return [
        *([f"PARTITION BY {_names(query.partition_by)}"] if query.partition_by else []),
        *([_window(query.window)] if query.window is not None else []),
        *([f"CONSUME BY {query.consume}"] if query.consume != "NONE" else []),
        *([_skip(query.skip)] if query.skip is not None else []),
        *([f"LIMIT {query.limit}"] if query.limit is not None else []),
        *(["WITH TIMEOUT ROWS"] if query.timeout is not None else []),
    ]


def _skip(skip: n.Skip) -> str:
    return f"AFTER MATCH SKIP TO {'NEXT ROW' if skip.variable is None else f'{skip.to} {quote_name(skip.variable)}'}"


def _window(window: Window) -> str:
    if window.kind == "events":
        return f"WITHIN {window.amount} EVENTS"
    if window.kind == "attribute":
        return f"WITHIN {literal_text(window.amount)} ON {quote_name(window.attribute or '')}"
    return f"WITHIN {duration_text(int(window.amount))}"


def _formula(formula: Formula, place: int) -> str:
    text, strength = _text(formula)
    return f"({text})" if strength < place else text


def _text(formula: Formula) -> tuple[str, int]:
    """The text without outer brackets, and how tightly it binds."""
    if isinstance(formula, n.Event):
        return _event(formula), _ATOM if formula.variable.startswith("#") else _POSTFIX
    if isinstance(formula, n.Filter):
        return f"{_formula(formula.body, _FILTER)} FILTER {expr_text(formula.predicate)}", _FILTER
    if isinstance(formula, n.Or):
        return " OR ".join(_formula(part, _AND) for part in formula.parts), _OR
    if isinstance(formula, n.And):
        return _both(formula)
    if isinstance(formula, n.Sequence):
        strength = _STRENGTH[formula.link]
        return f" {formula.link} ".join(_formula(part, strength + 1) for part in formula.parts), strength
    if isinstance(formula, n.Repeat | n.Optional):
        return _loop(formula)
    if isinstance(formula, n.Guarded | n.Quiet):
        absents = formula.barred if isinstance(formula, n.Guarded) else formula.absents
        return " ; ".join(_formula(part, _FOLLOWED) for part in (*absents, formula.body)), _SEQUENCE
    if isinstance(formula, n.Group):
        return f"({_formula(formula.body, _FILTER)}) AS {quote_name(formula.name)}", _POSTFIX
    if isinstance(formula, n.Absent):
        return _absent(formula)
    if isinstance(formula, n.AbsentFormula):
        return f"NOT ({_formula(formula.body, _FILTER)})", _PART
    if isinstance(formula, n.Segment):
        return srem.to_text(formula.expression), _ATOM
    assert isinstance(formula, n.Never | n.Empty)
    return type(formula).__name__.upper(), _ATOM


def _absent(formula: n.Absent) -> tuple[str, int]:
    event, test = _event(formula.event), f" FILTER {expr_text(formula.predicate)}" if formula.predicate else ""
    if formula.lasting is None:
        return f"NOT {event}{test}", _FILTER if test else _PART
    return f"NOT {f'({event}{test})' if test else event} FOR {duration_text(formula.lasting)}", _PART


def _both(formula: n.And) -> tuple[str, int]:
    tests = f" FILTER {expr_text(conjoin(formula.tests))}" if formula.tests else ""
    if formula.apart:
        text = f"PERMUTE({', '.join(_formula(part, _FILTER) for part in formula.parts)})"
    else:
        text = " AND ".join(_formula(part, _SEQUENCE) for part in formula.parts)
    return text + tests, _FILTER if tests else _ATOM if formula.apart else _AND


def _loop(formula: n.Repeat | n.Optional) -> tuple[str, int]:
    optional, repeat = isinstance(formula, n.Optional), formula
    if isinstance(formula, n.Optional):
        if not isinstance(formula.body, n.Repeat) or formula.body.least > 1:
            return f"{_formula(formula.body, _ATOM)}?", _ATOM
        repeat = formula.body
    assert isinstance(repeat, n.Repeat)
    least, most = 0 if optional else repeat.least, repeat.most
    if most is None and least <= 1:
        sign = "+" if least else "*"
    else:
        sign = f"{{{least}}}" if least == most else f"{{{least},{'' if most is None else most}}}"
    text = f"{_formula(repeat.body, _ATOM)}{repeat.link.strip(';')}{sign}"
    if not repeat.until:
        return text, _ATOM
    stops = [
        _formula(n.Filter(stop.event, stop.predicate) if stop.predicate else stop.event, _OR) for stop in repeat.until
    ]
    return f"{text} UNTIL {stops[0] if len(stops) == 1 else '(' + ' OR '.join(stops) + ')'}", _PART


def _event(event: n.Event) -> str:
    relation = "ANY" if event.relation is None else quote_name(event.relation)
    return relation if event.variable.startswith("#") else f"{relation} AS {quote_name(event.variable)}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(quote_name(name) for name in names)
