"""Rules that come and go while a stream runs: planned alone, they derive what they derive where all is planned anew."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ostinato
from ostinato.errors import OstinatoError
from ostinato.rules.incremental.engine import RuleEngine
from ostinato.rules.incremental.stream_binding import StreamBinding
from ostinato.rules.syntax.format import program_text
from support.derived import comparable_events, events_in
from support.generators.rules import SCHEMA, cases, program
from support.generators.terms import Row

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:no event has")]
_quiet = settings(deadline=None, suppress_health_check=list(HealthCheck))


def _parts(case: tuple[Any, list[Row]], label: str) -> list[str]:
    """A program for the rules of each stratum, which derive labels of their own or those of others."""
    texts = [program_text(program([stratum])) for stratum in case[0] if stratum]
    return texts + [text.replace("DETECT d", f"DETECT {label}") for text in texts[:1]]


def _change(engine: RuleEngine, act: str, name: str, text: str) -> str:
    """What a change says where it is refused."""
    try:
        if act == "deploy":
            engine.deploy(name, text)
        elif name in engine.deployed:
            engine.undeploy(name)
    except OstinatoError as error:
        return str(error)
    return ""


@settings(_quiet, max_examples=25)
@given(cases(), cases(), st.booleans(), st.data())
def test_what_is_planned_alone_derives_the_same(
    one: tuple[Any, list[Row]], other: tuple[Any, list[Row]], dicts: bool, data: Any
) -> None:
    texts = _parts(one, "g") + _parts(other, "h")
    rows = sorted([*one[1], *other[1]], key=lambda row: int(row["end"]))
    main = data.draw(st.sampled_from(texts))
    alone, anew = ostinato.rules(main).engine(), ostinato.rules(main).engine()
    while rows:
        size = data.draw(st.integers(1, 4))
        batch, rows = rows[:size], rows[size:]
        given_rows: Any = batch if dicts else pa.Table.from_pylist(batch, schema=SCHEMA)
        try:
            found = alone.push(given_rows)
        except OstinatoError as error:  # what the columns turn out to hold does not fit the rules
            with pytest.raises(OstinatoError) as refused, patch.object(StreamBinding, "changed", return_value=None):
                anew.push(given_rows)
            assert str(refused.value) == str(error)
            return
        assert comparable_events(events_in(found)) == comparable_events(events_in(anew.push(given_rows)))
        act, name = data.draw(st.sampled_from(["deploy", "deploy", "undeploy", ""])), data.draw(st.sampled_from("xyz"))
        text = data.draw(st.sampled_from(texts))
        if act:
            said = _change(alone, act, name, text)
            with patch.object(StreamBinding, "changed", return_value=None):
                assert said == _change(anew, act, name, text)
        if data.draw(st.sampled_from([True, False, False])):
            alone = RuleEngine.restore(alone.snapshot())
    assert comparable_events(events_in(alone.flush())) == comparable_events(events_in(anew.flush()))
