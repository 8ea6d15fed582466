"""Programs of event rules that together have every operator, and a stream for them."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from typing import Any

import pyarrow as pa

from support.spark.patterns import START

SCHEMA = pa.schema(
    {
        "type": pa.string(),
        "begin": pa.timestamp("us", tz="UTC"),
        "end": pa.timestamp("us", tz="UTC"),
        "k": pa.string(),
        "v": pa.int64(),
        "w": pa.float64(),
        "tags": pa.list_(pa.string()),
        "at": pa.struct({"x": pa.int64(), "y": pa.float64()}),
        "seen": pa.timestamp("us", tz="UTC"),
    }
)


def events(seed: int, size: int) -> pa.Table:
    """Events a, b, c in order of their end, most of them short, with NULL and NaN among their values."""
    pick = random.Random(seed)
    rows, seconds = [], 0.0
    for _ in range(size):
        seconds += pick.choice((0, 0.5, 1, 1, 2, 0.000001))
        end = START + timedelta(seconds=seconds)
        rows.append(
            {
                "type": pick.choice("aaabbbcc"),
                "begin": end - timedelta(seconds=pick.choice((0, 0, 0, 1, 3))),
                "end": end,
                "k": pick.choice(("x", "y", "ü", "x", None)),
                "v": pick.choice((0, 1, 2, 3, None)),
                "w": pick.choice((0.5, 1.5, -0.0, float("nan"), None)),
                "tags": pick.choice((["p"], ["p", "q"], [], ["q", None], None)),
                "at": pick.choice(({"x": 1, "y": 0.5}, {"x": 2, "y": None}, None)),
                "seen": pick.choice((end, START, None)),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)


# No two of these derive the same label, so that they can be one program too.
PROGRAMS = {
    "tables": """
        TABLE c KEY k
        DETECT placed { k { var K }, v { var V }, of { var U } }
        ON and { event i: a {{ k {{ var K }}, v {{ var V }} }}, at i: c {{ k {{ var K }}, v {{ var U }} }} } END
        DETECT bare { k { var K }, v { var V } }
        ON and { event i: a {{ k {{ var K }}, v {{ var V }} }}, at i: not c {{ k {{ var K }}, v {{ }} }} } END""",
    "joins": """
        DETECT pair { k { var K }, v { var V + var U } }
        ON and { event i: a {{ k {{ var K }}, v {{ var V }} }}, event j: b {{ k {{ var K }}, v {{ var U }} }}
           } where { i before j, {i, j} within 4 sec, var V != var U } END
        DETECT either { k { var K } }
        ON or { event i: a {{ k {{ var K }}, v { 3 } }}, event i: c {{ k {{ var K }} }} } where { var K > "x" } END
        DETECT triple { k { var K } }
        ON and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }}, event h: c {{ k {{ var K }} }}
           } where { i before j, j before h, {i, j, h} within 8 sec } END
        DETECT overlap { v { var V } }
        ON and { event i: a {{ v {{ var V }} }}, event j: b {{ v {{ var V }} }}
           } where { i overlaps j or i during j or i meets j or i starts j or i finishes j or i equals j } END
        DETECT since { k { var K } } from end(i) to end(j)
        ON and { event i: a {{ k {{ var K }} }}, event j: b {{ k {{ var K }} }}
           } where { i before j, {i, j} within 4 sec } END
        DETECT apart { v { var V } }
        ON and { event i: c {{ v {{ var V }} }}, event j: c {{ v {{ var V }} }}
           } where { {i, j} apart-by 3 sec, {i, j} within 9 sec, i before j } END
    """,
    "timers": " ".join(
        f"""DETECT t_{kind.replace("-", "_")} {{ k {{ var K }} }}
        ON and {{ event n: a {{{{ k {{{{ var K }}}} }}}}, event i: timer:{kind} [ event n, 2 sec ],
                 while i: not b {{{{ k {{{{ var K }}}} }}}} }} END"""
        for kind in (
            *("from-end", "from-start", "from-end-backward", "from-start-backward", "extend", "shorten"),
            *("extend-begin", "shorten-begin", "shift-forward", "shift-backward"),
        )
    )
    + """
        DETECT fixed { k { var K } }
        ON and { event n: a {{ k {{ var K }} }},
                 event i: timer:absolute [ "2026-01-01T00:00:05Z", "2026-01-01T00:00:25Z" ]
           } where { n during i } END
    """,
    "collects": """
        DETECT mean { k { var K }, mean { avg(all var V) }, most { max(all var W) }, many { count(all var V) } }
        ON and { event m: a {{ k {{ var K }} }}, event i: timer:from-start-backward [ event m, 6 sec ],
                 while i: collect event w: b {{ k {{ var K }}, v {{ var V }}, optional w {{ var W }} }} } END
        DETECT spread { k { var K }, n { count(each 1) }, sum { sum(each var V) }, values { count(distinct var V) },
                        half { median(each var V) }, apart { stddev(all var W) } }
        ON and { event m: a {{ k {{ var K }} }}, event i: timer:from-start-backward [ event m, 6 sec ],
                 while i: b {{ k {{ var K }}, v {{ var V }}, optional w {{ var W }} }} } END
        DETECT busy { k { var K } }
        ON and { event m: c {{ }}, event i: timer:extend-begin [ event m, 8 sec ],
                 while i: a {{ k {{ var K }}, v {{ var V }} }}
           } where { count(each 1) > 1, max(all var V) > 1 or i before m } END
        DETECT list { k { var K }, all one { v { var V }, n { count(all var U) } } order by [ var V desc ] }
        ON and { event m: c {{ k {{ var K }} }}, event i: timer:extend-begin [ event m, 8 sec ],
                 while i: collect a {{ v {{ var V }} }}, while i: collect b {{ v {{ var U }} }} } END
        DETECT ends { first { first(all var K) }, last { last(all var K) }, least { min(all var V) },
                      all keys { var K } }
        ON and { event m: c {{ }}, event i: timer:from-end-backward [ event m, 5 sec ],
                 while i: collect a {{ k {{ var K }}, v {{ var V }} }} } END
    """,
    "nested": """
        DETECT tag { tag { var T }, k { var K } }
        ON event i: a {{ tags {{ var T }}, optional k {{ var K }} }} END
        DETECT both { x { var X }, k { var K } }
        ON and { event i: a {{ at {{ x {{ var X }} }}, k {{ var K }} }}, event j: b {{ at {{ x {{ var X }} }} }}
           } where { {i, j} within 2 sec } END
        DETECT anything { what { var A } }
        ON event i: c {{ desc y {{ var A }} }} END
        DETECT bare { k { var K }, p { var P }, x { var X } }
        ON event i: b {{ position var P k { var K -> /[xy]/ }, at {{ /x|z/ {{ var X }}, without y {{ }} }} }} END
        DETECT seen { seen { var S }, k { lower(var K) } }
        ON event i: b {{ seen {{ var S }}, k { var K }, optional w {{ var W }} }}
        where { var K like "_", var W is null or var W < 1 } END
    """,
    "values": """
        DETECT told { k { upper(var K) || substring(trim(var K || ' '), 1, 1) || replace(var K, 'x', 'zz') },
                      is { CASE WHEN var V > 2 THEN 'high' WHEN var V > 0 THEN var K END }, ended { end(m) } }
        ON event m: a {{ k {{ var K }}, v {{ var V }} }} where { begin(m) > TIMESTAMP '2026-01-01 00:00:05+00:00' } END
        DETECT times { latest { max(all end(w)) }, all since { begin(w) } }
        ON and { event m: c {{ }}, event i: timer:from-end-backward [ event m, 5 sec ],
                 while i: collect event w: a {{ }} } END
    """,
    "chain": """
        DETECT high { k { var K }, n { var V } } ON event i: a {{ k { var K }, v { var V } }} where { var V > 1 } END
        DETECT two { k { var K }, sum { var N + var M } }
        ON and { event i: high {{ k {{ var K }}, n {{ var N }} }}, event j: high {{ k {{ var K }}, n {{ var M }} }}
           } where { i before j, {i, j} within 25 sec } END
        DETECT quiet { k { var K }, sum { var S } }
        ON and { event p: two {{ k {{ var K }}, sum {{ var S }} }}, event i: timer:from-end [ event p, 3 sec ],
                 while i: not high {{ k {{ var K }} }} } END
        DETECT all_quiet { n { count(all var K) } }
        ON and { event q: quiet {{ }}, event i: timer:from-end-backward [ event q, 20 sec ],
                 while i: collect quiet {{ k {{ var K }} }} } END
    """,
    "recursion": """
        DETECT path { from { var V }, to { var U } }
        ON and { event i: a {{ v {{ var V }} }}, event j: b {{ v {{ var U }} }}
           } where { i before j, {i, j} within 2 sec }
        END
        DETECT path { from { var F }, to { var U } }
        ON and { event i: path {{ from {{ var F }}, to {{ var T }} }}, event j: path {{ from { var T }, to { var U } }}
           } where { i before j, {i, j} within 12 sec } END
        DETECT loop { at { var V } } ON event i: path {{ from {{ var V }}, to {{ var V }} }} END
    """,
}

PROGRAMS["periodic"] = """
    DETECT per_window { k { var K }, n { count(all var V) } }
    ON and { event w: timer:tumbling [10 sec], while w: collect event e: a {{ k {{ var K }}, v {{ var V }} }} } END
    DETECT silence { ended { end(h) } }
    ON and { event p: timer:every [4 sec], event h: timer:from-end-backward [event p, 2 sec], while h: not b {{ }} } END
