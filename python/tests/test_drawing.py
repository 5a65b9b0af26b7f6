"""What a notebook shows."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell

import taximeter as tx
from taximeter import drawing, watching
from taximeter._native import show_number


def parsed(html: str) -> ElementTree.Element:
    """The HTML as a tree: it must be well-formed."""
    return ElementTree.fromstring(html)


def shown(html: str) -> str:
    return "".join(parsed(html).itertext())


def test_an_account_shows_its_gauge_and_its_meter(census: tx.Account) -> None:
    for _ in range(3):
        census.charge(tx.pure("0.1"))
    html = census._repr_html_()
    assert "census" in shown(html) and "reading: 0.3" in shown(html)
    assert len(list(parsed(html).iter("svg"))) == 2
    assert census.readings() == census.figure.values == [0.0, 0.1, 0.2, 0.3] and census.figure.places == [0, 1, 2, 3]


def test_an_account_that_has_lost_its_bound_says_why_and_draws_no_curve(ledger: tx.Ledger) -> None:
    surveys = ledger.create("surveys", delta="1e-6")
    surveys.charge(tx.pure("0.1"))
    assert "reading: " in shown(surveys._repr_html_()) and len(surveys.figure.values) == 2
    surveys.charge(tx.approximate("0.1", "1e-9"))
    html = surveys._repr_html_()
    assert "no bound: " in shown(html) and "<svg" not in html and surveys.svg() == ""


def test_the_meter_of_an_account_counts_charges_and_not_records(ledger: tx.Ledger) -> None:
    surveys = ledger.create("surveys", 1, rule="basic", odometer="basic")
    for _ in range(205):
        surveys.charge(tx.pure("0.001"))
    surveys.close()
    figure = surveys.figure
    assert figure.places == [*range(7, 206), 205] and figure.values == pytest.approx([charges / 1000 for charges in figure.places])
    [line] = surveys.plot().lines
    assert line.get_xydata()[:, 0].tolist() == figure.places


def test_an_odometer_shows_its_ride() -> None:
    odometer = tx.Odometer(rule="basic")
    for _ in range(3):
        odometer.charge(tx.pure("0.1"))
    assert odometer.figure.places == [0, 1, 2, 3] and odometer.figure.values == pytest.approx([0, 0.1, 0.2, 0.3])
    html = odometer._repr_html_()
    assert "odometer basic" in shown(html) and "reading: 0.3" in shown(html) and "loss" in shown(html)
    [line] = parsed(html).iter("polyline")
    assert len(line.get("points", "").split()) == 4
    assert "currentColor" in html and "color:inherit" in html, "in the colours of the page"
    assert odometer.plot().get_title() == "reading"


@pytest.mark.parametrize("charges", [1, 255, 256, 257, 1000, 10_000])
def test_a_long_ride_is_drawn_by_few_readings_and_the_newest(charges: int) -> None:
    odometer, cost = tx.Odometer(rule="basic"), tx.pure("0.001")
    for _ in range(charges):
        odometer.charge(cost)
    calls, values = odometer.figure.places, odometer.figure.values
    assert min(charges, 128) < len(values) <= 257 and values[-1] == odometer.reading.value
    assert (calls[0], calls[-1]) == (0, charges) and values == pytest.approx([call / 1000 for call in calls])
    assert len({later - earlier for earlier, later in zip(calls, calls[1:-1])}) <= 1, "evenly spaced but for the newest"


def test_a_ride_without_a_bound_says_why_and_draws_no_curve() -> None:
    odometer = tx.Odometer("1e-6")
    odometer.charge(tx.pure("0.1"))
    odometer.charge(tx.approximate("0.1", "1e-9"))
    html = odometer._repr_html_()
    assert "no bound: " in shown(html) and "<svg" not in html and odometer.svg() == ""


def test_quotes_receipts_filters_and_answers_draw_themselves(ledger: tx.Ledger, census: tx.Account) -> None:
    assert "admitted" in shown(census.quote(tx.pure("0.1"))._repr_html_())
    assert "census: the budget" in shown(census.quote(tx.pure(3))._repr_html_())
    assert "all left: 0.00 %" in shown(ledger.create("all", 1).quote(tx.pure(1))._repr_html_()), "nothing is a number too"
    assert "record" in shown(census.charge(tx.pure("0.1"))._repr_html_())
    assert "residue" in shown(tx.Filter("1,1e-6")._repr_html_())
    gate = tx.Gate(ledger)
    gate.add("people", pa.table({"region": ["<b>", "south"]}), unit="row", categories={"region": ["<b>", "south"]}, budget=1)
    html = gate.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY region", epsilon="0.5")._repr_html_()
    assert "<b>" in shown(html) and len(list(parsed(html).iter("path"))) == 2


def test_colours_are_those_of_the_page(census: tx.Account) -> None:
    html = census._repr_html_()
    assert "currentColor" in html and "color:inherit" in html
    for fixed in ("black", "white", "#000", "#fff"):
        assert fixed not in html


@pytest.mark.parametrize("share", [-1.0, 0.0, 0.5, 1.0, 2.0])
def test_a_gauge_stays_within_its_frame(share: float) -> None:
    bar = list(parsed(drawing.gauge(share, "left")).iter("rect"))[1]
    assert 0 <= float(bar.get("width", "")) <= 238


@pytest.mark.parametrize(
    ("share", "text", "full"),
    [(1.0, "100.00 %", 20), (0.99996, "99.99 %", 19), (0.6, "60.00 %", 12), (0.15, "15.00 %", 3), (0.00003, "under 0.01 %", 0)],
)
def test_no_more_seems_left_than_there_is(share: float, text: str, full: int) -> None:
    left = {"left": {"share": share}}
    line = watching.line({"account": "census", "reading": 0.1, "charges": 1, "standing": "open", "filter": left})
    assert line.startswith(f"census [{'█' * full}{'·' * (20 - full)}] {text} left")
    bar = list(parsed(drawing.gauge(share, "left")).iter("rect"))[1]
    assert f"left: {text}" in shown(drawing.gauge(share, "left")) and float(bar.get("width", "")) <= 238 * share + 1e-9


def test_no_bound_seems_smaller_than_it_is() -> None:
    bound = 0.24004901
    document = {"account": "surveys", "reading": bound, "charges": 1, "standing": "open", "filter": None}
    meter, bar = drawing.curve("reading", [0, 1], [0.1, bound]), drawing.bars(["a"], [bound], [(0, 1)], show_number)
    for text in [watching.line(document), meter, bar]:
        assert "0.24005" in text and "0.240049" not in text
    figures = tx.compare(tx.pure("0.01"), 100)
    assert [figures[name].figure.show(bound) for name in ("filters", "odometers")] == ["0.24005"] * 2
    assert tx.plan(1, tx.pure("1e-7")).figure.show(1_234_567) == "1,234,567"
    f = tx.Filter(1, rule="basic")
    f.charge(tx.pure("0.00004"))
    assert "left=99.99 %" in repr(f)


def test_what_is_unknown_is_not_drawn() -> None:
    assert drawing.gauge(None, "left") == "" and drawing.curve("reading", [], []) == ""
    assert drawing.bars(["a"], [None], [(None, None)]) == ""
    assert parsed(drawing.bars(["a", "b"], [None, -3.0], [(None, None), (-5.0, 1.0)])) is not None


def test_figures_are_svg_or_axes_of_matplotlib(ledger: tx.Ledger, census: tx.Account) -> None:
    for _ in range(3):
        census.charge(tx.pure("0.1"))
    gate = tx.Gate(ledger)
    gate.add("people", pa.table({"region": ["a", "b"]}), unit="row", categories={"region": ["a", "b"]}, budget=1)
    answer = gate.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY region", epsilon="0.5")
    compared = tx.compare(tx.pure("0.1"), 10)
    found = tx.lab.attack(tx.Odometer("1e-3"), epsilon="0.1", rounds=10, delta="1e-3")
    # The bars, and the lines that are intervals or curves.
    for drawn, bars, lines in [
        (census, 0, 1),
        (answer, 2, 2),
        (tx.plan("1,1e-6", tx.pure("0.1")), 6, 0),
        (compared["odometers"], len(compared["odometers"].figure.labels), 0),
        (found, 2, 1),
    ]:
        assert parsed(drawn.svg()).tag == "svg"
        axes = drawn.plot()
        assert (len(axes.patches), len(axes.lines)) == (bars, lines) and axes.get_title()
        assert drawn.plot(axes) is axes
    assert "holds" in shown(found._repr_html_()) and "how many" in shown(tx.plan("1,1e-6", tx.pure("0.1"))._repr_html_())


class Terminal(io.StringIO):
    """What a terminal is sent."""

    def isatty(self) -> bool:
        return True


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(60_000):
        if holds():
            return
        time.sleep(0.001)
    pytest.fail("it did not happen in a minute")


def test_a_meter_is_live_in_a_terminal(census: tx.Account) -> None:
    file = Terminal()
    with census.watch(every=0.001, file=file):
        wait_until(lambda: "100.00 % left" in file.getvalue())
        census.charge(tx.pure("0.25"))
        wait_until(lambda: "1 charges" in file.getvalue())
    assert file.getvalue().count("\r") == 2 and file.getvalue().endswith("\n"), "one line, drawn when something changes"


def test_a_meter_ends_with_its_ledger_and_says_why(ledger: tx.Ledger, census: tx.Account) -> None:
    file = io.StringIO()
    with census.watch(every=0.001, file=file):
        ledger.close()
        wait_until(lambda: "closed" in file.getvalue())
    assert watching.line(census_without_a_budget()).startswith("surveys: reading no bound")


def census_without_a_budget() -> dict[str, Any]:
    return {"account": "surveys", "reading": None, "charges": 1, "standing": "open", "filter": None}


def test_a_meter_is_live_in_a_notebook(census: tx.Account) -> None:
    shell = InteractiveShell.instance()
    shell.display_pub = CapturingDisplayPublisher(shell=shell)
    outputs = shell.display_pub.outputs
    try:
        with census.watch(every=0.001):
            wait_until(lambda: len(outputs) == 2)
            census.charge(tx.pure("0.25"))
            wait_until(lambda: len(outputs) == 3)
    finally:
        InteractiveShell.clear_instance()
    assert len({output["transient"]["display_id"] for output in outputs}) == 1
    assert [bool(output["update"]) for output in outputs] == [False, True, True]
    assert "reading: 0.25" in shown(outputs[-1]["data"]["text/html"])


def test_a_program_that_ends_does_not_wait_for_its_meter(tmp_path: Path) -> None:
    script = "import taximeter as tx\ntx.Ledger('b.db', create=True).create('census', 1).watch(every=0.01)"
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0 and "100.00 % left" in ended.stderr
