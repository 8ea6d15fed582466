"""The pattern languages, for messages: a text in the wrong one is told apart by its grammar."""

from __future__ import annotations

from ostinato.core.text.messages import Language

CEL = Language("CEL", f"{__package__}.cel", "query")
SREM = Language("SREM", f"{__package__}.srem", "pattern")
