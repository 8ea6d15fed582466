"""A model explained stage by stage."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ostinato.core.text.counts import format_count

if TYPE_CHECKING:
    from ostinato.forecast.model import ForecastModel

_MOST = 12  # symbols, and contexts, that are listed


def explain_model(model: ForecastModel) -> str:
    return "\n\n".join(
        f"== {title} ==\n{body}"
        for title, body in (
            ("pattern", _pattern(model)),
            ("symbols", _symbols(model)),
            ("automaton", _automaton(model)),
            ("prediction suffix tree", _tree(model)),
            ("waiting times", _waiting(model)),
            ("intervals", _intervals(model)),
        )
    )


def _pattern(model: ForecastModel) -> str:
    features = "".join(f"\nfeature: {feature}" for feature in model.pattern.features)
    return model.pattern.text.strip() + features


def _symbols(model: ForecastModel) -> str:
    statistics, symbols = model.statistics, model.symbols
    often = np.zeros(len(symbols))
    np.add.at(often, statistics.counts.grams[:, -1], statistics.counts.weights)
    texts = symbols.texts()
    lines = [f"{len(statistics.symbols)} were observed in {format_count(statistics.events, 'event')}"]
    ranked = np.argsort(-often, kind="stable")[: min(_MOST, len(statistics.symbols))].tolist()
    lines += [f"  {often[symbol] / max(often.sum(), 1):7.2%}  {texts[symbol]}" for symbol in ranked]
    if len(statistics.symbols) > _MOST:
        lines.append(f"  … and {len(statistics.symbols) - _MOST} more")
    if len(symbols) > len(statistics.symbols):
        lines.append(
            f"{len(symbols) - len(statistics.symbols)} more can be read, but never were: they have no probability"
        )
    return "\n".join(lines)


def _automaton(model: ForecastModel) -> str:
    automaton = model.automaton
    distance = automaton.distance()
    farthest = format_count(int(distance.max(initial=0)), "event")
    lines = [f"{format_count(automaton.states, 'state')}, at most {farthest} from a completion"]
    completions = format_count(model.statistics.completions, "completion")
    lines.append(f"learned from {completions}: {model.statistics.rate:.3%} of events")
    grid = model.symbols.grid
    if grid is not None:
        lines.append(f"ages are counted in parts of the window, {grid.parts} of them, and known to the nearest one")
    return "\n".join(lines)


def _tree(model: ForecastModel) -> str:
    tree = model.predictor.tree
    lines = [f"order {model.order}: {format_count(len(tree.contexts), 'context')}"]
    if model.choice is not None:
        lines += ["log-loss on held-out events, by order:"]
        lines += [
            f"  {tried.order:2}  {tried.log_loss:.4f}  {format_count(tried.nodes, 'context')}"
            + ("  <- chosen" if tried.order == model.choice.order else "")
            for tried in model.choice.tried
        ]
    return "\n".join(lines)


def _waiting(model: ForecastModel) -> str:
    product, waiting = model.predictor.product, model.predictor.waiting
    size = product.next.nbytes + product.completes.nbytes + product.probability.nbytes + waiting.nbytes
    clock = "; also in seconds" if model.predictor.completion_times is not None else ""
    ahead = f"{format_count(model.settings.horizon, 'event')} ahead"
    return f"{format_count(product.states, 'state')}, {ahead}{clock}; {size:,} bytes"


def _intervals(model: ForecastModel) -> str:
    if model.calibration is None:
        return f"threshold {model.settings.threshold:g}, not calibrated"
    lines = [str(model.calibration)]
    if model.calibration_seconds is not None:
        lines.append(f"in seconds: {model.calibration_seconds}")
    if model.alarm is not None and model.alarm.last is not None:
        lines.append(str(model.alarm.last))
    return "\n".join(lines)
