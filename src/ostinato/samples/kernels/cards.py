"""What the holder of a card buys, and what a thief does with it, one transaction after the other.

`ostinato.samples.cards` describes the process.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ostinato.core.jit import array, kernel, table, view
from ostinato.core.jit.types import boolean, float64, int8, int64, void

HOLDER, PROBE, LADDER, TRIAL, PLAN, SPREE = range(6)  # who buys, and why

# How many of the holder's ordinary transactions give way to the first one of an episode.
_THEFT, _TRIAL, _PLAN, _SPREE = 0.0095, 0.012, 0.0165, 0.003
_PAYDAY, _HOLIDAY = 2.5, 2.0  # as many sprees on such days
_HOLIDAYS = 1 / 900  # of ordinary transactions, how many begin a holiday

# Amounts are lognormal: these are the logarithms of their medians, and how far they spread.
_FIRST, _LAST = np.log(1.2), np.log(45.0)  # probes and trials rise from one to the other
_RUNGS = np.log(np.array([160.0, 350.0, 720.0, 1500.0]))
_STEPS = np.log(np.array([35.0, 65.0, 160.0, 350.0, 720.0, 1500.0]))
_ENOUGH = np.array([0.0, 0.0, 0.0, 0.1, 0.2, 0.9, 1.0])  # after so many steps, how many plans are done
_TREAT = np.log(270.0)
_ORDINARY_SPREAD, _SPREAD, _TREAT_SPREAD = 0.8, 0.18, 0.6

_GOES_ON = 0.9  # of thieves, from probing to the ladder
_MEANWHILE, _MEANWHILE_SPREE = 0.05, 0.3  # of the transactions in an episode, how many are ordinary ones
# Until the next transaction, as a share of the time that it takes on an ordinary day.
_PAUSE = np.array([1.0, 0.15, 0.05, 0.15, 0.3, 0.3])


@kernel(
    void(
        view(int64), view(float64), view(float64), view(boolean), table(float64, constant=True),
        view(float64), view(float64), array(float64), array(float64), array(int8), array(boolean),
    )
)  # fmt: skip
def buy(
    begins: NDArray[np.int64],
    usual: NDArray[np.float64],
    per_day: NDArray[np.float64],
    paydays: NDArray[np.bool_],
    chance: NDArray[np.float64],
    noise: NDArray[np.float64],
    gaps: NDArray[np.float64],
    day: NDArray[np.float64],
    amount: NDArray[np.float64],
    why: NDArray[np.int8],
    away: NDArray[np.bool_],
) -> None:
    """Fill in `day` (since the first, with a fraction), `amount`, `why`, and whether the holder is `away` on holiday.

    Card c has rows begins[c] … begins[c + 1], in order of time, `per_day[c]` of them on an ordinary day, each about
    exp(usual[c]). A row has two numbers of `chance`, one of `noise` (normal) and one of `gaps` (exponential, mean 1).
    """
    for card in range(len(begins) - 1):
        mode, step, steps = HOLDER, 0, 0
        now, holiday_ends = 0.0, -1.0
        for row in range(begins[card], begins[card + 1]):
            now += gaps[row] * _PAUSE[mode] / per_day[card]
            first, second = chance[row, 0], chance[row, 1]
            holiday = now < holiday_ends
            if mode == HOLDER:
                sprees = _SPREE
                if holiday:
                    sprees *= _HOLIDAY
                if paydays[int(now) % len(paydays)]:
                    sprees *= _PAYDAY
                if first < _THEFT:
                    mode, steps = PROBE, 5 + int(4 * second)
                elif first < _THEFT + _TRIAL:
                    mode, steps = TRIAL, 2 + int(3 * second)
                elif first < _THEFT + _TRIAL + _PLAN:
                    mode, steps = PLAN, len(_STEPS)
                elif first < _THEFT + _TRIAL + _PLAN + sprees:
                    mode, steps = SPREE, 3 + int(3 * second)
                elif first > 1 - _HOLIDAYS and not holiday:
                    holiday_ends = now + 7 + 7 * second
            day[row], why[row], away[row] = now, mode, holiday
            # An episode has begun with its first transaction, so that only later ones are mixed with ordinary ones.
            if mode == HOLDER or (step > 0 and first < (_MEANWHILE_SPREE if mode == SPREE else _MEANWHILE)):
                amount[row] = np.exp(usual[card] + _ORDINARY_SPREAD * noise[row]) * (1.5 if holiday else 1.0)
                why[row] = HOLDER
                continue
            if mode == SPREE:
                amount[row] = np.exp(_TREAT + _TREAT_SPREAD * noise[row])
            else:
                middle = _FIRST + (step + 0.5) / steps * (_LAST - _FIRST)
                if mode == LADDER:
                    middle = _RUNGS[step]
                elif mode == PLAN:
                    middle = _STEPS[step]
                amount[row] = np.exp(middle + _SPREAD * noise[row])
            step += 1
            if step == steps and mode == PROBE and second < _GOES_ON:
                mode, step, steps = LADDER, 0, len(_RUNGS)
            elif step == steps or (mode == PLAN and second < _ENOUGH[step]):
                mode, step = HOLDER, 0
