"""The options of a forecaster, and its limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import Any, Literal

from ostinato.core.options import bad_option, check_column_name, check_column_names, check_limits
from ostinato.errors import Message, Option, OstinatoError, did_you_mean
from ostinato.forecast.learn.suffix_tree import Learning

MAX_ORDER = 50
MAX_HORIZON = 100_000


@dataclass(frozen=True, kw_only=True)
class ForecastLimits:
    """Bounds on a model.

    Attributes
    ----------
    pattern_states
        States of the pattern made deterministic.
    states
        States of the pattern together with all contexts.
    memory
        Bytes of the waiting times.
    """

    pattern_states: int = 100_000
    states: int = 2_000_000
    memory: int = 2 << 30

    def __post_init__(self) -> None:
        check_limits(self)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """`order`: the longest context, "auto" for the one that predicts held-out events best; `horizon`: how many events
    ahead to look; `threshold`: the probability that intervals promise; `holdout`: the share of the history, its end,
    that order and calibration are chosen by (0: none)."""

    order: int | Literal["auto"] = "auto"
    horizon: int = 200
    threshold: float = 0.5
    calibrate: bool = True
    holdout: float = 0.2
    time: str | None = None
    type: str | None = None
    order_by: tuple[str, ...] = ()
    learning: Learning = field(default_factory=Learning)
    limits: ForecastLimits = field(default_factory=ForecastLimits)

    @classmethod
    def of(cls, *, order_by: Sequence[str] = (), limits: ForecastLimits | None = None, **options: Any) -> Settings:
        """From keyword arguments, those of `Learning` among them."""
        options = {option: to_python(value) for option, value in options.items()}
        learning = {each.name: options.pop(each.name) for each in fields(Learning) if each.name in options}
        known = {each.name for each in fields(cls)} - {"learning"}
        for option in options:
            if option not in known:
                others = known | {each.name for each in fields(Learning)} | {"features", "language"}
                raise OstinatoError(
                    f"a forecaster has no option `{option}`", fix=did_you_mean(option, others), option=option
                )
        return cls(
            order_by=check_column_names("order_by", order_by),
            learning=Learning(**learning),
            limits=limits or ForecastLimits(),
            **options,
        )

    def __post_init__(self) -> None:
        if self.order != "auto":
            _check_whole("order", self.order, 0, MAX_ORDER, ', or "auto"')
        _check_whole("horizon", self.horizon, 1, MAX_HORIZON)
        _check_share("threshold", self.threshold)
        if self.holdout != 0:
            _check_share("holdout", self.holdout)
        elif self.order == "auto":
            accepted = Message("more than 0 for ", Option("order", "auto"), ": the order is chosen by what is held out")
            raise bad_option("holdout", 0, accepted)
        if not isinstance(self.calibrate, bool):
            raise bad_option("calibrate", self.calibrate, "True or False")
        if not isinstance(self.limits, ForecastLimits):
            raise bad_option("limits", self.limits, "an ostinato.ForecastLimits")
        check_column_name("time", self.time)
        check_column_name("type", self.type)

    @property
    def binding(self) -> dict[str, Any]:
        return {"time": self.time, "type": self.type, "order_by": self.order_by}


def to_python(value: Any) -> Any:
    """Numbers of numpy as those of Python, so that they can be saved."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return value
    return int(value) if isinstance(value, Integral) else float(value)


def _check_whole(option: str, value: object, least: int, most: int, otherwise: str = "") -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise bad_option(option, value, f"a whole number from {least} to {most:,}{otherwise}")


def check_probability(option: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 <= float(value) <= 1:
        raise bad_option(option, value, "a number from 0 to 1")


def _check_share(option: str, value: object) -> None:
    if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < 1:
        raise bad_option(option, value, "a number between 0 and 1")
