"""What can be drawn: shown in a notebook, and saved in the format that a file's ending names."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from ostinato.viz import svg


class Picture(ABC):
    @abstractmethod
    def svg(self) -> str:
        """The picture as an SVG document."""

    def _repr_svg_(self) -> str:
        return self.svg()

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write `path`: SVG where its name ends in .svg. Automata can also be Graphviz text (.dot, .gv), timelines of
        forecasts plain text (.txt)."""
        return svg.save(path, {".svg": self.svg, **self._other_formats()})

    def _other_formats(self) -> Mapping[str, Callable[[], str]]:
        return {}


class AutomatonPicture(Picture):
    @abstractmethod
    def dot(self) -> str:
        """The automaton in Graphviz's language."""

    def _other_formats(self) -> Mapping[str, Callable[[], str]]:
        return {".dot": self.dot, ".gv": self.dot}


def write_dot(final: Iterable[str], starts: Iterable[str], edges: Iterable[tuple[str, str, str]]) -> str:
    """A graph in Graphviz's language. States are written as they are; labels of edges are texts."""
    lines = ["digraph automaton {", "  rankdir=LR;", "  node [shape=circle];", '  start [shape=point, label=""];']
    lines += [f"  {state} [shape=doublecircle];" for state in final]
    lines += [f"  start -> {state};" for state in starts]
    lines += [f"  {source} -> {target} [label={quote(label)}];" for source, target, label in edges]
    return "\n".join([*lines, "}"]) + "\n"


def quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
