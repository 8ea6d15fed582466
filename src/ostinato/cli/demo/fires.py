"""The demo: a week of farm sensors with a few fires in it, found by one query; then thefts on cards, foreseen."""

from __future__ import annotations

import shutil
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from ostinato.core.arrays import Float64
from ostinato.viz.table import terminal_table
from ostinato.viz.timeline import Timeline

QUERY = """\
-- A fire, as one sensor sees it: the air is damp, then come hot readings, then the air is dry.
SELECT LAST *
WHERE H AS damp ; (T AS hot FILTER hot.value > 50)+ ; H AS dry
FILTER damp.value > 20 AND dry.value < 12
PARTITION BY farm, sensor
WITHIN 40 minutes
CONSUME BY PARTITION
"""

REPORT = """\
-- The same fires as a report: one row each, with what was measured.
SELECT LAST dry.farm AS farm, dry.sensor AS sensor, first(hot).ts AS since,
            count(hot) AS hot_readings, max(hot.value) AS hottest, dry.value AS humidity
WHERE H AS damp ; (T AS hot FILTER hot.value > 50)+ ; H AS dry
FILTER damp.value > 20 AND dry.value < 12
PARTITION BY farm, sensor
WITHIN 40 minutes
CONSUME BY PARTITION
"""

_KEYWORDS = r"\b(SELECT|LAST|WHERE|AS|FILTER|AND|PARTITION|BY|WITHIN|CONSUME)\b"

FARMS = ("Alder", "Birch", "Cedar", "Hazel", "Maple")
SENSORS = 3
EVENTS = 50_000
_START = np.datetime64("2026-07-06T00:00:00", "us")
_PERIOD = 360.0  # seconds between two readings of one sensor
_DAY = 86_400.0

# (farm, sensors that see it, start in days, minutes it lasts)
FIRES = (
    ("Birch", (0, 1), 1.58, 50),
    ("Cedar", (2,), 2.13, 40),
    ("Maple", (0, 1, 2), 4.66, 75),
    ("Alder", (1,), 5.55, 45),
)