"""
PROGRAMS["outputs"] = """
    PRIVATE DETECT many { k { var K }, v { var V } } ON event i: a {{ k {{ var K }}, v {{ var V }} }} END
    DETECT few { k { var K }, v { var V } } AT MOST 1 PER 10 sec PER var K
    ON event i: many {{ k {{ var K }}, v {{ var V }} }} END
    DETECT fewer { n { var V + 1 } } AT MOST 2 PER 20 sec ON event i: b {{ v {{ var V }} }} END
"""
PROGRAMS["patterns"] = """
    DETECT burst { k { var K } }
    ON event p: cel "SELECT x.k AS k WHERE a AS x ; b AS y WITHIN 3 EVENTS" {{ k { var K } }} END
    DETECT calm { k { var K } }
    ON and { event p: cel "SELECT x.k AS k WHERE a AS x ; b AS y WITHIN 2 seconds" {{ k { var K } }},
             event t: timer:from-end [ event p, 2 sec ], while t: not c {{ k { var K } }} } END
    DETECT again { k { var K }, v { var V } }
    ON and { event p: cel "SELECT MAX y.k AS k, y.v AS v WHERE (burst AS x)+ ; a AS y FILTER y[v >= 1] WITHIN 3 seconds"
                      {{ k { var K }, v { var V } }},
             event t: timer:from-end [ event p, 1 sec ], while t: not b {{ k { var K } }} } END
    DETECT rises_then_calm { k { var K } }
    ON event p: srem "[type = 'rises'] . [type = 'calm'] PARTITION BY k WITHIN 9 seconds" {{ k { var K } }} END
    DETECT dip { k { var K }, to { var V } }
    ON event p: sql "SELECT k, low FROM a MATCH_RECOGNIZE (PARTITION BY k MEASURES LAST(B.v) AS low
                     PATTERN (A B C) DEFINE B AS v < A.v, C AS v > PREV(v)) WHERE k IS NOT NULL"
                {{ k { var K }, low { var V } }} END
    DETECT sooner { k { var K } }
    ON event p: sql "SELECT * FROM calm MATCH_RECOGNIZE (MEASURES LAST(k) AS k AFTER MATCH SKIP TO NEXT ROW
                     PATTERN (A B*? C) DEFINE A AS k = 'x', B AS k = 'x', C AS k <> 'x')" {{ k { var K } }} END
    DETECT rises { k { var K } }
    ON event p: srem "[type != 'c'] -> r . [type = 'b' AND v > r.v] PARTITION BY k WITHIN 5 seconds"
                {{ k { var K } }} END
