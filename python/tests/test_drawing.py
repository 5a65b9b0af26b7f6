"""What a notebook shows."""

from __future__ import annotations

from xml.etree import ElementTree

import pyarrow as pa
import pytest

import taximeter as tx
from taximeter import drawing


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
    assert census.readings() == [0.0, 0.1, 0.2, 0.3] or census.readings() == [0.1, 0.2, 0.3]


def test_quotes_receipts_filters_and_answers_draw_themselves(ledger: tx.Ledger, census: tx.Account) -> None:
    assert "admitted" in shown(census.quote(tx.pure("0.1"))._repr_html_())
    assert "census: the budget" in shown(census.quote(tx.pure(3))._repr_html_())
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


def test_what_is_unknown_is_not_drawn() -> None:
    assert drawing.gauge(None, "left") == "" and drawing.curve("reading", []) == ""
    assert drawing.bars(["a"], [None], [(None, None)]) == ""
    assert parsed(drawing.bars(["a", "b"], [None, -3.0], [(None, None), (-5.0, 1.0)])) is not None
