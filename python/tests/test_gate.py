"""The gate: tables in, noisy answers out."""

from __future__ import annotations

import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import taximeter as tx

PEOPLE = {
    "person": [1, 2, 3, 4, 5, 6],
    "age": [34, 51, 28, 60, 45, None],
    "income": [1000.5, 2000.0, float("nan"), 1500.25, None, 3.0],
    "region": ["north", "south", "north", "south", None, "north"],
    "member": [True, False, True, None, True, False],
    "born": [datetime.date(1990, 1, 1), datetime.date(1970, 5, 5), None] + [datetime.date(2000, 2, 29)] * 3,
    "seen": [datetime.datetime(2024, 1, 1, 12, 30)] * 5 + [None],
}
BUDGET = "100000000"


@pytest.fixture
def gate(ledger: tx.Ledger) -> tx.Gate:
    return tx.Gate(ledger)


def as_tables() -> dict[str, Any]:
    table = pa.table(PEOPLE)
    # A missing value makes a column of pandas another type, unless it is told.
    frame = pd.DataFrame(PEOPLE).assign(
        age=pd.array(PEOPLE["age"], dtype="Int64"), member=pd.array(PEOPLE["member"], dtype="boolean")
    )
    return {
        "pyarrow": table,
        "pandas": frame,
        "polars": pl.DataFrame(PEOPLE, strict=False),
        "batches": pa.Table.from_batches(table.to_batches(max_chunksize=2)),
        "reader": pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=4)),
        "categorical": frame.assign(region=pd.Categorical(PEOPLE["region"])),
    }


@pytest.mark.parametrize("kind", list(as_tables()))
def test_a_table_is_registered_without_a_file_and_its_answers_are_about_its_rows(gate: tx.Gate, kind: str) -> None:
    added = gate.add(
        "people",
        as_tables()[kind],
        unit="row",
        types={"age": "integer", "income": "real", "person": "integer", "born": "date", "seen": "timestamp"},
        bounds={
            "age": (0, 120),
            "income": (0, 5000),
            "born": (datetime.date(1900, 1, 1), "2024-12-31"),
            "seen": (datetime.datetime(2020, 1, 1), datetime.datetime(2025, 1, 1)),
        },
        grid={"income": "0.25"},
        categories={"region": ["north", "south"], "member": [True, False]},
        budget=BUDGET,
        rule="basic",
    )
    assert added["imported"]["rows"] == 6 and added["imported"]["kept"] == 6
    for question, truth in [
        ("SELECT COUNT(*) FROM people", [(6,)]),
        ("SELECT COUNT(age), SUM(age), SUM(income) FROM people", [(5, 218, 4503.75)]),
        ("SELECT region, COUNT(*) FROM people GROUP BY region", [("north", 3), ("south", 2)]),
        ("SELECT member, COUNT(*) FROM people GROUP BY member", [(False, 2), (True, 3)]),
        ("SELECT COUNT(*) FROM people WHERE born >= DATE '1990-01-01'", [(4,)]),
        ("SELECT COUNT(*) FROM people WHERE seen < TIMESTAMP '2024-01-01 12:31:00'", [(5,)]),
    ]:
        # With this much ε there is no noise left.
        assert sorted(gate.ask(question, epsilon=10**7).rows) == truth, question


def test_answers_come_out_as_tables_with_their_intervals(gate: tx.Gate) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", categories={"region": ["north", "south"]}, budget="1,1e-6")
    answer = gate.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY region", epsilon="0.5", key="q")
    columns = ["region", "n", "n_low", "n_high"]
    assert answer.to_arrow().column_names == columns
    assert answer.to_pandas().columns.to_list() == columns
    frame = answer.to_polars()
    assert frame.columns == columns and frame.height == 2
    assert (frame["n_low"] <= frame["n"]).all() and (frame["n"] <= frame["n_high"]).all()
    assert answer.origin == "fresh" and answer.cost.epsilon is not None and float(answer.cost.epsilon) == 0.5
    again = gate.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY region", epsilon="0.5", key="q")
    assert again.origin == "replayed" and again.document == answer.document


