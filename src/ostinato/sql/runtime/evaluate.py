"""The rows of one clause."""

from __future__ import annotations

import pyarrow as pa

from ostinato.sql.runtime.source import Source
from ostinato.sql.semantics import rows
from ostinato.sql.syntax import nodes as n


def evaluate(match: n.MatchRecognize, source: Source) -> pa.Table:
    return rows.evaluate(match, source.connection, source.text, source.alias, source.joined)