"""
ALL = "\n".join(PROGRAMS.values())

DOCUMENTS = """
    DETECT big { who { var W }, sum { var A } }
    ON event i: order {{ customer {{ name { var W } }}, desc amount { var A } }} where { var A > 10 } END
    DETECT late { who { var W }, item { var I } }
    ON and { event i: order {{ customer {{ name { var W } }}, item {{ var I -> item {{ }} }} }},
             event t: timer:from-end [ event i, 5 sec ],
             while t: not sent {{ desc name { var W } }} } END
"""


def documents() -> pa.Table:
    """The same kind of events as JSON and as XML."""
    rows: list[dict[str, Any]] = []
    for place, who in enumerate(("ann", "bob", "ann", "cem")):
        order = {"customer": {"name": who, "age": 30 + place}, "item": [{"item": {"amount": 5 * place}}, {"item": "x"}]}
        rows.append({"ts": START + timedelta(seconds=2 * place), "type": "order", "text": json.dumps(order)})
    rows.append({"ts": START + timedelta(seconds=3), "type": "sent", "text": '{"to": {"name": "bob"}}'})
    xml = "<order id='7'><customer><name>dee</name></customer><item><item><amount>12</amount></item></item></order>"
    rows.append({"ts": START + timedelta(seconds=9), "type": None, "text": xml})
    schema = pa.schema({"ts": pa.timestamp("us", tz="UTC"), "type": pa.string(), "text": pa.string()})
    return pa.Table.from_pylist(rows, schema)


def shown(answer: pa.Table) -> list[str]:
    """Derived events as texts, in an order of their own."""
    return sorted(repr([(name, _rounded(value)) for name, value in row.items()]) for row in answer.to_pylist())


def _rounded(value: Any) -> Any:
    """Sums of floats differ in their last digit by the order of their parts."""
    return round(value, 9) + 0.0 if isinstance(value, float) else value
