"""CERA expressions and query plans as text, as the paper prints them (Figures 4-6, 9 and 10)."""

from __future__ import annotations

from ostinato.core.units import duration_text
from ostinato.rules.algebra import nodes as cera
from ostinato.rules.syntax import nodes as n
from ostinato.rules.syntax.format import condition_text, construct_text, term_text
from ostinato.rules.syntax.nodes import AbsoluteTimer, Combined, Condition, Data, Formula, Temporal

_Unary = cera.Construct | cera.Merge | cera.Select | cera.Project | cera.Stamp
_ALLEN = {
    "before": "{0}.end < {1}.begin",
    "after": "{0}.begin > {1}.end",
    "meets": "{0}.end = {1}.begin",
    "met-by": "{0}.begin = {1}.end",
}


def format_node(node: cera.Node) -> str:
    """One operator a line, as in Figure 4, down to the joins, which stay on one."""
    lines: list[str] = []
    closing = ""
    while isinstance(node, _Unary):
        lines.append(f"{_head(node)}(")
        closing += ")"
        node = node.input
    return "\n".join([*lines, _inline(node) + closing])


def format_definition(definition: cera.Definition) -> str:
    """`name := expression`, indented under the name."""
    first, *rest = format_node(definition.node).split("\n")
    return "\n".join([f"{definition.name} := {first}", *(f"    {line}" for line in rest)])


def _head(node: _Unary) -> str:
    if isinstance(node, cera.Construct):
        having = " ∧ ".join(map(format_condition, node.having))
        return f"CX[ {construct_text(node.head)}{' where ' if having else ''}{having} ]"
    if isinstance(node, cera.Merge):
        merged = " ⊔ ".join(node.events)
        if node.begin is not None:
            begin, end = (None if time is None else ".".join(time) for time in (node.begin, node.end))
            return f"µ[[begin, end] ← [{begin}, {end or f'({merged}).end'}]]"
        return f"µ[[begin, end] ← {merged}]"
    if isinstance(node, cera.Select):
        return f"σ[{' ∧ '.join(map(format_condition, node.conditions))}]"
    if isinstance(node, cera.Stamp):
        return f"τ[{', '.join(n.time_variable(*time) for time in node.times)}]"
    return f"π[{', '.join(node.data)}]"


def _inline(node: cera.Node) -> str:
    if isinstance(node, _Unary):
        return f"{_head(node)}({_inline(node.input)})"
    if isinstance(node, cera.Match):
        if isinstance(node.stream, cera.PeriodicStream):
            return f"X[ {node.ident}: {node.stream.kind}[{duration_text(node.stream.nanoseconds)}] ](E)"
        term, read = term_text(node.term), "E"
        if isinstance(node.stream, cera.CelStream):
            term = f'{node.stream.language} "{node.stream.query}" {term}'
            read = " ∪ ".join(node.stream.labels) or read
        bound = "" if node.bound is None else f"var {node.bound} -> "
        if node.key is not None:
            term = f"{term} ∧ {term_text(node.key)}"
        return f"QX[ {node.ident}: {bound}{term} ]({read})"
    if isinstance(node, cera.TimerStream):
        timer = node.timer
        return f"X[ {timer.ident}: {timer.kind}[{timer.anchor}, {timer.duration.text}] ](E)"
    if isinstance(node, cera.FixedStream):
        return f"X[ {node.timer.ident}: absolute{_span(node.timer)} ]"
    if isinstance(node, cera.Join):
        return f"{_operand(node.left)} ⋈ {_operand(node.right)}"
    if isinstance(node, cera.TemporalJoin):
        return f"{_operand(node.left)} ⋈_{{{node.window}{'⊒@'[node.at]}{node.ident}}} {_operand(node.right)}"
    if isinstance(node, cera.AntiJoin):
        return f"{_operand(node.left)} ▷_{{{node.window}{'⊒@'[node.at]}{node.ident}}} {_operand(node.right)}"
    if isinstance(node, cera.Rows):
        return f"{_operand(node.left)} until {_operand(node.versions)}"
    if isinstance(node, cera.Rename):
        return f"ρ[{', '.join(f'{new} ← {old}' for new, old in (*node.events, *node.data))}]({_inline(node.input)})"
    if isinstance(node, cera.At):
        return f"{node.part}{_operand(node.input)}" if node.part != "◦∪Δ" else f"(◦∪Δ){_operand(node.input)}"
    if isinstance(node, cera.Union):
        return " ∪ ".join(map(_operand, node.inputs))
    assert isinstance(node, cera.Point)
    return node.name


def _operand(node: cera.Node) -> str:
    shown = _inline(node)
    return f"({shown})" if isinstance(node, cera.AnyJoin | cera.Union | cera.Rows) else shown


def format_condition(condition: Condition) -> str:
    """Temporal relations as comparisons of times, as in Figure 4."""
    if isinstance(condition, Temporal) and condition.relation in _ALLEN:
        return _ALLEN[condition.relation].format(*condition.events)
    if isinstance(condition, Temporal) and condition.duration is not None:
        ends, begins = (", ".join(f"{event}.{side}" for event in condition.events) for side in ("end", "begin"))
        if condition.relation == "within":
            return f"max{{{ends}}} - min{{{begins}}} ≤ {condition.duration.text}"
        return f"max{{{begins}}} - min{{{ends}}} ≥ {condition.duration.text}"
    if isinstance(condition, Formula):
        shown = [format_condition(part) for part in condition.parts]
        return f"¬({shown[0]})" if condition.op == "not" else f" {'∧∨'[condition.op == 'or']} ".join(shown).join("()")
    text = condition_text(condition)
    return text.replace("var ", "") if isinstance(condition, Data | Combined) else text


def _span(timer: AbsoluteTimer) -> str:
    return f"[{timer.begin}, {timer.end}]"
