"""Times of the package, each beside something that runs next to it. Install the wheel and the test requirements first.

    target/python-package/venv/bin/python python/tests/benchmark.py [rows of the table] [the program taximeter-bench, of the same profile]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dp_accounting
import numpy as np
import opendp.prelude as dp
import polars as pl
from diffprivlib import BudgetAccountant
from diffprivlib.utils import BudgetError
from dp_accounting.pld import PLDAccountant

import taximeter as tx

CHARGES, SMALL, LARGE = 4000, 0.0002, 0.001
TABLE = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
RUST = sys.argv[2] if len(sys.argv) > 2 else None


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """The processor time that something takes, in seconds, and what it returns: other programs on the machine do not count."""
    start = clock()
    value = work()
    return clock() - start, value


def in_rust(*arguments: str) -> dict[str, Any]:
    """What the benchmark in Rust says."""
    assert RUST is not None
    told = subprocess.run([RUST, *arguments, "--json"], check=True, capture_output=True, text=True)
    return dict(json.loads(told.stdout))


def overhead() -> None:
    """A charge from Python: its whole time, which bounds what is above the same charge in Rust."""
    f, cost, calls = tx.Filter("100,1e-6"), tx.pure("1e-5"), 200_000

    def charges() -> None:
        for _ in range(calls):
            f.charge(cost)

    charged, _ = timed(charges)
    print(f"f.charge from Python: {charged / calls * 1e6:.2f} µs in all")


def admitted(ask: Callable[[], Any], refused: type[Exception]) -> int:
    """How many charges are admitted before the first refusal."""
    for count in range(CHARGES):
        try:
            ask()
        except refused:
            return count
    return CHARGES


def ours(epsilon: float) -> int:
    f, cost = tx.Filter("1,1e-6"), tx.pure(epsilon)
    return admitted(lambda: f.charge(cost), tx.Refused)


def by_opendp(epsilon: float) -> int:
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    query = dp.m.make_laplace(*space, scale=1 / epsilon)
    odometer = dp.c.make_fully_adaptive_composition(*space, output_measure=dp.max_divergence())
    queryable = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0)(0)
    return admitted(lambda: queryable(query), dp.OpenDPException)


def by_diffprivlib(epsilon: float) -> int:
    accountant = BudgetAccountant(1.0, 1e-6)
    return admitted(lambda: accountant.spend(epsilon, 0), BudgetError)


def by_dp_accounting(epsilon: float) -> int:
    accountant, event = PLDAccountant(), dp_accounting.LaplaceDpEvent(1 / epsilon)

    def decide() -> None:
        # The whole distribution is recomputed for each decision.
        accountant.compose(event)
        if accountant.get_epsilon(1e-6) > 1:
            raise OverflowError

    return admitted(decide, OverflowError)


def durable(folder: Path, threads: int = 64, each: int = 400, turns: int = 3) -> None:
    """Charges that are on disk, from many threads at once: in turns with as many threads in Rust; the best turn of each counts."""
    here, there = [], []
    for turn in range(turns):
        with tx.Ledger(folder / f"ledger-{turn}.db", create=True) as ledger:
            account, cost = ledger.create("census", "100,1e-6"), tx.pure("0.0001")

            def charge(count: int) -> None:
                for _ in range(count):
                    account.charge(cost)

            workers = [threading.Thread(target=charge, args=(each,)) for _ in range(threads)]

            def together() -> None:
                for worker in workers:
                    worker.start()
                for worker in workers:
                    worker.join()

            shared, _ = timed(together, time.perf_counter)
            here.append(threads * each / shared)
        if RUST is not None:
            told = in_rust("ledger", "--no-postgres", "--no-long", "--seconds", "2")["rates"]
            alike = [caller for one in told if one["accounts"] == 1 for caller in one["callers"]]
            there += [caller["per_second"] for caller in alike if caller["callers"] == {"threads": threads}]
    print(f"durable charges from {threads} threads: {max(here):.0f} per second")
    if there:
        print(f"  {max(there):.0f} in Rust: ratio {max(here) / max(there):.2f}")


def registration(folder: Path) -> None:
    """A DataFrame, beside the same rows in a CSV file."""
    random = np.random.default_rng(1)
    frame = pl.DataFrame({
        "age": random.integers(0, 100, TABLE),
        "income": random.random(TABLE) * 1e5,
        "region": random.choice(["north", "south", "east", "west"], TABLE),
    })
    frame.write_csv(folder / "rows.csv")
    with tx.Ledger(folder / "gate.db", create=True) as ledger:
        gate = tx.Gate(ledger)
        declared: dict[str, Any] = {"unit": "row", "bounds": {"age": (0, 120)}, "budget": 1}
        file, _ = timed(lambda: gate.add("file", folder / "rows.csv", **declared))
        table, _ = timed(lambda: gate.add("table", frame, **declared))
        gate.close()
    print(f"{TABLE} rows: {table:.2f} s from a DataFrame, {file:.2f} s from a CSV file, ratio {file / table:.2f}")


def main() -> None:
    """All of them."""
    dp.enable_features("contrib", "honest-but-curious")
    overhead()
    peers = {"OpenDP's filter": by_opendp, "diffprivlib": by_diffprivlib, "dp_accounting's PLD": by_dp_accounting}
    print(f"{CHARGES} charges from a budget of (1, 1e-6), and how many of them are admitted:")
    for name, work in {"taximeter": ours, **peers}.items():
        seconds, small = timed(lambda: work(SMALL))
        print(f"  {name:<20} {seconds:8.3f} s, {small} of ε = {SMALL}, {work(LARGE)} of ε = {LARGE}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        durable(Path(folder))
        registration(Path(folder))


if __name__ == "__main__":
    main()
