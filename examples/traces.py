"""Traces of a program as nested calls: how deep a recursion was when it failed, and which failures had a retry."""

from __future__ import annotations

import random

import ostinato as ost

# The paper's Query 19: a call other than fibonacci, then nested calls of fibonacci, then an exception.
DEPTH = """
return $X@request as request, last($F)@input as input, count($F) as depth
from //$X (/$F)* /$E
where tag($X) != 'fibonacci' and tag($F) = 'fibonacci' and tag($E) = 'exception' and count($F) > 0
"""
# A failed call, then the same call again and again, each right after the one before, until one succeeded.
RETRIED = r"""
return $C@to as service, count($C) as failures, $W@ms as ms
from //$C[exception] (\$C[exception])* \$W
where tag($C) = 'call' and tag($W) = 'call' and $C@to = $W@to and $W@status = 'ok' and count($C) > 1
"""


def request(number: int, chance: random.Random) -> str:
    """One request of the trace: some calls to services, some of them repeated, and a computation that may fail."""
    calls = ""
    for service in chance.sample(("billing", "mail", "search"), 2):
        for _ in range(chance.choice((0, 0, 0, 1, 3))):
            calls += f'<call to="{service}" ms="30"><exception type="timeout"/></call>'
        calls += f'<call to="{service}" ms="{chance.randrange(3, 30)}" status="ok"/>'
    start = chance.randrange(4, 9)
    inner = '<exception type="overflow"/>' if chance.random() < 0.2 else ""
    for value in range(start - chance.randrange(1, 4), start + 1):
        inner = f'<fibonacci input="{value}">{inner}</fibonacci>'
    return f'<compute request="r{number}">{inner}</compute>{calls}'


def main(requests: int = 200, seed: int = 3) -> None:
    chance = random.Random(seed)
    trace = "<trace>" + "".join(request(number, chance) for number in range(requests)) + "</trace>"

    failed = ost.xseq(DEPTH).detect(trace)
    print(f"{len(failed)} of {requests} requests failed while they computed")
    for row in failed.slice(0, 3).to_pylist():
        print(f"  {row['request']}: fibonacci({row['input']}), {row['depth']} calls deep")

    query = ost.xseq(RETRIED, matches="longest")
    for row in query.detect(trace).slice(0, 3).to_pylist():
        print(f"  {row['service']} went well after {row['failures']} failures in a row, in {row['ms']} ms")
    # A failure is inside the call, not in its attributes, so the calls of an element are kept until it ends.
    kept = [line for line in query.explain().splitlines() if "kept in memory" in line]
    print(*kept, sep="\n")


if __name__ == "__main__":
    main()
