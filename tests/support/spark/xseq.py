"""Documents for XSeq queries on Spark: those of the vectors, and random ones with bad ones among them."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import ostinato as ost
from ostinato.errors import OstinatoError
from ostinato.xseq.query import XSeqQuery
from support import paths

VECTORS = json.loads((paths.VECTORS / "xseq.json").read_text())
FAMILY: str = VECTORS["documents"]["family"]
STOCKS: str = VECTORS["documents"]["stocks"]

SEVERAL = {
    "nodes": "//a[@p > 1]/b",
    "rising": r"return $X@p, last($Y)@p, count($Y) from //$X (\ $Y)* where $Y@p > prev($Y)@p",
    "back": "return $X@p as p from //b/parent::$X where $X@k = 1",
    "over_all": "return $X@k, sum($X@p) from //$X",
}

Told = Counter[tuple[Any, ...]]


def random_documents(seed: int, size: int) -> list[bytes | None]:
    """XML and JSON, one in ten of them broken, empty or not there."""
    pick = random.Random(seed)
    found: list[bytes | None] = []
    for _ in range(size):
        tree = _tree(pick, 3)
        text = _xml("a", tree) if pick.random() < 0.7 else json.dumps(tree)
        spoilt = pick.choice((text[: len(text) // 2], text + "<", text.replace("a", "", 1), "\x00ü", "", None))
        given = spoilt if pick.random() < 0.1 else text
        found.append(None if given is None else given.encode())
    return found


def _tree(pick: random.Random, depth: int) -> dict[str, Any]:
    tree: dict[str, Any] = {name: pick.randint(0, 4) for name in "pk" if pick.random() < 0.8}
    for name in "ab":
        if depth and pick.random() < 0.7:
            tree[name] = [_tree(pick, depth - 1) for _ in range(pick.randint(1, 2))]
    return tree


def _xml(name: str, tree: dict[str, Any]) -> str:
    told = "".join(f" {key}='{value}'" for key, value in tree.items() if not isinstance(value, list))
    inner = "".join(_xml(key, each) for key, value in tree.items() if isinstance(value, list) for each in value)
    return f"<{name}{told}>{inner}</{name}>"


def embedded(query: XSeqQuery, documents: Iterable[tuple[int, Any]], **options: Any) -> Told:
    """What the query says of each document by itself: its number, the answer, and what is wrong."""
    rows: list[tuple[Any, ...]] = []
    for number, document in documents:
        if document is None:
            continue
        try:
            found = query.detect(document, **options).to_pylist()
            rows += [(number, *row.values(), None) for row in found]
        except OstinatoError as error:
            rows.append((number, *(None for _ in query.columns), str(error)))
    return Counter(rows)


def on_spark(answer: Any) -> Told:
    return Counter(tuple(row.values()) for row in answer.toArrow().to_pylist())


def broken_folder(folder: Path, files: int) -> dict[str, str]:
    """Files of documents in two folders, one of them broken; and some that are none of them."""
    texts = {f"{number:03}.xml": f"<r><b a='{number}'/><b a='{number + 1}'/></r>" for number in range(files)}
    texts |= {
        "more/line ü.jsonl": '{"b": {"a": 7}}\n{"b": {"a": 8}}\n',
        "more/broken.xml": "<r><b a='1'/><b a='2'></r>",
    }
    texts |= {"notes.txt": "not one", "_hidden/x.xml": "<r><b a='77'/></r>", "more/.x.xml": "<r><b a='78'/></r>"}
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return texts


def bound(answer: str) -> XSeqQuery:
    return ost.xseq(f"return {answer} from //$B where tag($B) = 'b'")
