"""Queries of the paper over a family tree in XML: children are nested, brothers and sisters in order of birth."""

from __future__ import annotations

import ostinato as ost

TREE = """\
<family>
 <daughter Cname="Mary" Bdate="1950" Bplace="NY">
  <son Cname="Al" Bdate="1970" Bplace="LA"><son Cname="Ben" Bdate="1990" Bplace="NY"/></son>
  <daughter Cname="Cat" Bdate="1972" Bplace="LA"/>
  <son Cname="Dan" Bdate="1975" Bplace="NY"/>
 </daughter>
 <son Cname="Ed" Bdate="1952" Bplace="NY">
  <son Cname="Fay" Bdate="1973" Bplace="LA">
   <son Cname="Gus" Bdate="1994" Bplace="LA"><son Cname="Hal" Bdate="2015" Bplace="NY"/></son>
  </son>
 </son>
 <daughter Cname="Ida" Bdate="1955" Bplace="SF"/>
 <son Cname="Jon" Bdate="1957" Bplace="LA"/>
</family>
"""
QUESTIONS = {
    "when Mary's sons were born": "//daughter[@Cname='Mary']/son/@Bdate",
    "sons in NY with only sons in LA between them and an ancestor in NY": (
        "//son[@Bplace='NY'] (/son[@Bplace='LA'])* /son[@Bplace='NY'] /@Cname"
    ),
    "the two born right after Mary": r"return $X@Cname as next, $Y@Cname as then from //*[@Cname='Mary'] \$X \$Y",
    "daughters followed by a brother, and how many take turns so": (
        "return first($Z) $X@Cname as first, count($X) as pairs "
        "from // ($Z: $X $Y $Z) where tag($X)='daughter' and tag($Y)='son'"
    ),
    "each line of descent from father to son, and how long it is": (
        "return $A@Cname as father, last($S)@Cname as son, count($S) as generations "
        "from //$A (/$S)* where tag($A)='son' and tag($S)='son' and count($S) > 1"
    ),
    "who has a nephew or niece by an elder sibling": "return $U@Cname as name from //$U[preceding_sibling::*/*]",
    "the eldest of each place": (
        "return $X@Bplace as place, min($X@Bdate) as born from //$X where $X@Bdate > 0 partition by //*@Bplace"
    ),
}


def main() -> None:
    for question, text in QUESTIONS.items():
        print(f"{question}\n  {text}")
        for row in ost.xseq(text).detect(TREE).to_pylist():
            print("    " + ", ".join(f"{name} {value}" for name, value in row.items()))

    # The same path: every match, or only those that no other match continues.
    sisters = r"return $X@Cname as first, last($Y)@Cname as last from //$X (\$Y)* where last($Y)@Cname != ''"
    counts = {which: ost.xseq(sisters, matches=which).count(TREE) for which in ("all", "longest")}
    print("runs of brothers and sisters:", ", ".join(f"{count} {which}" for which, count in counts.items()))


if __name__ == "__main__":
    main()
