"""The queries of the XSeq paper as texts: name -> query. Where the print has slips, a comment says what was changed."""

from __future__ import annotations

# Sections 2 and 3.
QUERIES = {
    "query1": "//daughter[@Cname='Mary']/son /@Bdate",
    "query2": "// son[@Bplace='NY'] (/son[@Bplace='LA'])* /son[@Bplace='NY'] /@Cname",
    "query3": r"""
        return $B@Cname
        from //son[@Bplace='NY'] (/$A)* /$B[@Bplace='NY']
        where tag($A)='son' and $A@Bplace='LA' and tag($B)='son'
    """,
    # Printed with `$$S` for $S, and `//D` for //$D.
    "query4": r"""
        return $S@Cname
        from //$D[@Cname='Mary'] $S
        where tag($D)='daughter' and tag($S)='son'
    """,
    "query5": r"""
        return $X@Cname, $Y@Cname
        from //daughter[@Cname='Mary'] \ $X \ $Y
    """,
    "query6": r"""
        return $Y@Cname
        from //daughter[@Cname='Mary'] /\ $X \ $Y
    """,
    "query7": r"""
        return $X @Bplace, min($X @Bdate)
        from // $X
        where tag($X) = 'son'
        partition by //son @Bplace
    """,
    "query8": r"""
        return first($Z) $X @Cname
        from // ($Z: $X $Y $Z)
        where tag($X) = 'daughter' and tag($Y) = 'son'
    """,
    # Printed with every `$` as `\$`: in the star it is the axis `\`, as in Query 10.
    "query9": r"""
        return last($X)@price
        from /stocks /$Z (\$X)*
        where tag($Z) = 'transaction' and tag($X) = 'transaction'
        and $X@price < prev($X)@price
        partition by /stocks /transaction@company
    """,
    "query10": r"""
        return last($Y)@price
        from /stocks /$Z (\ $X)* (\ $Y)*
        where tag($Z) = 'transaction'
        and tag($X) = 'transaction' and tag($Y) = 'transaction'
        and $X@price < prev($X)@price
        and $Y@price > prev($Y)@price
        partition by /stocks /transaction@company
    """,
    "query11": r"""
        return $R @price, last($Y) @price
        from /stocks /$R ((\$S)* \$X (\$T)* \$Y)*
        where tag($R) = 'transaction' and tag($S) = 'transaction'
          and tag($X) = 'transaction' and tag($T) = 'transaction'
          and tag($Y) = 'transaction'
          and $R @price > first($S) @price
          and prev($S) @price > $S @price
          and last($S) @price > $X @price
          and $X @price < first($T) @price
          and prev($T) @price < $T @price
          and last($T) @price < $Y @price
          and prev($X) @price < $X @price
          and prev($Y) @price > $Y @price
        partition by /stocks /transaction @company
    """,
    "query12": r"""
        return first($T) @userid
        from /twitter /$Z (\$T)*
        where tag($Z) = 'tweet' and tag($T) = 'tweet'
          and $T @date-prev($T) @date < 2
          and last($T) @date-first($T) @date > 30
        partition by /twitter /tweet @userid
    """,
    # Printed with tag($X) = 'transaction', but the events of this document are all called event.
    "query13": r"""
        return $T@itemid
        from /events /$T \ $W* \ $X
        where tag($T) = 'event' and tag($W) = 'event' and tag($X) = 'event'
        and $T@eventtype = 'removed from shelf'
        and $X@eventtype = 'removed from store'
        and $W@eventtype != 'paid at register'
        partition by /events/event@itemid
    """,
    "query14": "(/folder[@hidden = 'false'])* /file",
    "query15": r"""
        return $Z @Cname
        from //$X[@haemophilia = 'true'] (/$Y /$Z)*
    """,
    "query16": r"""
        return $N/text()
        from //protein[$N]/$F \ $G (\ $H)*
        where tag($N) = 'fullName'
          and tag($F) = 'feature' and $F@type = 'beta-strand'
          and tag($G) = 'feature' and $G@type = 'beta-strand'
          and tag($H) = 'feature' and $H@type = 'beta-strand'
    """,
    "query17": r"""
        return max(last($X) @tend - first($X) @tstart)
        from // $Z* (\ $X)*
        where tag($X) = 'employee'
        and $X/salary/text() > prev($X)/salary/text()
        and $X@tstart <= prev($X)@tend
        partition by //employee @id
    """,
    "query18": r"""
        return $X
        from //employee[@$X]/$A $B $C (\ $D)* \ $E
        where tag($A) = 'salary' and tag($B) = 'dept'
        and tag($C) = 'salary' and tag($D) = 'salary'
        and tag($E) = 'dept' and tag($X) = 'id'
        and $E/text() <> $B/text()
        and last($D)/text() > 1.4 * $A/text()
    """,
    "query19": r"""
        return last($F) @input, count($F)
        from //$X (/$F)* /$E
        where tag($X) != 'fibonacci'
          and tag($F) = 'fibonacci'
          and tag($E) = 'exception'
    """,
}

