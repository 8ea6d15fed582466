"""A model on its way to the tasks: the files it is saved as, and rebuilt once in each process."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import lru_cache

from ostinato.forecast.model import ForecastModel
from ostinato.forecast.settings import Settings
from ostinato.forecast.storage import of_files, to_files

_KEPT = 4  # models in a process: tasks of several jobs may take turns


@dataclass(frozen=True)
class Shipped:
    """`digest` tells models apart."""

    digest: str
    files: dict[str, bytes] = field(compare=False, repr=False)

    @classmethod
    def of(cls, model: ForecastModel, settings: Settings) -> Shipped:
        """A model as it is now, reading rows by these settings."""
        parts = (model.learnt, model.order, model.judgement, model.alarm, model.choice)
        files = to_files(ForecastModel(settings, *parts))
        joined = hashlib.blake2b(digest_size=16)
        for content in files.values():
            joined.update(content)
        return cls(joined.hexdigest(), files)

    @property
    def model(self) -> ForecastModel:
        return _rebuilt(self)


@lru_cache(maxsize=_KEPT)
def _rebuilt(shipped: Shipped) -> ForecastModel:
    return of_files(shipped.files, source="this job")
