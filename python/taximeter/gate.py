"""The gate: the only way to the data. It charges, executes, adds noise and answers, in this order.

>>> import pandas as pd, taximeter as tx
>>> people = pd.DataFrame({"age": [34, 51, 28, 60], "region": ["north", "south", "north", "south"]})
>>> gate = tx.Gate(tx.Ledger(folder / "budgets.db", create=True))
>>> _ = gate.add("people", people, unit="row", bounds={"age": (0, 120)}, categories={"region": ["north", "south"]}, budget="1,1e-6")
>>> answer = gate.ask("SELECT region, COUNT(*) AS n FROM people GROUP BY region", epsilon="0.1")
>>> answer.to_pandas().columns.to_list()
['region', 'n', 'n_low', 'n_high']
"""

from __future__ import annotations

import datetime
import json
import os
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from taximeter import _native, drawing
from taximeter._native import Cost, arrow_stream, rounded
from taximeter.costs import Number
from taximeter.documents import Document, StudyPlan
from taximeter.errors import bad_input
from taximeter.figures import Bars, Drawable
from taximeter.ledger import Account, Ledger
from taximeter.rules import Budget, filter_request

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Bound: TypeAlias = "Number | datetime.date | datetime.datetime"
"""An end of a column's bounds: a number, or a date or a time for columns that hold those."""


