"""SmartNoise SQL: what a query spends is charged before it runs."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import snsql
from examples import examples, run
from peers import PAGE, main

import taximeter as tx
from taximeter.adapters.smartnoise import charged, costs

pytestmark = pytest.mark.filterwarnings("ignore")
PEOPLE = pd.DataFrame({"age": range(200), "region": ["north", "south"] * 100, "person": range(200)})


@pytest.mark.parametrize("example", examples("taximeter.adapters.smartnoise"), ids=lambda example: example.name)
def test_the_example_runs(example: Any, tmp_path: Path) -> None:
    run(example, tmp_path)


def reader_of(epsilon: float = 0.25, delta: float = 1e-6, mechanism: Any = None, **options: Any) -> Any:
    """A reader of the people, with another table beside them whose groups are public."""
    columns: dict[str, Any] = {"age": {"type": "int", "lower": 0, "upper": 120}, "region": {"type": "string"}}
    columns["person"] = {"type": "int", "private_id": True}
    tables = {"people": {"rows": 200, "max_ids": 1} | columns | options, "other": {"rows": 200, "censor_dims": False} | columns}
    privacy = snsql.Privacy(epsilon=epsilon, delta=delta)
    if mechanism:
        privacy.mechanisms.map[snsql.Stat.count] = privacy.mechanisms.map[snsql.Stat.threshold] = mechanism
    database = sqlite3.connect(":memory:")
    PEOPLE.to_sql("people", database)
    return snsql.from_connection(database, engine="sqlite", metadata={"": {"": tables}}, privacy=privacy)


COUNT = "SELECT COUNT(*) AS n FROM people"


@pytest.mark.parametrize(
    ("query", "options", "expected"),
    [
        (COUNT, {"censor_dims": False}, 1),
        ("SELECT COUNT(*) AS n, SUM(age) AS s FROM people", {"censor_dims": False}, 2),
        ("SELECT AVG(age) AS a FROM people", {"censor_dims": False}, 2),
        ("SELECT region, COUNT(*) AS n FROM people GROUP BY region", {"censor_dims": False}, 1),
        ("SELECT region, SUM(age) AS s FROM people GROUP BY region", {"censor_dims": False}, 1),
    ],
)
def test_what_is_charged_is_what_the_reader_counts(census: tx.Account, query: str, options: dict[str, Any], expected: int) -> None:
    reader = reader_of(epsilon=0.0625, **options)
    rows = charged(reader, census)(query)
    assert len(rows) > 1 and len(reader.odometer.steps) == expected
    assert costs(reader, query) == [tx.pure("0.0625")] * expected
    assert census.spent is not None and census.spent.epsilon == expected * Decimal("0.0625")


def test_groups_that_are_censored_are_charged_with_their_count() -> None:
    reader = reader_of(mechanism=snsql.Mechanism.gaussian)
    query = "SELECT region, SUM(age) AS s FROM people GROUP BY region"
    before = costs(reader, query)
    assert tx.approximate("0.25", Decimal(1e-6)) in before and len(before) == 2, "the reader alone would tell one of the two"
    reader.execute(query)
    assert [tx.approximate(Decimal(e), Decimal(d)) if d else tx.pure(Decimal(e)) for e, d in reader.odometer.steps] == before


def test_a_refused_query_is_not_run(census: tx.Account) -> None:
    reader = reader_of(epsilon=0.4, censor_dims=False)
    ask = charged(reader, census)
    assert [len(ask(COUNT)) for _ in range(2)] == [2, 2]
    with pytest.raises(tx.Refused):
        ask(COUNT)
    assert len(reader.odometer.steps) == 2 and census.document["charges"] == 2


def test_the_same_key_releases_once(census: tx.Account) -> None:
    ask = charged(reader_of(censor_dims=False), census, note="a count")
    ask(COUNT, key="k")
    with pytest.raises(tx.Replayed):
        ask(COUNT, key="k")
    assert census.document["charges"] == 1 and census.history()[0]["note"] == "a count"


def test_groups_chosen_with_an_uncounted_epsilon_are_refused(census: tx.Account) -> None:
    with pytest.raises(tx.BadInput, match="does not count"):
        charged(reader_of(use_dpsu=True, censor_dims=False), census)("SELECT region, COUNT(*) AS n FROM people GROUP BY region")
    assert census.document["charges"] == 0


def test_what_is_no_query_charges_nothing(census: tx.Account) -> None:
    for query in ("SELECT nonsense(", "SELECT COUNT(*) FROM nowhere"):
        with pytest.raises(Exception):
            charged(reader_of(), census)(query)
    assert census.document["charges"] == 0


def test_the_page_about_peers_is_what_is_computed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == main(page)