def sensor_events(events: int = EVENTS, *, seed: int = 7) -> pa.Table:
    """Temperature (T) and humidity (H) readings in time order, the same for the same seed.

    Days are warm and nights are cool, humidity falls as temperature rises. Besides the fires there are things that
    only look like one: a sensor that now and then reads far too hot, and a heat wave with dry afternoons.
    """
    random = np.random.default_rng(seed)
    rounds = -(-events // (2 * len(FARMS) * SENSORS))
    batches = []
    for number, farm in enumerate(FARMS):
        for sensor in range(SENSORS):
            at = (np.arange(rounds) + random.uniform(0, 1)) * _PERIOD + random.uniform(0, 40, rounds)
            degrees = _temperature(number, at, random)
            humidity = np.clip(118 - 2.7 * degrees + random.normal(0, 3, rounds), 15, 96)
            degrees += 45 * _fire(farm, sensor, at)
            humidity *= 1 - 0.9 * _fire(farm, sensor, at - 600)  # the air dries some minutes after it gets hot
            if sensor == 0:
                degrees[random.integers(0, rounds, 9)] += 40  # a loose contact: hot, but never dry
            batches += [_readings("T", at, farm, sensor, degrees)]
            batches += [_readings("H", at + random.uniform(1, 20, rounds), farm, sensor, humidity)]
    return pa.concat_tables(batches).sort_by("ts").slice(0, events).combine_chunks()


def _temperature(farm: int, at: Float64, random: np.random.Generator) -> Float64:
    days = at / _DAY
    heat_wave = 4 * np.exp(-(((days - 3.5) / 1.2) ** 2))
    daily = 8 * np.sin(2 * np.pi * (days - 0.38))
    wander = np.cumsum(random.normal(0, 0.12, len(at)))
    drift = wander - np.linspace(0, wander[-1], len(at))
    return np.asarray(22 + 0.8 * farm + heat_wave + daily + drift + random.normal(0, 0.5, len(at)))


def _fire(farm: str, sensor: int, at: Float64) -> Float64:
    """How much each reading is in a fire, 0 to 1: a quick rise and a slow end."""
    heat = np.zeros(len(at))
    for where, sensors, day, minutes in FIRES:
        if where == farm and sensor in sensors:
            since = (at - day * _DAY) / 60
            heat = np.maximum(heat, np.clip(np.minimum(since / 15, (minutes - since) / (minutes / 3)), 0, 1))
    return heat


def _readings(kind: str, at: Float64, farm: str, sensor: int, values: Float64) -> pa.Table:
    count = len(at)
    return pa.table(
        {
            "ts": pa.array(_START + at.astype("timedelta64[s]"), pa.timestamp("us", tz="UTC")),
            "type": pa.array([kind] * count),
            "farm": pa.array([farm] * count),
            "sensor": pa.array(np.full(count, sensor, np.int32)),
            "value": pa.array(np.round(values, 1)),
        }
    )


def fire_timeline(events: pa.Table, matches: pa.Table) -> Timeline:
    """Matches per farm over the whole week, in front of each farm's highest temperatures."""
    hours = events.filter(pc.equal(events["type"], "T"))
    hours = hours.append_column("hour", pc.floor_temporal(hours["ts"], 30, "minute"))
    peaks = hours.group_by(["farm", "hour"]).aggregate([("value", "max")]).sort_by("hour")
    curves: dict[str, list[tuple[float, float]]] = {}
    for farm, hour, value in zip(*(peaks[name].to_pylist() for name in ("farm", "hour", "value_max")), strict=True):
        curves.setdefault(farm, []).append((hour, value))
    ends = pc.min_max(events["ts"]).as_py()
    return Timeline.of(
        matches,
        by="farm",
        between=(ends["min"], ends["max"]),
        curves=curves,
        title="Fires on five farms",
        unit="highest temperature in °C",
    )


def run(folder: Path, console: Console, *, spark: bool = False) -> None:
    """Write the data, run the query, show the matches and when they happened; with `spark`, find them there as well."""
    import ostinato
    from ostinato.files import Writer

    folder.mkdir(parents=True, exist_ok=True)
    events = sensor_events()
    data, query, report, found, picture = (
        folder / name for name in ("events.parquet", "fires.cel", "report.cel", "matches.parquet", "timeline.svg")
    )
    with Writer(data) as writer:
        writer.write(events)
    query.write_text(QUERY, encoding="utf-8")
    report.write_text(REPORT, encoding="utf-8")

    _heading(console, "The events", f"{len(events):,} readings of {len(FARMS) * SENSORS} sensors, one week", data)
    console.print(Padding(terminal_table(events, limit=4), (0, 2)))
    _heading(console, "The pattern", "", query)
    pattern = Text(QUERY.rstrip())
    pattern.highlight_regex(_KEYWORDS, "bold cyan")
    pattern.highlight_regex(r"--.*", "bright_black")
    console.print(Padding(pattern, (0, 2)))

    compiled = ostinato.cel(QUERY)
    compiled.detect(events)  # loads the kernels, or compiles them when they are new; what is timed is every later run
    began = time.perf_counter()
    matches = compiled.detect(events)
    seconds = time.perf_counter() - began
    with Writer(found) as writer:
        writer.write(matches)
    _heading(console, "The matches", f"{len(matches)} found in {seconds * 1000:.0f} ms", found)
    console.print(Padding(terminal_table(matches), (0, 2)))

    timeline = fire_timeline(events, matches)
    timeline.save(picture)
    _heading(console, "When they happened", "", picture)
    drawn = Text(timeline.text(min(console.width, 100) - 4))
    drawn.highlight_regex(r"[▁▂▃▄▅▆▇█]+", "bold red")
    drawn.highlight_regex(r"·+|[│└┘┬─]+", "bright_black")
    console.print(Padding(drawn, (0, 2)), no_wrap=True, crop=True)

    foresee = _foresee(folder, console)
    if spark:
        _on_spark(folder, events, matches, console)

    _heading(console, "Try next", "")
    for command, why in (
        (f"explain {query} --svg {folder / 'fires.svg'}", "how the query is compiled, and its automaton"),
        (f"detect {report} --input {data}", "one row per fire, with what was measured"),
        (f"detect {query} --input {data} --events", "the readings inside each match"),
        (f'detect -q "T AS x FILTER x.value > 70" --input {data}', "your own query; edit it"),
        *foresee,
    ):
        console.print(Text(f"  {_program()} {command}", style="cyan"), soft_wrap=True)
        console.print(Text(f"      {why}", style="bright_black"))


def _foresee(folder: Path, console: Console) -> list[tuple[str, str]]:
    """Learn from transactions of cards when thefts complete, and show one that was foreseen; commands to try next."""
    from ostinato.cli.demo import cards as demo_cards

    history, later = demo_cards.events()
    after = demo_cards.write(folder, history, later)
    model, picture = folder / "model", folder / "forecast.svg"
    began = time.perf_counter()
    learned = demo_cards.learn(history)
    seconds = time.perf_counter() - began
    learned.save(model, overwrite=True)
    summary = (
        f"{len(history):,} card transactions with {learned.statistics.completions:,.0f} alarms, in {seconds:.1f} s"
    )
    _heading(console, "Learned", summary, model)
    timeline = demo_cards.best_timeline(later, learned.forecast(later))
    timeline.save(picture)
    _heading(console, timeline.title, "• a forecast, ━ of when the alarm will be, ▲ when it was", picture)
    drawn = Text(timeline.text(min(console.width, 100) - 4))
    drawn.highlight_regex(r"▲", "bold red")
    drawn.highlight_regex(r"[━┿]+", "bold green")
    console.print(Padding(drawn, (0, 2)), no_wrap=True, crop=True)
    return [
        (f"forecast {model} --input {after} --alert 0.9", "the cards where an alarm is all but certain"),
        (f"evaluate {model} --input {after}", "how good the forecasts are, beside simpler ones"),
    ]


def _on_spark(folder: Path, events: pa.Table, matches: pa.Table, console: Console) -> None:
    """From raw events in several files, in no order, to a folder of matches; where Spark cannot run, only say so."""
    import ostinato
    from ostinato.cli.hidden_pandas import show_pandas
    from ostinato.files import Writer
    from ostinato.spark.jobs.session import job_session
    from ostinato.spark.jobs.write import write_folder

    show_pandas()
    raw, found = folder / "raw", folder / "spark-matches"
    raw.mkdir(exist_ok=True)
    for number in range(4):
        with Writer(raw / f"{number}.jsonl") as writer:
            writer.write(events.take(pa.array(range(number, len(events), 4))))
    try:
        with job_session("local[*]") as session:
            began = time.perf_counter()
            columns = "ts timestamp, type string, farm string, sensor int, value double"
            readings = session.read.schema(columns).json(str(raw.absolute()))
            total = write_folder(ostinato.cel(QUERY).detect(readings), found, "parquet")
            seconds = time.perf_counter() - began
    except ostinato.OstinatoError as error:
        _heading(console, "On Spark", "not here")
        console.print(Padding(Text(str(error)), (0, 2)))
        return
    same = "the same" if total == len(matches) else f"not the {len(matches)} of before, which is a bug"
    _heading(console, "On Spark", f"{total} found in {seconds:.1f} s, {same}: {raw} → detection", found)


def _program() -> str:
    """How to call the command from here: by name, or by its place in an environment that is not active."""
    beside = Path(sys.executable).parent / "ostinato"
    if shutil.which("ostinato") or not beside.exists():
        return "ostinato"
    return str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside)


def _heading(console: Console, what: str, detail: str, path: Path | None = None) -> None:
    line = Text.assemble(("\n● ", "red"), (what, "bold"), "  ", detail)
    if path is not None:
        line.append(f"  → {path}", style="bright_black")
    console.print(line, soft_wrap=True)