class Answer(Document, Drawable):
    """An answer with its noise, cost and receipt. The same key gives it again, byte for byte."""

    def __init__(self, text: str, origin: str) -> None:
        super().__init__(text)
        self.origin = origin
        """Where it is from: "fresh", "replayed" under the same key, "reused", or "dummy" if it is made up."""

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows: a group's value, or a noisy number; None if there are too few rows."""
        return [tuple(_value(cell) for cell in row) for row in self.document["rows"]]

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return [column["name"] for column in self.document["columns"]]

    @property
    def dummy(self) -> bool:
        """Whether it is made up: it says nothing about the data, and nothing was charged."""
        return bool(self.document.get("dummy", False))

    @property
    def cost(self) -> Cost:
        """What was paid; for a made-up answer, what the question would cost."""
        return Cost.from_json(json.dumps(self.document["cost"]))

    @cached_property
    def table(self) -> dict[str, list[Any]]:
        """The columns by name. A noisy number `n` is followed by `n_low` and `n_high`: where the truth is, in 95 of 100 answers."""
        table: dict[str, list[Any]] = {}
        for at, column in enumerate(self.document["columns"]):
            cells, name = [row[at] for row in self.document["rows"]], column["name"]
            table[_free(table, name)] = [_value(cell) for cell in cells]
            if column.get("aggregate"):
                ends = [_interval(cell) for cell in cells]
                table[_free(table, f"{name}_low")] = [low for low, _ in ends]
                table[_free(table, f"{name}_high")] = [high for _, high in ends]
        return table

    def _repr_html_(self) -> str:
        paid = drawing.line("made up; would cost" if self.dummy else "paid", self.cost)
        gauges = [drawing.gauge(one["left"], f"{one['account']} left") for one in self.document.get("accounts", [])]
        return drawing.card(self.document["question"], self.svg(), paid, *gauges)

    @property
    def figure(self) -> Bars:
        """The first noisy column as bars with their intervals, by the groups before it; at most 40 of them."""
        columns = self.document["columns"]
        noisy = [at for at, column in enumerate(columns) if column.get("aggregate")][:1]
        groups = [at for at, column in enumerate(columns) if not column.get("aggregate")]
        rows = self.document["rows"][:40] if noisy else []
        names = [columns[at]["name"] for at in noisy]
        labels = [", ".join(str(row[at]) for at in groups) or names[0] for row in rows]
        cells = [row[noisy[0]] for row in rows]
        # A value that is not a number, such as a date or the most frequent text, has no bar.
        drawn = [cell if isinstance(_value(cell), (int, float)) else None for cell in cells]
        return Bars("".join(names), labels, [_value(cell) for cell in drawn], [_interval(cell) for cell in drawn])

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The answer as a stream of Arrow, so that pyarrow, polars and others take it as it is. No other schema can be requested."""
        return arrow_stream(list(self.table.items()))

    def to_arrow(self) -> pyarrow.Table:
        """The answer as a table of pyarrow."""
        import pyarrow

        return pyarrow.table(self)

    def to_pandas(self) -> pandas.DataFrame:
        """The answer as a DataFrame of pandas."""
        import pandas

        return pandas.DataFrame(self.table)

    def to_polars(self) -> polars.DataFrame:
        """The answer as a DataFrame of polars."""
        import polars

        return polars.DataFrame(self)


class Gate:
    """The gate of a ledger on this machine. Its records and the imported data are in a folder next to the ledger, or in `folder`."""

    def __init__(self, ledger: Ledger, folder: str | os.PathLike[str] | None = None) -> None:
        backend = ledger._backend
        if not isinstance(backend, _native.Ledger):
            raise bad_input("ledger", "a gate needs a ledger on this machine; a server has its own gate")
        self._ledger = ledger
        self._gate = _native.Gate(backend, None if folder is None else os.fspath(folder))

    def add(
        self,
        name: str,
        data: Any = None,
        *,
        unit: str | None = None,
        max_rows_per_unit: int | None = None,
        neighbours: str | None = None,
        types: Mapping[str, str] | None = None,
        bounds: Mapping[str, tuple[Bound, Bound]] | None = None,
        grid: Mapping[str, Number] | None = None,
        categories: Mapping[str, Sequence[str | int | bool]] | None = None,
        budget: Budget | None = None,
        rule: str | None = None,
        mechanism_delta: Number | None = None,
        parquet: str | os.PathLike[str] | None = None,
        postgres: str | None = None,
        adbc: str | None = None,
        uri: str | None = None,
        table: str | None = None,
        credentials: str | os.PathLike[str] | None = None,
        csv: Mapping[str, Any] | None = None,
        engine: str | None = None,
        driver: str | os.PathLike[str] | None = None,
        entry: str | None = None,
        skip_bad_rows: bool = False,
        new_version: bool = False,
        reuse: bool | None = None,
        timeout: float | None = None,
        min_epsilon: Number | None = None,
    ) -> dict[str, Any]:
        """Registers a dataset: a DataFrame of pandas or polars, a table of Arrow, a CSV file, Parquet files, or a table of a server.

        Parquet files (`parquet="lake/*.parquet"`), tables of PostgreSQL (`postgres=`, `table=`) and tables of clusters and warehouses
        (`adbc="flightsql"`, `uri=`, `table=`) stay where they are. `engine="duckdb"` imports a CSV file into DuckDB. DuckDB and other
        engines need their driver: `driver` is its name or the path of its library, and `entry` the library's entry point, if they are not
        the usual ones.

        `unit` says whose privacy is protected: "row", or the column that identifies a person, with the most rows of one person that
        count. Write bounds and categories from what is known about the subject, not from the rows: they are public. Returns the
        registration as a document.

        `min_epsilon` is the least that a question must cost, `timeout` the seconds that it may take (60 by default), and with `reuse`
        analysts may get their own earlier answers again at no cost. `new_version` registers newer data of a dataset, paid for by the
        same account. A declaration is given whole or not at all; without one, the old one stays. `min_epsilon`, `timeout` and `reuse`
        stay unless given.
        """
        request: dict[str, Any] = {"dataset": name, "new_version": new_version}
        if reuse is not None:
            request["reuse"] = reuse
        declaration = (unit, max_rows_per_unit, neighbours, types, bounds, grid, categories)
        declares = any(part is not None and part != {} for part in declaration)
        if declares or not new_version:
            request["schema"] = _schema(*declaration)
        if budget is not None:
            request["filter"] = filter_request(budget, rule, mechanism_delta=mechanism_delta)
        if timeout is not None:
            request["timeout_seconds"] = float(timeout)
        if min_epsilon is not None:
            request["min_epsilon"] = rounded("min_epsilon", min_epsilon, True)
        sources = {"data": data, "parquet": parquet, "postgres": postgres, "adbc": adbc}
        given = [name for name, source in sources.items() if source is not None]
        if len(given) != 1:
            raise bad_input("data", f"give one of {', '.join(sources)}; given: {', '.join(given) or 'none'}")
        is_file = isinstance(data, (str, os.PathLike))
        if engine is not None and not is_file:
            raise bad_input("engine", "an engine is chosen for a CSV file; all other data have one")
        if driver is not None and parquet is None and adbc is None and engine != "duckdb":
            raise bad_input("driver", 'a driver goes with parquet, adbc or engine="duckdb"')
        chosen = _driver(driver, entry)
        if parquet is not None:
            request["source"] = {"parquet": {"pattern": os.fspath(parquet), **chosen}}
        elif postgres is not None:
            request["source"] = {"postgres": {"url": postgres, "table": table}}
        elif adbc is not None:
            if uri is None or table is None:
                raise bad_input("adbc", "say where the table is: uri and table")
            remote = {"service": adbc, "uri": uri, "table": table}
            if credentials is not None:
                remote["credentials"] = os.path.abspath(credentials)
            request["source"] = {"remote": {"table": remote, **chosen}}
        elif is_file:
            form = {"skip_bad_rows": skip_bad_rows, "form": dict(csv or {}), "engine": engine}
            request["source"], data = {"csv": {"path": os.fspath(data), **form, **chosen}}, None
        return dict(json.loads(self._gate.register(json.dumps(request), data)))

    def add_analyst(self, dataset: str, analyst: str, budget: Budget, rule: str | None = None) -> Account:
        """Opens an account for an analyst below the dataset's: both pay for the analyst's questions."""
        request = {"analyst": analyst, "filter": filter_request(budget, rule)}
        self._gate.add_analyst(dataset, json.dumps(request))
        return self._ledger.account(f"{dataset}/{analyst}")

    def ask(
        self,
        question: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        mu: Number | None = None,
        error: Number | None = None,
        noise: str = "laplace",
        key: str | None = None,
        account: str | None = None,
        by: str | None = None,
        dataset: str | None = None,
        weights: Mapping[str, Number] | None = None,
        clamp: bool = False,
        reuse: bool = False,
        dummy: bool = False,
        dummy_rows: int = 1000,
    ) -> Answer:
        """Asks a question in SQL, for an ε, an ε and a δ, a μ of Gaussian noise, or an `error` that 95% intervals must not exceed.

        With the same `key`, the same question is paid and answered once. Raises Refused if the budget does not admit it, and
        ChargedNoAnswer if something failed after the charge.

        With `dummy`, the answer is made from `dummy_rows` made-up rows, which follow from the declaration alone: no data are read, nothing
        is charged, and `answer.dummy` is true.
        """
        request = _question(question, dataset, epsilon, delta, mu, error, noise, account, weights, clamp, reuse)
        if dummy:
            if key is not None or reuse:
                raise bad_input("dummy", "a made-up answer is neither stored nor given again: omit key and reuse")
            if not 1 <= dummy_rows <= 100_000:
                raise bad_input("dummy_rows", f"there are between 1 and 100000 made-up rows, not {dummy_rows}")
            return Answer(self._gate.ask_dummy(request, dummy_rows), "dummy")
        return Answer(*self._gate.ask(request, key, by))

    def quote(
        self,
        question: str,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        mu: Number | None = None,
        error: Number | None = None,
        noise: str = "laplace",
        account: str | None = None,
        dataset: str | None = None,
        weights: Mapping[str, Number] | None = None,
    ) -> dict[str, Any]:
        """What a question would run, its noise and its cost, and whether the budget admits it. Charges nothing."""
        request = _question(question, dataset, epsilon, delta, mu, error, noise, account, weights, False, False)
        return dict(json.loads(self._gate.explain(request)))

    def plan(self, questions: Sequence[Mapping[str, Any]], *, dataset: str | None = None, account: str | None = None) -> StudyPlan:
        """What the questions of a study cost and need together, in which order, and what they leave. Charges nothing.

        Every question has its `sql` and a price as in `ask` (`epsilon`, `epsilon` and `delta`, `mu`, or `error` with its `noise`), and may
        have a `name` and the number of `times` that it is asked.
        """
        if not questions:
            raise bad_input("questions", "a study needs at least one question")
        first = str(questions[0].get("sql", ""))
        study: dict[str, Any] = {"dataset": dataset or _dataset_in(first), "questions": [_planned(one) for one in questions]}
        if account is not None:
            study["account"] = account
        return StudyPlan(self._gate.plan(json.dumps(study)))

    def datasets(self) -> list[dict[str, Any]]:
        """All datasets."""
        return list(json.loads(self._gate.datasets()))

    def close(self) -> None:
        """Closes the gate; the ledger stays open."""
        self._gate.close()


def _driver(driver: str | os.PathLike[str] | None, entry: str | None) -> dict[str, Any]:
    """The driver of a source, if its owner names one."""
    if driver is None:
        return {}
    choice = {"driver": os.fspath(driver)}
    return {"driver": choice if entry is None else choice | {"entry": entry}}


def _schema(
    unit: str | None,
    max_rows_per_unit: int | None,
    neighbours: str | None,
    types: Mapping[str, str] | None,
    bounds: Mapping[str, tuple[Bound, Bound]] | None,
    grid: Mapping[str, Number] | None,
    categories: Mapping[str, Sequence[str | int | bool]] | None,
) -> dict[str, Any]:
    if unit is None:
        raise bad_input("unit", 'say whose privacy is protected: unit="row", or name the column that identifies the person')
    columns: dict[str, dict[str, Any]] = {}

    def column(name: str) -> dict[str, Any]:
        return columns.setdefault(name, {"name": name})

    for name, kind in (types or {}).items():
        column(name)["type"] = kind
    for name, ends in (bounds or {}).items():
        if not isinstance(ends, tuple) or len(ends) != 2:
            raise bad_input("bounds", f"the bounds of {name!r} are {ends!r}; give two numbers, such as (0, 120)")
        column(name)["bounds"] = [_bound(name, end) for end in ends]
    for name, step in (grid or {}).items():
        column(name)["grid"] = _signed(f"grid of {name}", step)
    for name, values in (categories or {}).items():
        column(name)["categories"] = list(values)
    schema: dict[str, Any] = {"unit": unit, "columns": list(columns.values())}
    optional = {"max_rows_per_unit": max_rows_per_unit, "neighbours": neighbours}
    return schema | {key: value for key, value in optional.items() if value is not None}


def _bound(name: str, end: Bound) -> str:
    if isinstance(end, datetime.datetime):
        return end.isoformat(sep=" ")
    if isinstance(end, datetime.date):
        return end.isoformat()
    if isinstance(end, str):
        return end
    return _signed(f"bounds of {name}", end)


def _signed(name: str, number: Number) -> str:
    """The decimal text of a number that may be below 0."""
    if isinstance(number, str):
        return number
    if isinstance(number, (int, float)) and not isinstance(number, bool) and number < 0:
        return "-" + rounded(name, -number, True)
    return rounded(name, number, True)


def _question(
    question: str,
    dataset: str | None,
    epsilon: Number | None,
    delta: Number | None,
    mu: Number | None,
    error: Number | None,
    noise: str,
    account: str | None,
    weights: Mapping[str, Number] | None,
    clamp: bool,
    reuse: bool,
) -> str:
    if [epsilon, mu, error].count(None) != 2 or (delta is not None and epsilon is None):
        raise bad_input("price", "offer one of epsilon, epsilon with delta, mu, or error")
    price: Any
    if epsilon is not None and delta is not None:
        price = {"approximate": {"epsilon": rounded("epsilon", epsilon, True), "delta": rounded("delta", delta, True)}}
    elif epsilon is not None:
        price = {"epsilon": rounded("epsilon", epsilon, True)}
    elif mu is not None:
        price = {"gaussian": rounded("mu", mu, True)}
    else:
        price = {"error": {"width": rounded("error", error, False), "noise": noise}}
    request: dict[str, Any] = {"dataset": dataset or _dataset_in(question), "question": question, "price": price}
    request |= {"clamp": clamp, "reuse": reuse}
    if weights:
        request["weights"] = {name: rounded(f"weight of {name}", weight, False) for name, weight in weights.items()}
    if account is not None:
        request["account"] = account
    return json.dumps(request)


def _planned(question: Mapping[str, Any]) -> dict[str, Any]:
    """A question of a study as the service takes it."""
    planned = {("gaussian" if name == "mu" else name): value for name, value in question.items() if value is not None}
    for name in {"epsilon", "delta", "gaussian", "error"} & planned.keys():
        planned[name] = rounded(name, planned[name], name != "error")
    return planned


def _dataset_in(question: str) -> str:
    """The first name after FROM; whether it is a dataset is found out by the gate."""
    found = re.search(r"\bfrom\s+(\"[^\"]+\"|[\w./-]+)", question, re.IGNORECASE)
    if found is None:
        raise bad_input("question", "the question has no FROM; write SELECT ... FROM and the name of the dataset")
    return found.group(1).strip('"')


def _value(cell: Any) -> Any:
    return cell.get("value") if isinstance(cell, dict) else cell


def _interval(cell: Any) -> tuple[Any, Any]:
    interval = cell.get("interval") if isinstance(cell, dict) else None
    return (None, None) if interval is None else (interval[0], interval[1])


def _free(table: dict[str, list[Any]], name: str) -> str:
    """A name that the table does not have yet."""
    while name in table:
        name += "_"
    return name
