"""The examples run and find what they were made to show."""

from __future__ import annotations

import re
import runpy
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from ostinato.cli.main import make_app
from support import paths

EXAMPLES = paths.ROOT / "examples"


def printed(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What an example prints; it runs from a copy, because it writes its data beside itself."""
    runpy.run_path(str(shutil.copy(EXAMPLES / name, folder)), run_name="__main__")
    return capsys.readouterr().out


def test_logins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("logins.py", tmp_path, capsys)
    assert "1 account(s) broken into" in text and "account user07, failures 11" in text
    command = re.findall(r"^  ostinato (.*)$", text, re.MULTILINE)[0]
    result = CliRunner().invoke(make_app(), shlex.split(command), env={"COLUMNS": "150"})
    assert result.exit_code == 0 and "user07" in result.stdout and "1 match" in result.stdout


def test_unpaid_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("unpaid_orders.py", tmp_path, capsys)
    found = re.findall(r"order (\d+) of .* was never paid", text)
    assert sorted(map(int, found)) == [order for order in range(100, 140) if order % 8 == 0]
    assert "after delivery" in text and "late=0" in text


def test_nightly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("nightly.py", tmp_path, capsys)
    assert len(re.findall(r"\w+: [1-9]\d* matches in 7 nights, as in one run over all", text)) == 3


def test_order_desk(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("order_desk.py", tmp_path, capsys)
    assert re.findall(r"^(\w+) .*'order': (\d)", text, re.MULTILINE) == [
        ("shipped", "1"), ("refused", "2"), ("refused", "3"), ("shipped", "4")
    ]  # fmt: skip
    assert "kept: 2 rows_customers', 1 rows_stock'" in text


def test_strategies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("strategies.py", tmp_path, capsys)
    counts = {name: int(count) for name, count in re.findall(r"(\w+): +(\d+) matches", text)}
    assert counts["ALL"] > counts["MAX"] > counts["NXT"] == counts["LAST"] > counts["STRICT"] > 0
    nxt, last = (re.findall(rf"{name}: .* such as (.*)", text)[0] for name in ("NXT", "LAST"))
    assert nxt != last


def test_checkout_funnel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("checkout_funnel.py", tmp_path, capsys)
    counts = {name: int(count) for count, name in re.findall(r"(\d+) visitors on a (\w+)", text)}
    assert text.count("address ") >= 2 and counts["phone"] > 1.5 * counts["desktop"] > 0


def test_card_fraud(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("card_fraud.py", tmp_path, capsys)
    assert "200,024 withdrawals, 18 alerts for 6 cards" in text  # three of each cloned card: 20, 150 and 400 in pairs
    assert "tied: all events of a match agree on card" in text
    assert len(re.findall(r"card \d+: 20, then \[150\], then 400", text)) == 3


@pytest.mark.slow
def test_many_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("many_rules.py", tmp_path, capsys)
    assert "1000 rules, 8,000 events, 618 alerts: {'leak': 72, 'guessed': 529, 'any deletion after sudo': 17}" in text


def test_price_trends(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("price_trends.py", tmp_path, capsys)
    rises = [(float(low), float(high)) for low, high in re.findall(r"S\d\d: ([\d.]+) at \S+ ([\d.]+) at", text)]
    assert len(rises) == 3 and all(high > 1.03 * low for low, high in rises)
    srem, cel = re.findall(r"([\d,]+) by", text)
    assert srem == cel != "0"
    assert "every rally is a rise: True" in text and "a rise that is no rally: [{'price'" in text


@pytest.mark.slow
def test_plant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXAMPLES / "plant.rules", tmp_path)
    text = printed("plant.py", tmp_path, capsys)
    assert "fire: begin 65, end 80, area a" in text and "burnt_down: begin 70, end 92, sensor s" in text
    assert sorted(re.findall(r"fire, area (\d+)", text)) == ["07", "23", "41"]
    assert sorted(re.findall(r"burnt_down, (\S+),", text)) == ["07.0", "23.0", "41.0"]
    command = re.findall(r"^  ostinato (.*)$", text, re.MULTILINE)[0]
    result = CliRunner().invoke(make_app(), shlex.split(command))
    assert result.exit_code == 0 and "3 burnt_down" in result.stderr


def test_order_sla(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("order_sla.py", tmp_path, capsys)
    overdue = re.findall(r"overdue +Cleo +order (\d+)", text)
    assert sorted(map(int, overdue)) == [2, 8, 14, 20, 26, 32, 38]
    assert "14:00  escalated  Cleo  order 14" in text
    assert "bad_shift  Cleo  order [2, 8, 14, 20, 26, 32, 38]" in text
    assert "11 derived one by one, 11 from the whole day" in text


def test_intrusion(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("intrusion.py", tmp_path, capsys)
    whole, live = re.findall(r"([\d,]+) from the whole night, ([\d,]+) as it comes", text)[0]
    assert whole == live and "  02:10:10  host07: 203.0.113.66, since 02:10:00" in text
    taken = re.findall(r"(host\d+): user09 from (\S+),", text)
    assert taken == [("host07", "203.0.113.66"), ("host12", "host07"), ("host21", "host12"), ("host03", "host21")]


def test_pumps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("pumps.py", tmp_path, capsys)
    assert text.count("valley down to 2.1 bar") == 2
    assert re.findall(r"to (\d+) min: (\w+) worn", text) == [("17", "south")]


def test_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("family.py", tmp_path, capsys)
    assert "    node 1970\n    node 1975\n" in text and "    next Ed, then Ida\n" in text
    assert "    first Mary, pairs 2\n" in text and "    father Ed, son Hal, generations 3\n" in text
    assert "runs of brothers and sisters: 9 all, 5 longest" in text


def test_nasdaq(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(EXAMPLES / "v_shape.xseq", tmp_path)
    text = printed("nasdaq.py", tmp_path, capsys)
    assert "falling: 9,744 matches, 4,883 of them the longest" in text
    (shapes,) = re.findall(r"V shapes: ([\d,]+)", text)
    assert "the same from JSON lines: True" in text
    command = re.findall(r"^  ostinato (.*)$", text, re.MULTILINE)[0]
    result = CliRunner().invoke(make_app(), shlex.split(command))
    assert result.exit_code == 0 and f", {shapes} rows, " in result.stderr


def test_traces(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("traces.py", tmp_path, capsys)
    assert "36 of 200 requests failed" in text and "r0: fibonacci(7), 2 calls deep" in text
    assert "mail went well after 3 failures in a row" in text and "kept in memory" in text


def test_shoplifting(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("shoplifting.py", tmp_path, capsys)
    stolen = re.findall(r"tag(\d+) left at", text)
    assert sorted(map(int, stolen)) == [item for item in range(500) if item % 60 == 7]
    assert "0: 'tag0007'" in text and "3: 'row 3: line 1, column 101" in text


@pytest.mark.spark
def test_spark_orders(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("spark_orders.py", tmp_path, capsys)
    found = re.findall(r"order (\d+) of .* was never paid", text)
    assert sorted(map(int, found)) == [order for order in range(100, 140) if order % 8 == 0]
    assert f"as a stream: {len(found)}\n" in text and f"in SQL: {len(found)}\n" in text


@pytest.mark.spark
def test_spark_counters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("spark_counters.py", tmp_path, capsys)
    assert 'ostinato_events_total{query="unpaid"} 75\n' in text and 'ostinato_matches_total{query="unpaid"} 5\n' in text


@pytest.mark.slow
def test_forecast_cards(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("forecast_cards.py", tmp_path, capsys)
    warned, ahead = re.findall(r"(\d+) with a warning, (\d+) transactions", text)[0]
    (completions,) = re.findall(r"(\d+) completions in 100,000", text)
    assert int(warned) > 0.8 * int(completions) and int(ahead) >= 3
    assert "the pattern is complete" in text
    near = re.findall(r"near half +(.*)", text)[0].split()
    assert float(near[0]) > 0.9 > 0.8 > max(map(float, near[1:]))


@pytest.mark.slow
def test_forecast_vessels(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = printed("forecast_vessels.py", tmp_path, capsys)
    said = [
        (int(likely), int(share), int(reports.replace(",", "")))
        for likely, share, reports in re.findall(r"average +(\d+)%: +(\d+)% arrived, of +([\d,]+) reports", text)
    ]
    assert all(abs(likely - share) <= 15 for likely, share, reports in said if reports > 200)
    assert "  arrived\n" in text and re.search(r"due \d\d:\d\d to \d\d:\d\d", text)


def test_every_example_is_in_the_table() -> None:
    text = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for path in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.cel"), *EXAMPLES.glob("*.rules"), *EXAMPLES.glob("*.xseq")):
        assert path.name in text
