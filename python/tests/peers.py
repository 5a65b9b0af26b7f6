"""Makes docs/peers.md: what other accountants deliver when they are used adaptively, exactly, beside what they claim.

    target/python-package/venv/bin/python python/tests/peers.py > docs/peers.md
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version

from diffprivlib import BudgetAccountant

import taximeter as tx
from taximeter.lab import Probability

EPSILON, DELTA, ROUNDS = 0.1, 1e-3, 1500


def diffprivlib_total() -> Callable[[int], float]:
    """What diffprivlib's accountant says after each spend, with all of δ as its slack."""
    accountant = BudgetAccountant(slack=DELTA)

    def reading(_: int) -> float:
        accountant.spend(EPSILON, 0)
        return float(accountant.total()[0])

    return reading


def attacked(odometer: tx.Odometer | Callable[[int], float]) -> Probability:
    """The stopping-time adversary against an odometer."""
    return tx.lab.attack(odometer, epsilon=EPSILON, rounds=ROUNDS, delta=DELTA)


def main() -> str:
    """The page."""
    theirs, ours = attacked(diffprivlib_total()), attacked(tx.Odometer(str(DELTA)))
    rows = [
        (f"diffprivlib {version('diffprivlib')}, `BudgetAccountant(slack=δ).total()`", theirs),
        ("`taximeter.Odometer(delta=δ).reading`", ours),
    ]
    table = "\n".join(f"| {name} | {found.claimed:g} | {found.lower:.4g} | {found.lower / found.claimed:.3g} |" for name, found in rows)
    return f"""# Other accountants, used adaptively

A theorem for costs that are fixed in advance says nothing about an analyst who stops when the answers look good. The table shows the exact
probability with which such an analyst sees a privacy loss above what the accountant says: at most {ROUNDS} questions of ε = {EPSILON} by
randomized response, stopped in the first round in which the loss is above the reading. It is computed, not sampled
(`taximeter.lab.attack`), and both were run as they are installed from PyPI.

| what is read | δ that is claimed | δ that is delivered | ratio |
|---|---|---|---|
{table}

diffprivlib documents `total()` as the total privacy spend by the theorem of Kairouz, Oh and Viswanath, which is about a fixed number of
rounds with fixed costs; read after each round by someone who may stop, it is an odometer, and is not valid as one. A valid one in its
place, and a filter wherever a `BudgetAccountant` is taken:

```python
from taximeter.adapters.diffprivlib import FilterAccountant

accountant = FilterAccountant(1.0, 1e-6)       # ε and δ
with accountant:                               # or accountant=accountant in each call
    ...                                        # diffprivlib raises BudgetError when the filter refuses
```

This page is made by `python/tests/peers.py`, and a test compares it with what that computes.
"""


if __name__ == "__main__":
    print(main(), end="")
