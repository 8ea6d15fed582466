"""Runs that move as one: the same rows in the same order as when every run moves by itself."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

import ostinato
from ostinato.xseq.runtime.one_pass import tables as stream_tables

FALLING = r"return $Z@p, {} from /r /$Z \$A (\$A)* where $A@p < prev($A)@p and first($A)@p < $Z@p partition by /r /*@k"
TURNS = (
    r"return $Z@p, last($C)@p from /r /$Z ((\$A \$B) union (\$C))* where tag($Z)='t' and tag($A)='t' and tag($C)='u'"
)
BUNDLED = [
    FALLING.format("last($A)@p"),
    FALLING.format("first($A)@q, count($A)"),  # differ from run to run
    FALLING.format("sum($A@p)").replace("partition by /r /*@k", "and count($A) > 1"),
    TURNS,  # runs overtake each other
]
BY_THEMSELVES = [
    r"return $Z@p, last($A)@p from /r /$Z $A (\$A)* where $A@p < prev($A)@p",  # any later sibling
    r"return $Z@p, $B@p from /r /$Z \$A \$B where $B@p < $Z@p",  # asks for what runs have by themselves
    r"return $Z@p, last($B)@p from /r /$Z (\$A)* (\$B)*",  # two moves at once
]


def _rows(text: str, document: bytes) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = ostinato.xseq(text).detect(document).to_pylist()
    return rows


def _is_bundled(text: str) -> bool:
    stream = ostinato.xseq(text)._compiled.stream
    assert stream is not None
    return stream.bundles is not None


@pytest.mark.parametrize("text", BUNDLED)
def test_the_same_rows_in_the_same_order(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(text)
    nodes = (
        f'<{chance.choice("ttu")} p="{chance.randrange(9)}" q="{number}" k="{chance.choice("mn")}"/>'
        for number in range(300)
    )
    document = f"<r>{''.join(nodes)}</r>".encode()
    assert _is_bundled(text)
    together = _rows(text, document)
    monkeypatch.setattr(stream_tables, "find_bundles", lambda *_: None)
    assert not _is_bundled(text)
    assert len(together) > 50 and together == _rows(text, document)


@pytest.mark.parametrize("text", BY_THEMSELVES)
def test_runs_that_differ_in_what_is_ahead_of_them_move_by_themselves(text: str) -> None:
    assert not _is_bundled(text)


@pytest.mark.slow
def test_partitions_without_compiling() -> None:
    code = (
        "import ostinato\n"
        "query = ostinato.xseq(r'return $X@p, $Y@p as next from /s/$X \\$Y partition by /s/t@c')\n"
        'print(query.detect(\'<s><t c="A" p="1"/><t c="B" p="2"/><t c="A" p="3"/></s>\').to_pylist())'
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(ostinato.__file__).parents[1])}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert run.stdout == "[{'$X@p': '1', 'next': '3'}]\n"
