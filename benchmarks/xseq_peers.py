"""The queries of the XSeq paper in other tools: each function reads a file and returns how many answers it found.

None of them lists the matches of S1–S3: they count them, which is less work. Where a tool cannot express a query, it
runs a simpler one that has the same number of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

# --- XPath and XQuery

PATHS = {
    "Q1": "/site/people/person[@id = 'person0']/name/text()",
    "Q2": "/site/closed_auctions/closed_auction/annotation/description/parlist/listitem/parlist/listitem/text/emph"
    "/keyword/text()",
    "Q3": "//parlist/listitem",  # (parlist/listitem)* has no second round: no parlist stands beside a listitem
    "Q4": "//closed_auctions/*",  # a sequence of one always falls, so that every child ends one
}
# Per company the number of matches that end at each transaction, by the phase they are in: a after falling, b after
# rising, c and d after falling and rising again.
_COUNTED = """
sum(for $t in /stocks/transaction group by $c := string($t/@company)
    return let $p := $t ! number(@price)
    return fold-left(tail($p), (head($p), {zeros}), function($s, $q) {{
      if ($q lt $s[1]) then let $n := ({falls}) return ($q, $n, $s[last()] + {fallen})
      else if ($q gt $s[1]) then let $n := ({rises}) return ($q, $n, $s[last()] + {risen})
      else ($q, {still}, $s[last()]) }})[last()])
