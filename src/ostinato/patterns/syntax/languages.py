"""The pattern languages, for messages: their grammars show when a text is written in the other one."""

from __future__ import annotations

from ostinato.core.text.messages import QueryLanguage

CEL = QueryLanguage("CEL", f"{__package__}.cel", "query")
SREM = QueryLanguage("SREM", f"{__package__}.srem", "pattern")