def test_an_answer_is_a_table_of_arrow_as_it_is(gate: tx.Gate) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", bounds={"income": (0, 5000)}, grid={"income": "0.25"},
             categories={"region": ["north", "south"], "member": [True, False]}, budget=BUDGET, rule="basic")
    answer = gate.ask("SELECT region, member, COUNT(*) AS n, AVG(income) AS income FROM people GROUP BY region, member", epsilon=10**7)
    table = pa.table(answer)
    assert table.schema.field("region").type == pa.string() and table.schema.field("member").type == pa.bool_()
    assert table.schema.field("n").type == pa.int64() and table.schema.field("income").type == pa.float64()
    assert table.to_pydict() == answer.table == answer.to_arrow().to_pydict(), "missing values are missing, and the rest is the same"
    assert pl.DataFrame(answer).to_dict(as_series=False) == answer.table == answer.to_polars().to_dict(as_series=False)
    assert pd.DataFrame.from_arrow(answer).columns.to_list() == list(answer.table)
    # A consumer may take it twice, or not at all.
    assert pa.table(answer) == table and answer.__arrow_c_stream__() is not None
    # It can be registered like any other table.
    gate.add("answers", answer, unit="row", budget=1)


def test_a_column_of_an_answer_has_the_type_that_takes_all_of_its_values() -> None:
    columns: dict[str, list[Any]] = {
        "whole": [1, None, -3], "number": [1, 2.5, None], "large": [2**70, 1, 2], "text": ["ä", None, ""], "missing": [None] * 3,
    }
    document = {"columns": [{"name": name} for name in columns], "rows": [list(row) for row in zip(*columns.values())]}
    table = pa.table(tx.Answer(json.dumps(document), "fresh"))
    assert [str(field.type) for field in table.schema] == ["int64", "double", "double", "string", "null"]
    assert table.to_pydict() == columns


def test_a_key_beside_its_total_is_text_in_a_table_of_arrow(gate: tx.Gate) -> None:
    categories: dict[str, Any] = {"member": [True, False], "age": [28, 34]}
    gate.add("people", pa.table(PEOPLE), unit="row", categories=categories, budget=BUDGET, rule="basic")
    for key, texts in [("member", ["(all)", "false", "true"]), ("age", ["(all)", "28", "34"])]:
        answer = gate.ask(f"SELECT {key}, COUNT(*) AS n FROM people GROUP BY ROLLUP ({key})", epsilon=10**7)
        table = pa.table(answer)
        assert [str(field.type) for field in table.schema][:2] == ["string", "int64"]
        assert sorted(table[key].to_pylist()) == texts == sorted(pl.DataFrame(answer)[key].to_list())
        assert "(all)" in answer.to_pandas()[key].to_list() and answer.table[key].count("(all)") == 1


def test_every_kind_of_price_is_taken(gate: tx.Gate) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", bounds={"age": (0, 120)}, budget="10,1e-6", mechanism_delta="1e-7")
    assert gate.ask("SELECT COUNT(*) FROM people", epsilon=0.1).cost == tx.pure("0.1")
    assert gate.ask("SELECT COUNT(*) FROM people", mu=0.1).cost.kind == "gaussian"
    wide = gate.ask("SELECT SUM(age) FROM people", error=2000)
    low, high = wide.document["rows"][0][0]["interval"]
    assert high - low <= 4000
    assert gate.quote("SELECT COUNT(*) FROM people", epsilon=0.1)["admitted"]
    open_groups = gate.ask("SELECT region, COUNT(*) FROM people GROUP BY region", epsilon="0.5", delta="1e-9")
    assert open_groups.columns[0] == "region"


