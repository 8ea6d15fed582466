"""Importing stays light: heavy libraries load when they are first needed, optional ones only with their users."""

from __future__ import annotations

import json
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ostinato

SOURCE = Path(ostinato.__file__).parent
OPTIONAL = ("pyspark", "pandas", "polars")
HEAVY = ("numba", "llvmlite", "lark", "duckdb", "sqlglot")
MODULES = sorted(module.name for module in pkgutil.walk_packages([str(SOURCE)], "ostinato."))
# From text to automaton nothing needs a compiled kernel or a parser: those load with the first query and first event.
CORE = [
    name
    for name in MODULES
    if name == "ostinato.errors"
    or re.match(r"ostinato\.patterns\.(plan|automata|sra|theory|compile|query|explain)\b", name)
]


def modules_after(code: str) -> set[str]:
    """All modules in a fresh interpreter after `code`."""
    script = f"{code}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def loaded_by(code: str) -> set[str]:
    """Top-level modules in a fresh interpreter after `code`."""
    return {name.partition(".")[0] for name in modules_after(code)}


def test_import_ostinato_loads_no_library() -> None:
    ours = loaded_by("import ostinato") - loaded_by("")
    assert ours.isdisjoint({*OPTIONAL, *HEAVY, "numpy", "pyarrow", "rich", "typer"})
    third_party = {name for name in ours if name not in sys.stdlib_module_names and not name.startswith("_")}
    assert third_party == {"ostinato"}


def test_the_path_from_text_to_automaton_loads_no_parser_and_no_kernel_before_a_query() -> None:
    assert "ostinato.patterns.plan.rewrite" in CORE and "ostinato.patterns.automata.from_formula" in CORE
    assert loaded_by("\n".join(f"import {name}" for name in CORE)).isdisjoint({*OPTIONAL, *HEAVY})


def test_compiling_a_query_loads_no_kernel() -> None:
    found = loaded_by("import ostinato\nostinato.cel('A AS x ; B AS y FILTER x.v > 3 WITHIN 10 EVENTS').explain()")
    assert "lark" in found
    assert found.isdisjoint({*OPTIONAL, "numba", "llvmlite"})


EVENTS = "[{'ts': n, 'type': 'AB'[n % 2], 'v': n} for n in range(12)]"
COMMAND_LINE = {"typer", "rich", "click", "pydantic"}
SQL = {"duckdb", "sqlglot"}
# What a first answer does without, beside Spark and other tables; pandas is for pyarrow to load.
UNUSED = {
    f"ost.cel('A AS x ; B AS y WITHIN 4 EVENTS').detect({EVENTS})": COMMAND_LINE | SQL,
    f"ost.cel('A AS x ; B AS y FILTER x.v < y.v WITHIN 4 EVENTS').detect({EVENTS})": COMMAND_LINE | SQL,
    f"ost.srem('true -> r . [v > r.v]').detect({EVENTS})": COMMAND_LINE | SQL,
    f"ost.rules('DETECT a {{ }} ON event i: A {{{{ }}}} END').detect({EVENTS})": COMMAND_LINE,
    "ost.xseq('//b').detect(b'<a><b/></a>')": COMMAND_LINE | SQL,
    "ost.xseq('//a[b]').detect(b'{\"a\": [{\"b\": 1}]}')": COMMAND_LINE | SQL,
    f"ost.Forecaster('A AS x ; B AS y WITHIN 4 EVENTS').fit({EVENTS} * 20).forecast({EVENTS})": COMMAND_LINE | SQL,
}


@pytest.mark.slow
@pytest.mark.parametrize(("code", "unused"), UNUSED.items(), ids=UNUSED)
def test_a_first_answer_loads_only_what_it_needs(code: str, unused: set[str]) -> None:
    assert loaded_by(f"import ostinato as ost\n{code}").isdisjoint({"numba", "pyspark", "polars"} | unused)


@pytest.mark.slow
def test_a_verb_loads_only_its_family(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("ts,type\n1,A\n2,B\n", encoding="utf-8")
    arguments = ["ostinato", "detect", "-q", "A AS x ; B AS y", "-i", str(path)]
    found = modules_after(
        f"import sys\nsys.argv = {arguments}\nfrom ostinato.cli.main import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert not end.code"
    )
    assert found.isdisjoint({*OPTIONAL, *SQL})
    others = ("ostinato.cli.forecast", "ostinato.cli.check", "ostinato.xseq.", "ostinato.rules.", "ostinato.spark.")
    assert [name for name in sorted(found) if name.startswith(others)] == []


@pytest.mark.slow
def test_no_module_imports_an_optional_library() -> None:
    """pandas and polars tables are recognised without importing their libraries."""
    others = [name for name in MODULES if not name.startswith("ostinato.spark")]
    assert loaded_by("\n".join(f"import {name}" for name in others)).isdisjoint(OPTIONAL)


def test_asking_for_help_loads_no_kernel() -> None:
    found = loaded_by(
        "from typer.testing import CliRunner\nfrom ostinato.cli.main import make_app\n"
        "assert CliRunner().invoke(make_app('detect'), ['detect', '--help']).exit_code == 0"
    )
    assert found.isdisjoint({*OPTIONAL, *HEAVY, "pyarrow"})


def test_nothing_outside_spark_imports_pyspark() -> None:
    """Not even inside a function: the plan never sees an engine."""
    statement = re.compile(r"^\s*(?:import|from)\s+pyspark\b", re.MULTILINE)
    guilty = [
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        if SOURCE / "spark" not in path.parents and statement.search(path.read_text(encoding="utf-8"))
    ]
    assert guilty == []
