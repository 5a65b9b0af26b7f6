"""diffprivlib: a budget accountant that is a filter. It stands wherever a `BudgetAccountant` does.

Tested with diffprivlib 0.6.6. An ε or δ that a caller declares is taken at its shortest decimal text, as everywhere in this package.

>>> accountant = FilterAccountant(1.0, 1e-6)
>>> for _ in range(10):
...     _ = accountant.spend(0.1, 0)
>>> accountant.total()[0] <= 1
True
"""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

from diffprivlib import BudgetAccountant
from diffprivlib.utils import Budget, BudgetError
from diffprivlib.validation import check_epsilon_delta

from taximeter._native import Cost
from taximeter.costs import Number, approximate, pure
from taximeter.errors import Refused, bad_input
from taximeter.meters import Filter


class FilterAccountant(BudgetAccountant):  # type: ignore[misc]
    """A `BudgetAccountant` whose budget is decided by a filter, so that every spend may depend on what came before.

    With a part of δ for the mechanisms' own (`mechanism_delta`), the rest pays for composition.
    """

    def __init__(
        self, epsilon: float, delta: float = 0.0, rule: str | None = None, *, mechanism_delta: Number | None = None
    ) -> None:
        self._filter = Filter((epsilon, delta), rule, mechanism_delta=mechanism_delta)
        self._spent: list[tuple[float, float]] = []
        super().__init__(epsilon, delta)

    @property
    def filter(self) -> Filter:
        """The filter that decides."""
        return self._filter

    @property
    def spent_budget(self) -> list[tuple[float, float]]:
        """What was spent, one by one."""
        return list(self._spent)

    def check(self, epsilon: float, delta: float) -> bool:
        """Whether a spend would be admitted; raises BudgetError if not."""
        cost = self._cost(epsilon, delta)
        if not self._filter.admits(cost):
            raise BudgetError(f"the filter does not admit {cost}; it admits at most {self._filter.largest(cost)}")
        return True

    def spend(self, epsilon: float, delta: float) -> FilterAccountant:
        """Charges, or raises BudgetError and changes nothing."""
        cost = self._cost(epsilon, delta)
        try:
            self._filter.charge(cost)
        except Refused as refused:
            raise BudgetError(str(refused)) from refused
        self._spent.append((epsilon, delta))
        return self

    def total(self, spent_budget: Any = None, slack: Any = None) -> Any:
        """What was spent, added up: what is released is within the filter's budget, whatever the sum says."""
        if spent_budget is not None or slack:
            raise bad_input("slack", "a filter decides once and for all; make another one to try another slack or other spends")
        spent = self._filter.spent
        return Budget(float("inf") if spent.epsilon is None else float(spent.epsilon), float(spent.delta))

    def remaining(self, k: int = 1) -> Any:
        """The largest ε that fits k times, and the share of the set-aside δ for each of them."""
        largest = self._filter.largest(times=k)
        epsilon = 0.0 if largest is None or largest.epsilon is None else _at_most(largest.epsilon)
        return Budget(epsilon, float(self._filter.left.delta) / k)

    def _cost(self, epsilon: float, delta: float) -> Cost:
        check_epsilon_delta(epsilon, delta)
        return approximate(epsilon, delta) if delta else pure(epsilon)


def _at_most(number: Decimal) -> float:
    """The largest float whose decimal text is not above a number."""
    nearest = float(number)
    return nearest if Decimal(repr(nearest)) <= number else math.nextafter(nearest, 0.0)