def test_a_study_is_planned_without_a_charge(gate: tx.Gate, ledger: tx.Ledger) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", bounds={"age": (0, 120)}, budget="1,1e-6")
    questions = [
        {"name": "how many", "sql": "SELECT COUNT(*) FROM people", "epsilon": "0.1", "times": 3},
        {"sql": "SELECT SUM(age) FROM people", "error": 2000},
        {"sql": "SELECT COUNT(*) FROM people WHERE age > 65", "mu": 0.05},
    ]
    plan = gate.plan(questions)
    assert plan and plan.fits and [one["name"] for one in plan.questions] == ["how many", "question 2", "question 3"]
    assert [one["times"] for one in plan.questions] == [3, 1, 1] and plan.questions[1]["within"] == 2000
    [people] = plan.accounts
    assert people["account"] == "people" and 0 < people["left_after"] < people["left"] == 1
    assert "all questions fit now" in plan._repr_html_() and "3 × how many" in plan._repr_html_()
    too_much = gate.plan([*questions, {"name": "large", "sql": "SELECT COUNT(*) FROM people", "epsilon": 2}])
    assert not too_much and too_much.accounts[0]["refused"]["name"] == "large"
    assert "people stops at: large" in too_much._repr_html_()
    assert ledger.account("people").document["charges"] == 0


@pytest.mark.parametrize(
    ("questions", "part"),
    [
        ([], "at least one question"),
        ([{"epsilon": 1}], "FROM"),
        ([{"sql": "SELECT COUNT(*) FROM people"}], "question 1: give one of error"),
        ([{"sql": "SELECT COUNT(*) FROM people", "epsilom": 1}], "epsilom"),
        ([{"sql": "SELECT COUNT(*) FROM people", "epsilon": -1}], "epsilon"),
        ([{"sql": "SELECT COUNT(*) FROM people", "epsilon": 1, "times": 0}], "nonzero"),
        ([{"name": "late", "sql": "SELECT AVG(nothing) FROM people", "epsilon": 1}], "late: "),
    ],
)
def test_a_study_that_cannot_be_planned_says_why(gate: tx.Gate, questions: list[dict[str, Any]], part: str) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", budget=1)
    with pytest.raises(tx.BadInput, match=part):
        gate.plan(questions)


def test_a_refused_question_costs_nothing(gate: tx.Gate, ledger: tx.Ledger) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", budget="1,1e-6")
    with pytest.raises(tx.Refused) as refused:
        gate.ask("SELECT COUNT(*) FROM people", epsilon=5)
    assert refused.value.fits
    assert ledger.account("people").document["charges"] == 0


def test_a_question_that_fails_after_its_charge_names_the_record_and_the_key(gate: tx.Gate, ledger: tx.Ledger, tmp_path: Path) -> None:
    rows = pa.table({"person": range(20_000), "age": [at % 100 for at in range(20_000)]})
    gate.add("people", rows, unit="row", bounds={"age": (0, 120)}, budget="1,1e-6")
    # The first page says what the table looks like; the rows behind it are torn.
    file = tmp_path / "budgets.db.gate" / "people.v1.db"
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2].ljust(len(content), b"\xff"))
    for _ in range(2):
        with pytest.raises(tx.ChargedNoAnswer, match="is charged, and the charge stands") as failed:
            gate.ask("SELECT SUM(age) FROM people", epsilon="0.1", key="sum")
        [charge] = [record for record in ledger.account("people").history() if record["what"] == "charge"]
        assert (failed.value.code, failed.value.sequence, failed.value.key) == ("no-answer", charge["sequence"], "sum")


def test_an_analyst_pays_with_the_dataset(gate: tx.Gate, ledger: tx.Ledger) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", budget="1,1e-6")
    alice = gate.add_analyst("people", "alice", "0.2,1e-6")
    gate.ask("SELECT COUNT(*) FROM people", epsilon="0.1", account="people/alice", by="alice")
    assert alice.document["charges"] == 1 and ledger.account("people").document["charges"] == 1


