"""Times of the package, each beside something that runs next to it. Install the wheel and the test requirements first.

    target/python-package/venv/bin/python python/tests/benchmark.py [rows of the table]
"""

from __future__ import annotations

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
from dp_accounting.pld import PLDAccountant

import taximeter as tx

CHARGES, EPSILON = 4000, 0.0002
TABLE = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000


def timed(work: Callable[[], Any], clock: Callable[[], float] = time.process_time) -> tuple[float, Any]:
    """The processor time that something takes, in seconds, and what it returns: other programs on the machine do not count."""
    start = clock()
    value = work()
    return clock() - start, value


def overhead() -> None:
    """A charge from Python, beside the same charges counted one by one in Rust."""
    cost, calls = tx.pure("1e-5"), 200_000

    def charges() -> None:
        f = tx.Filter(10, rule="basic")
        for _ in range(calls):
            f.charge(cost)

    def loops() -> None:
        f = tx.Filter(10, rule="basic")
        for _ in range(calls):
            f.is_closed

    charged, _ = timed(charges)
    looked, _ = timed(loops)
    print(f"a charge from Python: {charged / calls * 1e6:.2f} µs; an attribute of the same filter: {looked / calls * 1e6:.2f} µs")


def ours() -> int:
    f, cost = tx.Filter("1,1e-6"), tx.pure(str(EPSILON))
    admitted = 0
    for _ in range(CHARGES):
        if not f.admits(cost):
            break
        f.charge(cost)
        admitted += 1
    return admitted


def by_opendp() -> int:
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    query = dp.m.make_laplace(*space, scale=1 / EPSILON)
    odometer = dp.c.make_fully_adaptive_composition(*space, output_measure=dp.max_divergence())
    queryable = dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0)(0)
    admitted = 0
    for _ in range(CHARGES):
        try:
            queryable(query)
        except dp.OpenDPException:
            break
        admitted += 1
    return admitted


def by_diffprivlib() -> int:
    accountant = BudgetAccountant(1.0, 1e-6)
    for _ in range(CHARGES):
        accountant.spend(EPSILON, 0)
    return len(accountant)


def by_dp_accounting() -> int:
    accountant, event = PLDAccountant(), dp_accounting.LaplaceDpEvent(1 / EPSILON)
    # The whole distribution is recomputed for each decision; a hundred of them show what one takes.
    for admitted in range(100):
        accountant.compose(event)
        if accountant.get_epsilon(1e-6) > 1:
            return admitted
    return 100


def durable(folder: Path, threads: int = 64, each: int = 100) -> None:
    """Charges that are on disk, from many threads at once."""
    with tx.Ledger(folder / "ledger.db", create=True) as ledger:
        account, cost = ledger.create("census", 1000, rule="basic"), tx.pure("0.0001")

        def charge(count: int) -> None:
            for _ in range(count):
                account.charge(cost)

        alone, _ = timed(lambda: charge(each), time.perf_counter)
        workers = [threading.Thread(target=charge, args=(each,)) for _ in range(threads)]

        def together() -> None:
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        shared, _ = timed(together, time.perf_counter)
        print(f"durable charges: {each / alone:.0f} per second from one thread, {threads * each / shared:.0f} from {threads}")


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
    for name, work in {"taximeter": ours, **peers}.items():
        seconds, admitted = timed(work)
        print(f"{name}: {seconds:.2f} s for {admitted} decisions of ε = {EPSILON} each")
    with tempfile.TemporaryDirectory() as folder:
        durable(Path(folder))
        registration(Path(folder))


if __name__ == "__main__":
    main()
