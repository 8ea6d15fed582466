"""Forecast card thefts: a model learns how they begin, and warns before the large amounts come."""

from __future__ import annotations

from datetime import timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import ostinato as ost
from ostinato.samples import CARD_FEATURES, CARD_PATTERN, transactions

LEARNED, WATCHED = 1_000_000, 100_000
HORIZON = 12
SHOWN = 7  # transactions from the warning to the completion in the example that is printed
WARN_FROM = 0.5  # warn at this probability or above


def main() -> None:
    events = transactions(LEARNED + WATCHED)
    history, live = events.slice(0, LEARNED), events.slice(LEARNED)

    # How likely is it that the ladder of large amounts is complete within 12 transactions of the card, and when?
    model = ost.Forecaster(CARD_PATTERN, horizon=HORIZON, threshold=0.8, features=CARD_FEATURES).fit(history)
    print(
        f"learned from {LEARNED:,} transactions, {int(model.statistics.completions):,} of which completed the pattern"
    )
    print(f"order {model.order} predicts held-out transactions best; {model.calibration}")

    forecasts = model.forecast(live)
    for name in forecasts.column_names:
        live = live.append_column(name, forecasts[name])
    shown = report_warnings(live)
    print(f"\n{shown['card'][0]}, up to an alarm:")
    for row in shown.to_pylist():
        when = ""
        if row["completes"]:
            when = "the pattern is complete"
        elif row["earliest"] is not None:
            by = row["ts"] + timedelta(seconds=row["latest_seconds"])
            when = f"in {row['earliest']}–{row['latest']} transactions, by {by:%a %H:%M}"
        bar = "█" * round(20 * row["probability"])
        print(f"  {row['ts']:%a %H:%M} {row['amount']:8.2f}  {row['probability']:4.0%} {bar:20} {when}".rstrip())

    print("\na completion within 5 transactions, by the model and by what it must beat:")
    print(model.evaluate(live, within=5))


def report_warnings(live: pa.Table) -> pa.Table:
    """Print how many completions had a warning, and how long before; return the rows around one of them."""
    ahead: list[int] = []
    hours: list[float] = []
    missed = false_alarms = 0
    shown = live.slice(0, 0)
    for card in live["card"].unique():
        rows = live.filter(pc.equal(live["card"], card))
        ends, times = np.flatnonzero(rows["completes"].to_numpy()), rows["ts"].to_numpy()
        likely = rows["probability"].to_numpy() >= WARN_FROM
        begun = np.flatnonzero(likely & ~np.concatenate([[False], likely[:-1]]))  # where a warning is first given
        for before, end in pairwise([-1, *ends.tolist()]):
            recent = begun[(begun < end) & (begun > before) & (begun >= end - HORIZON)]
            if not len(recent):
                missed += 1
                continue
            if end - recent[0] == SHOWN and not len(shown):
                shown = rows.slice(max(0, recent[0] - 5), SHOWN + 6)
            ahead.append(end - recent[0])
            hours.append((times[end] - times[recent[0]]) / np.timedelta64(1, "h"))
        false_alarms += sum(not ((ends > begin) & (ends <= begin + HORIZON)).any() for begin in begun)
    print(
        f"{len(ahead) + missed} completions in {len(live):,} further transactions: {len(ahead)} with a warning, "
        f"{np.median(ahead):.0f} transactions and {np.median(hours):.1f} hours before (median); "
        f"{false_alarms} false alarms"
    )
    return shown


if __name__ == "__main__":
    main()