def test_a_person_with_many_rows_counts_as_declared(gate: tx.Gate) -> None:
    visits = pl.DataFrame({"person": ["ann"] * 50 + ["bob"] * 2 + [None]})
    added = gate.add("visits", visits, unit="person", max_rows_per_unit=3, budget=BUDGET, rule="basic")
    assert added["imported"]["kept"] == 5 and added["imported"]["without_unit"] == 1
    assert gate.ask("SELECT COUNT(*) FROM visits", epsilon=10_000).rows == [(5,)]


def test_newer_data_take_the_place_of_older(gate: tx.Gate) -> None:
    gate.add("people", pa.table({"age": [1, 2]}), unit="row", budget=BUDGET, rule="basic")
    with pytest.raises(tx.BadInput, match="already exists"):
        gate.add("people", pa.table({"age": [1]}), unit="row")
    gate.add("people", pa.table({"age": [1, 2, 3]}), new_version=True)
    assert gate.ask("SELECT COUNT(*) FROM people", epsilon=10_000).rows == [(3,)]
    assert [one["version"] for one in gate.datasets()] == [2]


@pytest.mark.parametrize(
    "part", [{"bounds": {"age": (0, 120)}}, {"max_rows_per_unit": 2}, {"neighbours": "substitute"}], ids=lambda part: next(iter(part))
)
def test_a_part_of_a_declaration_of_newer_data_is_refused(gate: tx.Gate, part: dict[str, Any]) -> None:
    gate.add("people", pa.table({"age": [1, 2]}), unit="row", budget=BUDGET)
    with pytest.raises(tx.BadInput, match="whose privacy is protected"):
        gate.add("people", pa.table({"age": [1, 2, 3]}), new_version=True, **part)
    assert [one["version"] for one in gate.datasets()] == [1]


def test_newer_data_keep_what_the_owner_set(gate: tx.Gate) -> None:
    def settings() -> tuple[Any, ...]:
        [people] = gate.datasets()
        return people["min_epsilon"], people["timeout_seconds"], people["reuse"]

    gate.add("people", pa.table({"age": [1]}), unit="row", budget=BUDGET, min_epsilon="0.5", timeout=7, reuse=True)
    gate.add("people", pa.table({"age": [1, 2]}), new_version=True)
    assert settings() == ("0.5", 7, True)
    with pytest.raises(tx.BadInput, match="at least ε = 0.5"):
        gate.ask("SELECT COUNT(*) FROM people", epsilon="0.1")
    gate.add("people", pa.table({"age": [1, 2, 3]}), new_version=True, min_epsilon="0.25", timeout=8, reuse=False)
    assert settings() == ("0.25", 8, False)


