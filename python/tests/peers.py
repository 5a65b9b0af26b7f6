"""Makes the tables of docs/peers.md: what other accountants deliver when they are used adaptively, exactly, beside what they claim.

    target/python-package/venv/bin/python python/tests/peers.py [--measure]

It computes the rows of the libraries that are installed here, so run it in every environment below target/python-package. With --measure it
also takes the times, which no test compares.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import taximeter as tx

PAGE = Path(__file__).parents[2] / "docs/peers.md"
EPSILON, DELTA, ROUNDS = 0.1, 1e-3, 1500
SIZES = (500, 1000, 2000, 4000)


def diffprivlib_total() -> Callable[[int], float]:
    """What diffprivlib's accountant says after each spend, with all of δ as its slack."""
    from diffprivlib import BudgetAccountant

    accountant = BudgetAccountant(slack=DELTA)

    def reading(_: int) -> float:
        accountant.spend(EPSILON, 0)
        return float(accountant.total()[0])

    return reading


def smartnoise_spent() -> Callable[[int], float]:
    """What SmartNoise's odometer says after each spend. Its slack is half of the δ that it is made with."""
    from snsql import Privacy
    from snsql.sql.odometer import OdometerHeterogeneous

    odometer = OdometerHeterogeneous(Privacy(epsilon=EPSILON, delta=2 * DELTA))

    def reading(_: int) -> float:
        odometer.spend(Privacy(epsilon=EPSILON, delta=0.0))
        epsilon, delta = odometer.spent
        assert math.isclose(delta, DELTA), "the odometer claims this δ"
        return float(epsilon)

    return reading


def ours() -> Callable[[int], float]:
    """What our odometer reads after each charge."""
    odometer, cost = tx.Odometer(str(DELTA)), tx.pure(str(EPSILON))

    def reading(_: int) -> float:
        odometer.charge(cost)
        return float(odometer.reading)

    return reading


def attacked(name: str, make: Callable[[], Callable[[int], float]]) -> str:
    """The stopping-time adversary against an odometer: what is seen above its reading, and the δ of all that is seen at its reading."""
    found = []
    for pointwise in (True, False):
        reading = make()
        # Binary sums of 0.1 are a little off; that is not what this is about.
        above = [0.0, *(reading(charged) * (1 + 1e-9) for charged in range(1, ROUNDS + 1))]
        found.append(tx.lab.attack(above.__getitem__, epsilon=EPSILON, rounds=ROUNDS, delta=DELTA, pointwise=pointwise))
    return row(name, f"{DELTA:g}", *(f"{each.lower:.4g}" for each in found))


def flower_accountant(epsilon: float, delta: float) -> Any:
    """Flower's accountant with a limit, as its strategies with fixed clipping need it."""
    from flwr.serverapp import NeighboringRelation, PrivacyConfig, RdpAccountant, SamplingMethod

    relation, sampling = NeighboringRelation.ADD_OR_REMOVE_ONE, SamplingMethod.NO_AMPLIFICATION
    return RdpAccountant(PrivacyConfig(delta, 100, relation, sampling, max_epsilon=epsilon))


def flower_would_exceed(name: str) -> str:
    """The exact δ behind `would_exceed`. It decides by Σ1/σ² alone, so all of it, in any order of σs, is one Gaussian of μ² = Σ1/σ²."""
    from flwr.serverapp import GaussianPrivacyEvent

    accountant = flower_accountant(1.0, DELTA)
    event = GaussianPrivacyEvent(100.0, 10, 100)
    low, high = 1, 1_000_000
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if accountant.would_exceed(event, count=middle) else (middle, high)
    mu = math.sqrt(low) / event.noise_multiplier

    def normal(at: float) -> float:
        return math.erfc(-at / math.sqrt(2)) / 2

    delivered = normal(mu / 2 - 1 / mu) - math.e * normal(-mu / 2 - 1 / mu)
    return row(name, f"{DELTA:g}", f"{delivered:.4g}", f"{delivered / DELTA:.3g}")


def opendp_filter() -> tuple[Callable[[Any], Any], Callable[[float], Any]]:
    """OpenDP's filter of ε = 1 with its odometer, and a query of an ε."""
    import opendp.prelude as dp

    dp.enable_features("contrib", "honest-but-curious")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    odometer = dp.c.make_fully_adaptive_composition(*space, output_measure=dp.max_divergence())
    return dp.c.make_privacy_filter(odometer, d_in=1, d_out=1.0)(0), lambda epsilon: dp.m.make_laplace(*space, scale=1 / epsilon)


