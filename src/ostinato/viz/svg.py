"""What the pictures share: SVG elements, text, colours and safe saving."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from ostinato.errors import DataError, OstinatoError

INK = "#1f2937"
MUTED = "#6b7280"
FAINT = "#e5e7eb"
PAPER = "#ffffff"
ACCENT = "#c2410c"
MONO = "ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace"
SANS = "system-ui, 'DejaVu Sans', 'Segoe UI', Helvetica, Arial, sans-serif"
MONO_ADVANCE = 0.602  # width of one character of a monospaced font, in font sizes


def element(name: str, *inside: str, **attributes: str | float) -> str:
    """One element; `_` in an attribute's name stands for `-`. Children are SVG already; `escape_text` makes text so."""
    named = "".join(
        f" {key.rstrip('_').replace('_', '-')}={quoteattr(_show(value))}" for key, value in attributes.items()
    )
    return f"<{name}{named}>{''.join(inside)}</{name}>" if inside else f"<{name}{named}/>"


def escape_text(text: str) -> str:
    """Text made safe to put inside an element."""
    return escape(text)


def text(
    content: str, x: float, y: float, *, anchor: str = "start", fill: str = INK, size: float = 12, weight: str = "400"
) -> str:
    """One line of plain text."""
    return element(
        "text",
        escape_text(content),
        x=x,
        y=y,
        text_anchor=anchor,
        fill=fill,
        font_family=SANS,
        font_size=size,
        font_weight=weight,
    )


def document(width: float, height: float, parts: Iterable[str], *, title: str) -> str:
    """A whole picture on a white sheet, so that it stays readable on a dark page."""
    sheet = element("rect", width="100%", height="100%", rx=6, fill=PAPER)
    return element(
        "svg",
        element("title", escape_text(title)),
        sheet,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        width=round(width),
        height=round(height),
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        role="img",
    )


def save(path: str | os.PathLike[str], formats: Mapping[str, Callable[[], str]]) -> Path:
    """Write the format that the name ends in, such as .svg.

    Written beside the target, then renamed: whoever reads `path` sees the old file or the whole new one.
    """
    target = Path(path)
    draw = formats.get(target.suffix.lower())
    if draw is None:
        reason = f"{target}: a picture cannot be saved as {target.suffix or 'a file without an ending'}"
        raise OstinatoError(reason, fix=f"use a name that ends in {' or '.join(formats)}")
    text = draw()
    try:
        handle, beside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".part")
    except OSError as error:
        raise DataError(
            f"cannot write: {error.strerror}", source=str(target), fix="choose a folder that exists and is writable"
        ) from error
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        # mkstemp makes files for the owner only; a picture is as readable as any other new file.
        os.chmod(beside, 0o666 & ~_umask())
        os.replace(beside, target)
    except BaseException:
        os.unlink(beside)
        raise
    return target


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _show(value: str | float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)