def test_a_csv_file_is_registered_by_its_path(gate: tx.Gate, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age;town\n3;a\nx;b\n4;c\n")
    with pytest.raises(tx.BadInput, match="1 of 3 rows"):
        gate.add("people", path, unit="row", types={"age": "integer"}, budget=1)
    added = gate.add("people", path, unit="row", types={"age": "integer"}, budget=1, skip_bad_rows=True)
    assert added["imported"]["bad_rows"] == 1 and added["imported"]["kept"] == 2


@pytest.mark.parametrize(
    ("table", "part"),
    [
        (pa.table({"a": pa.array([[1]])}), "cannot be asked about"),
        (pa.table({"a": pa.array([{"b": 1}])}), "cannot be asked about"),
        (pa.table({"a": pa.array([b"x"])}), "cannot be asked about"),
        (pa.table({"a": pa.array([2**63], pa.uint64())}), "does not fit into 64 bits"),
        (pa.table({"a": pa.array(["x\0y"])}), "NUL"),
        (pa.table({"a": pa.array(["x" * 100_000])}), "longer than"),
        (pa.table({"a": pa.array([10**9], pa.date32())}), "years 1 and 9999"),
        (pa.table({"a": pa.array([2**62], pa.timestamp("s"))}), "out of range"),
        (pa.table({"a": [1], "A": [2]}), "same name"),
        (pa.table({}), "columns"),
        (pd.DataFrame({"a": [1, "x"]}), ""),
        ({"a": [1]}, "not a table"),
        ([1, 2], "not a table"),
        (np.zeros(3), "not a table"),
        (42, "not a table"),
    ],
    ids=lambda value: str(value)[:25].replace("\n", " ").replace("\0", ""),
)
def test_tables_that_cannot_be_used_say_why_and_leave_nothing(gate: tx.Gate, ledger: tx.Ledger, table: Any, part: str) -> None:
    with pytest.raises((tx.BadInput, pa.ArrowException, TypeError)) as error:
        gate.add("people", table, unit="row", budget=1)
    assert part in str(error.value)
    assert gate.datasets() == [] and ledger.accounts() == []


def test_an_object_whose_stream_is_not_one_is_refused(gate: tx.Gate) -> None:
    class Liar:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pa.table({"a": [1]}).schema.__arrow_c_schema__()

    with pytest.raises((tx.BadInput, ValueError)):
        gate.add("people", Liar(), unit="row", budget=1)


def test_a_stream_that_fails_in_the_middle_registers_nothing(gate: tx.Gate) -> None:
    schema = pa.schema([("a", pa.int64())])

    def batches() -> Any:
        yield pa.record_batch({"a": [1, 2, 3]})
        raise RuntimeError("the disk is gone")

    with pytest.raises(tx.BadInput, match="the disk is gone"):
        gate.add("people", pa.RecordBatchReader.from_batches(schema, batches()), unit="row", budget=1)
    assert gate.datasets() == []


def test_a_table_that_changes_while_it_is_read_does_no_harm(gate: tx.Gate) -> None:
    values = np.arange(200_000)
    frame = pd.DataFrame({"a": values}, copy=False)

    def batches() -> Any:
        for batch in pa.Table.from_pandas(frame).to_batches(max_chunksize=1000):
            values[:] = -1
            yield batch

    plain = (batch.replace_schema_metadata(None) for batch in batches())
    reader = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.int64())]), plain)
    assert gate.add("people", reader, unit="row", budget=1)["imported"]["rows"] == 200_000


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (dict(unit=None), "whose privacy"),
        (dict(unit="nobody", max_rows_per_unit=1), "nobody"),
        (dict(unit="person"), "max_rows_per_unit"),
        (dict(unit="row", bounds={"age": 5}), "two numbers"),
        (dict(unit="row", bounds={"age": (0, float("nan"))}), "bounds of age"),
        (dict(unit="row", types={"age": "text"}), "declared as text"),
        (dict(unit="row", types={"age": "complex"}), "complex"),
        (dict(unit="row", categories={"nothing": ["a"]}), "nothing"),
        (dict(unit="row", neighbours="friends"), "friends"),
        (dict(unit="row", timeout=-1), "timeout"),
    ],
)
def test_declarations_that_cannot_be_used_say_why(gate: tx.Gate, arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(tx.BadInput, match=part):
        gate.add("people", pa.table(PEOPLE), budget=1, **arguments)


def test_bounds_below_zero_and_dates_are_taken(gate: tx.Gate) -> None:
    table = pa.table({"a": [-5, 5], "born": [datetime.date(2000, 1, 1)] * 2})
    bounds = {"a": (-10, 10), "born": (datetime.date(1990, 1, 1), datetime.date(2020, 1, 1))}
    gate.add("t", table, unit="row", bounds=bounds, budget=BUDGET, rule="basic")
    assert gate.ask("SELECT SUM(a) FROM t WHERE a < 0", epsilon=10_000).rows == [(-5,)]


@pytest.mark.parametrize(
    "price", [{}, {"epsilon": 1, "mu": 1}, {"delta": 0.1}, {"mu": 1, "delta": 0.1}, {"epsilon": None}]
)
def test_one_price_is_offered(gate: tx.Gate, price: dict[str, Any]) -> None:
    with pytest.raises(tx.BadInput, match="offer one of"):
        gate.ask("SELECT COUNT(*) FROM people", **price)


@pytest.mark.parametrize("question", ["", "SELECT 1", "DROP TABLE people", "SELECT * FROM people", "SELECT COUNT(*) FROM people; x"])
def test_what_is_no_question_is_bad_input(gate: tx.Gate, question: str) -> None:
    gate.add("people", pa.table(PEOPLE), unit="row", budget=1)
    with pytest.raises((tx.BadInput, tx.NotFound)):
        gate.ask(question, epsilon="0.1")
    assert json.loads(json.dumps(gate.datasets()))[0]["account"]["charges"] == 0


def test_a_question_about_another_dataset_is_not_found(gate: tx.Gate) -> None:
    with pytest.raises(tx.NotFound):
        gate.ask("SELECT COUNT(*) FROM nowhere", epsilon="0.1")


def test_a_gate_needs_a_ledger_on_this_machine() -> None:
    with pytest.raises(tx.BadInput, match="on this machine"):
        tx.Gate(tx.connect("http://127.0.0.1:1", token="t"))


ENDLESS = """
import json, taximeter as tx
gate, at = tx.Gate(tx.Ledger("budgets.db")), 0
while True:
    answer = gate.ask("SELECT COUNT(*) AS n FROM people", epsilon="0.01", key=f"question-{at}")
    print(json.dumps(answer.document), flush=True)
    at += 1
"""


def test_an_analyst_who_is_killed_in_the_middle_of_asking_loses_no_answer_and_pays_once(tmp_path: Path) -> None:
    with tx.Ledger(tmp_path / "budgets.db", create=True) as ledger:
        gate = tx.Gate(ledger)
        gate.add("people", pa.table(PEOPLE), unit="row", budget=BUDGET, rule="basic")
        gate.close()
    child = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    assert child.stdout is not None
    lines = [child.stdout.readline() for _ in range(10)]
    child.kill()
    lines += child.communicate()[0].splitlines()
    answers = [json.loads(line) for line in lines if line.endswith("}\n") or line.endswith("}")]
    with tx.Ledger(tmp_path / "budgets.db") as ledger:
        gate, account = tx.Gate(ledger), ledger.account("people")
        assert len(answers) <= account.document["charges"] <= len(answers) + 1, "the last one may have lost its answer alone"
        for at, told in enumerate(answers):
            again = gate.ask("SELECT COUNT(*) AS n FROM people", epsilon="0.01", key=f"question-{at}")
            assert again.origin == "replayed" and again.document == told, "the same noise, and nothing paid"
        assert len(answers) <= account.document["charges"] <= len(answers) + 1 and ledger.verify()
        gate.close()


def test_a_made_up_answer_costs_nothing_reads_no_data_and_says_so(gate: tx.Gate, tmp_path: Path) -> None:
    people = pd.DataFrame({"age": [34, 51], "region": ["north", "south"]})
    gate.add(
        "people", people, unit="row", bounds={"age": (0, 120)}, categories={"region": ["north", "south"]}, budget="1,1e-6"
    )
    sql = "SELECT region, COUNT(*) AS n, AVG(age) AS age FROM people GROUP BY region"
    made_up = gate.ask(sql, epsilon="0.5", dummy=True)
    assert made_up.dummy and made_up.origin == "dummy" and made_up.document["dummy_rows"] == 1000
    assert made_up == gate.ask(sql, epsilon="0.5", dummy=True)
    assert sum(row[1] for row in made_up.rows) == pytest.approx(1000, abs=100)
    assert "made up" in made_up._repr_html_()
    # It has the form of a real one.
    real = gate.ask(sql, epsilon="0.5")
    assert not real.dummy
    assert list(made_up.to_pandas().columns) == list(real.to_pandas().columns)
    assert (made_up.columns, made_up.cost) == (real.columns, real.cost)
    assert gate.ask("SELECT COUNT(*) FROM people", epsilon="0.5", dummy=True, dummy_rows=10).document["dummy_rows"] == 10
    # The real one is all that was charged.
    assert gate._ledger.account("people").document["charges"] == 1
    with pytest.raises(tx.BadInput, match="between 1 and 100000"):
        gate.ask(sql, epsilon="0.5", dummy=True, dummy_rows=-1)
    with pytest.raises(tx.BadInput, match="neither stored nor given again"):
        gate.ask(sql, epsilon="0.5", dummy=True, key="k")


needs_duckdb = pytest.mark.skipif("TAXIMETER_DRIVERS" not in os.environ, reason="cargo xtask test names a folder with DuckDB's library")
EXACT = {"unit": "row", "bounds": {"age": (0, 120)}, "categories": {"region": ["north", "south"]}, "budget": BUDGET}
BY_REGION = "SELECT region, COUNT(*) AS n, SUM(age) AS years FROM people GROUP BY region"


@needs_duckdb
@pytest.mark.parametrize("kind", ["file", "folder", "pattern", "imported"])
def test_duckdb_answers_about_parquet_and_csv_files(gate: tx.Gate, tmp_path: Path, kind: str) -> None:
    (tmp_path / "lake").mkdir()
    frame = pl.DataFrame(PEOPLE, strict=False)
    frame.write_parquet(tmp_path / "lake" / "people.parquet")
    frame.write_csv(tmp_path / "people.csv")
    lakes = {"file": tmp_path / "lake" / "people.parquet", "folder": tmp_path / "lake", "pattern": str(tmp_path / "lake" / "*.parquet")}
    if kind == "imported":
        gate.add("people", tmp_path / "people.csv", engine="duckdb", **EXACT)
    else:
        gate.add("people", parquet=lakes[kind], **EXACT)
    # At this price the noise is 0.
    assert gate.ask(BY_REGION, epsilon="1000000").rows == [("north", 3, 62), ("south", 2, 111)]


@needs_duckdb
def test_files_that_changed_are_another_version(gate: tx.Gate, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pl.DataFrame(PEOPLE, strict=False).write_parquet(path)
    gate.add("people", parquet=path, **EXACT)
    pl.DataFrame(PEOPLE, strict=False).head(2).write_parquet(path)
    with pytest.raises(tx.Error, match="nothing was charged"):
        gate.ask(BY_REGION, epsilon="1000000")
    gate.add("people", parquet=path, new_version=True)
    assert gate.ask(BY_REGION, epsilon="1000000").rows == [("north", 1, 34), ("south", 1, 51)]


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ({}, "give one of data, parquet, postgres, adbc; given: none"),
        ({"data": "people.csv", "parquet": "lake"}, "given: data, parquet"),
        ({"parquet": "lake", "engine": "duckdb"}, "chosen for a CSV file"),
        ({"data": "people.csv", "engine": "duckdb2"}, "duckdb2"),
        ({"data": "people.csv", "driver": "duckdb"}, "a driver goes with"),
        ({"parquet": "no/such/*.parquet", "driver": "no-such-driver"}, "no-such-driver"),
        ({"adbc": "flightsql", "table": "visits"}, "uri and table"),
        ({"adbc": "oracle", "uri": "grpc://127.0.0.1:9", "table": "visits"}, "oracle"),
        ({"adbc": "flightsql", "uri": "grpc://reader:s3cret@127.0.0.1:9", "table": "visits"}, "must not contain a user"),
    ],
)
def test_a_source_that_cannot_be_read_is_refused_with_the_reason(gate: tx.Gate, wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(tx.Error, match=re.escape(why)) as refused:
        gate.add("people", unit="row", budget=1, **wrong)
    assert "s3cret" not in str(refused.value)
    assert gate.datasets() == []