def admitted(ask: Callable[[], Any], most: int, refused: type[Exception]) -> tuple[int, str]:
    """How many of a number of questions are answered, and why the next one is not."""
    for count in range(most):
        try:
            ask()
        except refused as error:
            return count, str(error).strip().splitlines()[-1]
    return most, ""


def opendp_facts() -> Iterator[str]:
    """Ten times a tenth, and a query that is too large, at OpenDP's filter and at ours."""
    from opendp.mod import OpenDPException

    queryable, query = opendp_filter()
    tenths, _ = admitted(lambda: queryable(query(0.1)), 10, OpenDPException)
    queryable, query = opendp_filter()
    large, _ = admitted(lambda: queryable(query(2.0)), 1, OpenDPException)
    after, why = admitted(lambda: queryable(query(0.1)), 1, OpenDPException)
    name = f"OpenDP {version('opendp')}, `make_privacy_filter`"
    yield row(name, f"{tenths} of 10", "answered" if large else "refused", "answered" if after else f"refused: {why}")
    ours = tx.Filter(1)
    tenths, _ = admitted(lambda: ours.charge(tx.pure("0.1")), 10, tx.Refused)
    ours = tx.Filter(1)
    large, _ = admitted(lambda: ours.charge(tx.pure(2)), 1, tx.Refused)
    after, why = admitted(lambda: ours.charge(tx.pure("0.1")), 1, tx.Refused)
    yield row("`taximeter.Filter(1)`", f"{tenths} of 10", "answered" if large else "refused", "answered" if after else f"refused: {why}")


def times(fill: Callable[[], Any], ask: Callable[[], Any]) -> list[str]:
    """Microseconds of processor time for one question after each of the sizes, as the mean of five."""
    taken, done = [], 0
    for size in SIZES:
        for _ in range(size - done):
            fill()
        start = time.process_time()
        for _ in range(5):
            ask()
        microseconds = (time.process_time() - start) / 5 * 1e6
        taken.append(f"{microseconds:.0f}" if microseconds >= 10 else f"{microseconds:.1f}")
        done = size
    return taken


def measured() -> Iterator[str]:
    """The time of one more question, by what is installed here."""
    if find_spec("opendp") and not find_spec("snsql"):
        queryable, query = opendp_filter()
        small = query(0.0001)
        yield row(f"OpenDP {version('opendp')}, a query of its filter", *times(lambda: queryable(small), lambda: queryable(small)))
        ours, cost = tx.Filter(1), tx.pure("0.0001")
        yield row("`taximeter.Filter(1)`, a charge", *times(lambda: ours.charge(cost), lambda: ours.charge(cost)))
    if find_spec("flwr"):
        from flwr.serverapp import GaussianPrivacyEvent

        accountant, event = flower_accountant(1.0, DELTA), GaussianPrivacyEvent(1000.0, 10, 100)
        taken = times(lambda: accountant.compose(event), lambda: accountant.would_exceed(event))
        yield row(f"Flower {version('flwr')}, `would_exceed`", *taken)


def computed() -> Iterator[str]:
    """The rows that are the same on every machine, by what is installed here."""
    if find_spec("snsql"):
        yield attacked(f"SmartNoise SQL {version('smartnoise-sql')}, `OdometerHeterogeneous.spent`", smartnoise_spent)
    elif find_spec("opendp"):
        yield attacked(f"diffprivlib {version('diffprivlib')}, `BudgetAccountant(slack=δ).total()`", diffprivlib_total)
        yield attacked("`taximeter.Odometer(delta=δ).reading`", ours)
        yield from opendp_facts()
    if find_spec("flwr"):
        yield flower_would_exceed(f"Flower {version('flwr')}, `RdpAccountant.would_exceed` at ε = 1")


def row(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def renewed(page: str, rows: list[str]) -> str:
    """The page with these rows in the places of those that begin alike."""
    lines = page.split("\n")
    for made in rows:
        [at] = [at for at, line in enumerate(lines) if line.startswith(made.split(" | ")[0] + " |")]
        lines[at] = made
    return "\n".join(lines)


def main(page: str, *, measure: bool = False) -> str:
    """The page as it should be."""
    return renewed(page, [*computed(), *(measured() if measure else ())])


if __name__ == "__main__":
    PAGE.write_text(main(PAGE.read_text(encoding="utf-8"), measure="--measure" in sys.argv), encoding="utf-8")
