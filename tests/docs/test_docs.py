"""The documentation is true: examples run and print what the pages show, queries compile, links lead somewhere.

How pages are written:

- Python blocks of a page share one namespace and one empty folder. What a statement prints stands right below it, as
  comments; a statement that prints without saying so is an error.
- ```console blocks hold commands after `$ ` and their output. A command succeeds unless `$ echo $?` says otherwise.
- ```cel, ```rules, ```sql and ```xseq blocks compile. After `<!-- file: name -->` a block is also written to that
  file; if the file is there already, it must have this content.
- `…` in expected output stands for anything: times and speeds differ from run to run.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import ostinato
from ostinato.cli.main import make_app
from ostinato.patterns.query import CelQuery
from ostinato.patterns.runtime.engine import Engine, Statistics
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.incremental.options import RuleStatistics
from ostinato.rules.program import RuleProgram
from ostinato.rules.syntax.nodes import PERIODIC_TIMERS, RELATIONS, RELATIVE_TIMERS
from ostinato.sql.query import SqlQuery
from ostinato.xseq.query import XSeqQuery
from ostinato.xseq.syntax.nodes import Axis

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
COMMANDS: dict[str, Any] = vars(typer.main.get_command(make_app()))["commands"]
_FENCE = re.compile(
    r"^(?:<!-- file: (?P<file>\S+) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
_LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")


@dataclass(frozen=True)
class Block:
    page: Path
    line: int  # of its first line
    kind: str
    text: str
    file: str | None

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> Iterator[Block]:
    content = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(content):
        yield Block(page, content.count("\n", 0, found.start("text")) + 1, found["kind"], found["text"], found["file"])


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def by_session(page: Path) -> Any:
    """Pages that use Spark share the session of the tests for Spark: it takes seconds to start."""
    shown = "".join(block.text for block in blocks(page) if block.kind in ("python", "console"))
    return pytest.param(page, marks=pytest.mark.spark if "spark" in shown else ())


@pytest.mark.slow
@pytest.mark.parametrize("page", list(map(by_session, PAGES)), ids=list(map(named, PAGES)))
def test_examples(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    monkeypatch.chdir(tmp_path)
    if request.node.get_closest_marker("spark"):
        change_folder_of_spark(request.getfixturevalue("spark"), tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks(page):
        if block.file is not None and Path(block.file).exists():
            assert Path(block.file).read_text(encoding="utf-8") == block.text, block.place
        elif block.file is not None:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.kind == "python":
            run_python(block, namespace)
        elif block.kind == "console":
            run_console(block)
        elif block.kind in ("cel", "rules", "sql", "xseq"):
            try:
                getattr(ostinato, block.kind)(block.text)
            except ostinato.QueryError as error:
                pytest.fail(f"{block.place}: {error}")


def change_folder_of_spark(spark: Any, folder: Path) -> None:
    """Relative paths are those of the folder where Java was started, which for a shared session is not the page's."""
    spark._jvm.System.setProperty("user.dir", str(folder))
    files = spark._jvm.org.apache.hadoop.fs.FileSystem.get(spark._jsc.hadoopConfiguration())
    files.setWorkingDirectory(spark._jvm.org.apache.hadoop.fs.Path(str(folder)))


def run_python(block: Block, namespace: dict[str, Any]) -> None:
    lines = block.text.splitlines()
    for statement in ast.parse(block.text, filename=block.place).body:
        end = statement.end_lineno or statement.lineno
        shown = []
        while end < len(lines) and lines[end].startswith("#"):
            shown.append(lines[end].removeprefix("#").removeprefix(" "))
            end += 1
        ast.increment_lineno(statement, block.line - 1)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(ast.Module([statement], []), str(block.page), "exec"), namespace)
        if printed.getvalue():
            where = f"{named(block.page)}:{statement.lineno}"
            check_output(printed.getvalue(), shown, f"{where} {ast.unparse(statement)}")


def run_console(block: Block) -> None:
    exit_code = expected_code = 0
    last = ""
    for command, shown in commands(block):
        if command == "echo $?":
            expected_code = int(shown[0])
            assert exit_code == expected_code, f"{block.place}: {last} ended with {exit_code}"
            continue
        assert exit_code == expected_code, f"{block.place}: {last} ended with {exit_code}, and the page does not say so"
        expected_code, last = 0, command
        words = shlex.split(command, comments=True)
        if words[0] == "make":
            words = made_by(words[1])
        if words[0] == "ostinato":
            result = CliRunner().invoke(make_app(), words[1:])
            if result.exception is not None and not isinstance(result.exception, SystemExit):
                raise AssertionError(f"{block.place}: {command} failed") from result.exception
            exit_code = result.exit_code
            if shown:
                # Said once on a machine, whichever command comes first.
                told = re.sub(r"^ostinato: compiling, .*\n", "", result.output, flags=re.MULTILINE)
                check_output(told, shown, f"{block.place} {command}")
    assert exit_code == expected_code, f"{block.place}: {last} ended with {exit_code}, and the page does not say so"


def commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Each command, continued over lines that end with a backslash, and the output shown below it."""
    lines = iter(block.text.splitlines())
    command, shown = "", list[str]()
    for line in lines:
        if line.startswith("$ "):
            if command:
                yield command, shown
            command, shown = line.removeprefix("$ "), []
            while command.endswith("\\"):
                command = command.removesuffix("\\") + next(lines).strip()
        else:
            assert command, f"{block.place}: output before any `$ `"
            shown.append(line)
    yield command, shown


def made_by(target: str) -> list[str]:
    """The command of our own that a target of the Makefile runs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipe = re.search(rf"^{target}:.*\n((?:\t.*\n)*)", makefile, re.MULTILINE)
    assert recipe is not None, f"the Makefile has no target {target}"
    return [*shlex.split(recipe[1].replace("$(BIN)/", "").strip().splitlines()[-1])]


def check_output(printed: str, shown: list[str], what: str) -> None:
    """Lines are compared without trailing spaces; `…` stands for anything, a line of only `…` for any lines."""
    actual = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    wanted = "\n".join(line.rstrip() for line in shown).strip("\n")
    pattern = "\n".join("(?s:.*)" if line == "…" else re.escape(line).replace("…", ".*") for line in wanted.split("\n"))
    assert re.fullmatch(pattern, actual), f"{what}\n--- shown\n{wanted}\n--- printed\n{actual}\n---"


@pytest.mark.parametrize("text", TEXTS, ids=named)
def test_links(text: Path) -> None:
    """Files exist, and so do the headings that links point to."""
    broken = []
    for target, anchor in _LINK.findall(prose(text)):
        path = text.parent / target if target else text
        if not path.exists() or (anchor and anchor not in anchors(path)):
            broken.append(f"{target}#{anchor}" if anchor else target)
    assert broken == []


def prose(text: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```$", "", text.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(text: Path) -> set[str]:
    """What a link can name: headings in small letters, without punctuation, with hyphens for spaces."""
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\s-]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_contents_list_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = [page.name for page in PAGES if page.parent == ROOT / "docs" and page.name != "index.md"]
    assert [page for page in pages if f"({page})" not in index] == []


def options() -> list[tuple[str, str]]:
    return [
        (verb, option)
        for verb, command in COMMANDS.items()
        for parameter in command.params
        if parameter.param_type_name == "option"
        for option in parameter.opts
        if option != "--help" and not getattr(parameter, "hidden", False)
    ]


@pytest.mark.parametrize("verb", [verb for verb in COMMANDS if verb != "bench"])  # a benchmark is no example
def test_every_verb_is_shown_in_use(verb: str) -> None:
    shown = [block.text for block in blocks(ROOT / "docs" / "engine.md") if block.kind == "console"]
    assert any(f"$ ostinato {verb} " in text for text in shown)


@pytest.mark.parametrize(("verb", "option"), options())
def test_every_option_is_documented(verb: str, option: str) -> None:
    page = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    section = re.search(rf"^#+ `ostinato {verb}`\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL)
    assert section is not None, f"docs/engine.md has no heading `ostinato {verb}`"
    assert f"`{option}" in section[1]


def test_options_without_a_verb_are_documented() -> None:
    page = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    given = [option for parameter in typer.main.get_command(make_app()).params for option in parameter.opts]
    assert [option for option in given if f"`ostinato {option}`" not in page and option != "--help"] == []


@pytest.mark.parametrize("owner", [CelQuery, Engine, RuleProgram, RuleEngine, SqlQuery, XSeqQuery])
def test_every_method_is_documented(owner: type) -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    # How an engine is built and joined to others is no business of its users.
    inner = {
        "bind",
        "conform",
        "is_late",
        "order_batch",
        "order_rows",
        "run_batch",
        "finish_batch",
        "finish_range",
        "group_keys",
        "twin",
    }
    inner |= {"matches_ahead", "matches_around", "answer_single", "migrate_types", "read_released", "table_of"}
    inner |= {"next_deadline", "rows_of", "with_places"}
    inner |= {"due_tick", "pass_time"}
    methods = [name for name, _ in inspect.getmembers(owner, inspect.isfunction) if not name.startswith("_")]
    assert [name for name in methods if name not in inner and not re.search(rf"\b{name}\(", text)] == []


def test_every_public_name_statistic_and_limit_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert [name for name in ostinato.__all__ if not re.search(rf"\b{name}\b", text)] == []
    engine = (ROOT / "docs" / "engine.md").read_text(encoding="utf-8")
    fields = [*Statistics.__dataclass_fields__, *ostinato.Limits.__dataclass_fields__]
    assert [name for name in fields if f"`{name}`" not in engine] == []
    rules = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert [name for name in RuleStatistics.__dataclass_fields__ if f"`{name}`" not in rules] == []


def test_every_timer_and_relation_is_documented() -> None:
    rules = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    assert [name for name in (*RELATIVE_TIMERS, *PERIODIC_TIMERS, *RELATIONS) if f"`{name}`" not in rules] == []


def test_every_axis_and_limit_of_documents_is_documented() -> None:
    page = (ROOT / "docs" / "xseq.md").read_text(encoding="utf-8")
    assert [axis for axis in Axis if f"`{axis}`" not in page] == []
    assert [name for name in ostinato.XSeqLimits.__dataclass_fields__ if f"`{name}`" not in page] == []


def test_the_readme_shows_code_early_and_names_two_commands() -> None:
    first = next(block for block in blocks(ROOT / "README.md") if block.kind == "python")
    assert first.line < 30
    console = next(block for block in blocks(ROOT / "README.md") if block.kind == "console")
    assert [shlex.split(command, comments=True) for command, _ in commands(console)] == [
        ["make", "demo"],
        ["make", "test"],
    ]