# Section 7.4, over XMark.
XMARK = {
    "flat": "/site/people/person[@id = 'person0']/name/text()",
    "deep": (
        "/site/closed_auctions/closed_auction/annotation/ description/parlist/listitem/parlist/listitem/text/ "
        "emph/keyword/text()"
    ),
    "recursive": "(parlist/listitem)*",
    # Printed as `//closed_auctions/ (\X[tag(X)='closed_auction' and X@price < prev(X)@price])*`: variables without $,
    # and `/` before `\`, which is read as a first node of any place among the children.
    "monotonic": r"//closed_auctions /$X (\$X[tag($X) = 'closed_auction' and $X@price < prev($X)@price])*",
}

# Section 7.2, over Treebank. Printed without an axis for some steps, which by the grammar are siblings; Regular XPath,
# of which these are examples, has children there.
REGULAR = {
    "regular1": "/FILE/EMPTY(/VP)*/NP",
    "regular2": "/FILE(/EMPTY)*/S",
    "regular3": "/FILE(/EMPTY)*(/S)*/VP",
    "regular4": "/FILE(/EMPTY)*/S(/VP)*/NP",
}
REGULAR_AS_PRINTED = {
    "regular1_printed": "/FILE/EMPTY(VP)*NP",
    "regular2_printed": "/FILE(/EMPTY)*S",
    "regular3_printed": "/FILE(/EMPTY)*(S)*VP",
    "regular4_printed": "/FILE(/EMPTY)*S(/VP)*NP",
}


def _phases(*signs: str) -> str:
    """Prices that fall (<) and rise (>) in turn, each phase with at least one step."""
    names = "ABCD"[: len(signs)]
    walked = " ".join(rf"\${name} (\${name})*" for name in names)
    wanted = ["tag($Z) = 'transaction'"]
    before = "$Z@price"
    for name, sign in zip(names, signs, strict=True):
        wanted.append(f"tag(${name}) = 'transaction'")
        wanted.append(f"${name}@price {sign} prev(${name})@price")
        wanted.append(f"first(${name})@price {sign} {before}")
        before = f"last(${name})@price"
    return (
        f"return $Z@company, $Z@price, {before} from /stocks /$Z {walked} "
        f"where {' and '.join(wanted)} partition by /stocks /transaction@company"
    )


# Section 7.2, over stock prices: 'V', falling, 'W'. In Queries 9 and 10 a phase may be empty, and its first node need
# not continue the price before it; here each phase has a node, and goes on from there.
SHAPES = {
    "shape1": _phases("<", ">"),
    "shape2": _phases("<"),
    "shape3": _phases("<", ">", "<", ">"),
}

# Section 5. Example 5.4 is printed with `[c[$X]` for [c/$X].
OTHERS = {
    "example5.4": "doc()/a[c/d > e/f]/b",
    "example5.4_normalised": r"""
        doc()/a[c/$X][e/$Y]/b
        where tag($X) = 'd' and tag($Y) = 'f'
        and $X > $Y
    """,
    "example5.15": "doc()/a/$X[/c]",
    "oldest": "//son[@Bplace = 'LA'] @Bdate",
}

# Section 2: path variables.
PATH_VARIABLES = {
    "called_again": r"""
        return first($Z) $X @Cname
        from // ($Z: $X $Y $Z) $Z
        where tag($X) = 'daughter' and tag($Y) = 'son'
    """,
    "not_recursive": "return first($Z) $X @Cname from // ($Z: $X $Y)* where tag($X) = 'daughter' and tag($Y) = 'son'",
    "in_turn": "//a ($X: /b $Y) ($Y: /c $X)",
}
# What Rule 1 or the single definition refuses, with what the error says.
REFUSED = {
    "defined_twice": (
        "return first($Z) $X @Cname from // ($Z: $X $Y $Z) ($Z: $X) where tag($X) = 'daughter' and tag($Y) = 'son'",
        "$Z is defined twice",
    ),
    # Definition 2.9's example; $Z is defined here.
    "definition2.9": ("//a ($X: $X $Y $X)($Y: /son $Z)($Z: /b)", "$X → $X"),
    "footnote10": ("//r ($X: /a $X $Y)($Y: /b)", "$X → $X"),
    "in_a_circle": ("//r ($X: /a $Y /b)($Y: /c $X)", "$X → $Y → $X"),
    "in_a_star": ("//r ($X: (/a $X)*)", "$X → $X"),
    "in_a_predicate": ("//r ($X: /a[$X])", "$X → $X"),
}

ALL = {**QUERIES, **XMARK, **REGULAR, **REGULAR_AS_PRINTED, **SHAPES, **OTHERS, **PATH_VARIABLES}