"""
_STAR = """
declare function local:star($from as node()*, $name as xs:string) as node()* {
  if (empty($from)) then () else $from | local:star($from/*[name() = $name], $name)
};
"""
# Figure 1 of the paper for every company; there `<<` and the senses of the comparisons are lost in print.
FIGURE_1 = """
count(for $t1 in /stocks/transaction, $t4 in $t1/following-sibling::transaction[@company = $t1/@company]
  where number($t4/@price) lt number($t1/@price)
  and (every $t2 in (for $x in $t1/following-sibling::transaction[@company = $t1/@company] where $x << $t4 return $x)
       satisfies number($t2/@price) lt number($t1/@price) and number($t2/@price) gt number($t4/@price))
  and (every $t2 in (for $x in $t1/following-sibling::transaction[@company = $t1/@company] where $x << $t4 return $x),
             $t3 in (for $x in $t2/following-sibling::transaction[@company = $t1/@company] where $x << $t4 return $x)
       satisfies number($t2/@price) gt number($t3/@price) and number($t3/@price) gt number($t4/@price))
  return $t4)
"""


def _count_phases(falls: str, fallen: str, rises: str, risen: str, phases: int) -> str:
    still = ", ".join("0" * phases)
    return _COUNTED.format(
        zeros=f"{still}, 0", falls=falls, fallen=fallen, rises=rises, risen=risen, still=still
    )  # $s is the price, the phases and the total


XQUERY = {
    "S1": _count_phases("$s[2] + 1, 0", "0", "0, $s[2] + $s[3]", "$n[2]", 2),
    "S2": _count_phases("$s[2] + 1", "$n[1]", "0", "0", 1),
    "S3": _count_phases("$s[2] + 1, 0, $s[3] + $s[4], 0", "0", "0, $s[2] + $s[3], 0, $s[4] + $s[5]", "$n[4]", 4),
    "R1": f"{_STAR} count(local:star(/FILE/EMPTY, 'VP')/NP)",
    "R2": f"{_STAR} count(local:star(/FILE, 'EMPTY')/S)",
    "R3": f"{_STAR} count(local:star(local:star(/FILE, 'EMPTY'), 'S')/VP)",
    "R4": f"{_STAR} count(local:star(local:star(/FILE, 'EMPTY')/S, 'VP')/NP)",
    "Figure 1": FIGURE_1,
} | {name: f"count({path})" for name, path in PATHS.items()}


def saxon(query: str, path: Path) -> int:
    from saxonche import PySaxonProcessor

    with PySaxonProcessor(license=False) as processor:
        runner = processor.new_xquery_processor()
        runner.set_context(xdm_item=processor.parse_xml(xml_file_name=str(path)))
        runner.set_query_content(XQUERY[query])
        return int(float(runner.run_query_to_value().head.string_value))


def lxml(query: str, path: Path) -> int:
    from lxml import etree

    tree = etree.parse(path)
    if query in PATHS:
        return len(tree.xpath(PATHS[query]))
    root = [tree.getroot()]
    if query == "R1":
        return len(_children(_star(_children(root, "EMPTY"), "VP"), "NP"))
    empty = _star(root, "EMPTY")
    if query == "R2":
        return len(_children(empty, "S"))
    if query == "R3":
        return len(_children(_star(empty, "S"), "VP"))
    return len(_children(_star(_children(empty, "S"), "VP"), "NP"))


def lxml_written(query: str, path: Path) -> int:
    """The same with every node written out, as the rows of such an answer are."""
    from lxml import etree

    return len([etree.tostring(node, with_tail=False) for node in etree.parse(path).xpath(PATHS[query])])


def _children(nodes: list[Any], name: str) -> list[Any]:
    return [child for node in nodes for child in node.iterchildren(name)]


def _star(nodes: list[Any], name: str) -> list[Any]:
    found, last = list(nodes), nodes
    while last:
        last = _children(last, name)
        found += last
    return found


# --- a program by hand


def expat(query: str, path: Path) -> int:
    """S3 as an automaton that counts, fed by expat."""
    from xml.parsers.expat import ParserCreate

    stand: dict[str, tuple[float, int, int, int, int]] = {}
    total = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal total
        if tag != "transaction":
            return
        company, price = attributes["company"], float(attributes["price"])
        before, a, b, c, d = stand.get(company, (price, 0, 0, 0, 0))
        if price < before:
            stand[company] = (price, a + 1, 0, b + c, 0)
        elif price > before:
            stand[company] = (price, 0, a + b, 0, c + d)
            total += c + d
        else:
            stand[company] = (price, 0, 0, 0, 0)

    parser = ParserCreate()
    parser.StartElementHandler = start
    with path.open("rb") as file:
        parser.ParseFile(file)
    return total


# --- windows and regular expressions


def polars(query: str, path: Path) -> int:
    """Steps of the price as letters, one text per company, cut where a price stays; phases are runs of letters."""
    import polars as pl

    step = pl.col("price").diff().over("company")
    letter = pl.when(step < 0).then(pl.lit("d")).when(step > 0).then(pl.lit("u")).otherwise(pl.lit("e"))
    texts = (
        pl.scan_ndjson(path)
        .select("company", letter.alias("step"))
        .group_by("company")
        .agg(pl.col("step").str.join(""))
        .select(pl.col("step").str.split("e"))
        .explode("step")
        .with_row_index("part")
    )
    shape = "d+" if query == "S2" else "d+u+"
    runs = texts.select("part", pl.col("step").str.extract_all(shape)).explode("step").drop_nulls().select(
        "part",
        pl.col("step").str.count_matches("d").cast(pl.Int64).alias("d"),
        pl.col("step").str.count_matches("u").cast(pl.Int64).alias("u"),
    )  # fmt: skip
    number = {
        "S1": pl.col("d") * pl.col("u"),
        "S2": pl.col("d") * (pl.col("d") + 1) // 2,
        "S3": pl.col("d").shift().over("part") * pl.col("u"),  # one V right after another
    }[query]
    return int(runs.select(number.sum()).collect().item())


PEERS: dict[str, Callable[[str, Path], int]] = {
    "Saxon": saxon,
    "lxml": lxml,
    "lxml, nodes written": lxml_written,
    "expat and Python": expat,
    "Polars": polars,
}
NEEDS = {"Saxon": "saxonche", "lxml": "lxml", "lxml, nodes written": "lxml", "Polars": "polars"}


def peer_queries() -> Iterator[tuple[str, str, str]]:
    """Peer, query and kind of document."""
    for query in ("S1", "S2", "S3"):
        yield "Saxon", query, "stocks"
        yield "Polars", query, "stock lines"
    yield "expat and Python", "S3", "stocks"
    for query in PATHS:
        yield "Saxon", query, "auction"
        yield "lxml", query, "auction"
    yield "lxml, nodes written", "Q3", "auction"
    for query in ("R1", "R2", "R3", "R4"):
        yield "Saxon", query, "treebank"
        yield "lxml", query, "treebank"
