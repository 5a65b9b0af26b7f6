"""dp_accounting: events become costs, and a privacy accountant is a filter.

Tested with dp_accounting 0.6. Parameters are taken at their exact binary values.

>>> import dp_accounting
>>> event = dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(0.5, dp_accounting.GaussianDpEvent(2.0)), 10)
>>> [(str(cost), times) for cost, times in costs(event)]
[('10 steps of a sampled Gaussian of rate 0.5 and σ = 2', 1)]
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import dp_accounting
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant, UnsupportedEventError

from taximeter._native import Cost
from taximeter.adapters import binary, reading
from taximeter.costs import Number, discrete_laplace, gaussian, laplace, randomized_response, sampled_gaussian, zcdp
from taximeter.errors import BadInput, Refused, bad_input
from taximeter.meters import Filter
from taximeter.rules import Budget


def costs(event: Any, times: int = 1) -> list[tuple[Cost, int]]:
    """An event as costs, each with how often it is charged. Events without an exact translation raise BadInput with the reason."""
    if isinstance(event, dp_accounting.NoOpDpEvent):
        return []
    if isinstance(event, dp_accounting.ComposedDpEvent):
        return [cost for part in event.events for cost in costs(part, times)]
    if isinstance(event, dp_accounting.SelfComposedDpEvent):
        return costs(event.event, times * _count(event.count)) if event.count else []
    if isinstance(event, dp_accounting.PoissonSampledDpEvent):
        inner = event.event
        if not isinstance(inner, dp_accounting.GaussianDpEvent):
            raise _refused(event, "only Gaussian noise has a price when it is sampled")
        rate = binary("sampling probability", event.sampling_probability)
        return [(sampled_gaussian(rate, binary("noise multiplier", inner.noise_multiplier), times), 1)] if rate else []
    return [(_simple(event), times)]


def _simple(event: Any) -> Cost:
    if isinstance(event, dp_accounting.GaussianDpEvent):
        return gaussian(sigma=binary("noise multiplier", event.noise_multiplier))
    if isinstance(event, dp_accounting.LaplaceDpEvent):
        return laplace(scale=binary("noise multiplier", event.noise_multiplier))
    if isinstance(event, dp_accounting.dp_event.DiscreteLaplaceDpEvent):
        return discrete_laplace(Fraction(binary("noise parameter", event.noise_parameter)) * event.sensitivity)
    if isinstance(event, dp_accounting.dp_event.ZCDpEvent):
        if event.xi != 0:
            raise _refused(event, "only zCDP without an additive constant has a price")
        return zcdp(binary("rho", event.rho))
    if isinstance(event, dp_accounting.dp_event.RandomizedResponseDpEvent):
        lie = Fraction(binary("noise parameter", event.noise_parameter)) / event.num_buckets
        truth = 1 - lie * (event.num_buckets - 1)
        # As much as binary randomized response that tells the truth so often: the same ratio of the two probabilities.
        return randomized_response(truth=truth / (truth + lie))
    raise _refused(event, "there is no cost of this kind")


def _count(count: int) -> int:
    if count < 0:
        raise bad_input("count", f"the count {count} is below 0")
    return count


def _refused(event: Any, reason: str) -> BadInput:
    return bad_input("event", f"{type(event).__name__} has no exact translation: {reason}")


class FilterAccountant(PrivacyAccountant):  # type: ignore[misc]
    """A privacy accountant that is a filter: `compose` raises Refused, and counts nothing, when the budget does not admit an event.

    So the next event may depend on everything that was released before, which a sum that is checked afterwards does not allow.

    >>> accountant = FilterAccountant("1,1e-6")
    >>> _ = accountant.compose(dp_accounting.LaplaceDpEvent(8.0), 4)
    >>> accountant.filter.spent.epsilon
    Decimal('0.5')
    """

    def __init__(
        self,
        budget: Budget,
        rule: str | None = None,
        neighboring_relation: Any = NeighboringRelation.ADD_OR_REMOVE_ONE,
        **arguments: Any,
    ) -> None:
        super().__init__(neighboring_relation)
        self.filter = Filter(budget, rule, **arguments)
        self._charged: Counter[Cost] = Counter()

    def compose(self, event: Any, count: int = 1) -> FilterAccountant:
        """Charges an event, all of it or nothing."""
        problem = self._maybe_compose(event, count, False)
        if problem is not None:
            raise UnsupportedEventError(problem.error_message)
        before = self.filter.state()
        try:
            for cost, times in costs(event, _count(count)) if count else []:
                for _ in range(times):
                    self.filter.charge(cost)
        except Refused:
            if not self.filter.is_closed:
                self.filter.restore(before)
            raise
        self._ledger.compose(event, count)
        for cost, times in costs(event, count) if count else []:
            self._charged[cost] += times
        return self

    def _maybe_compose(self, event: Any, count: int, do_compose: bool) -> Any:
        try:
            for cost, _ in costs(event, max(count, 1)):
                if cost.kind == "sampled_gaussian" and self.neighboring_relation is not NeighboringRelation.ADD_OR_REMOVE_ONE:
                    raise _refused(event, "sampled Gaussian noise is priced for neighbours with one unit more or less")
                self.filter.admits(cost)
        except BadInput as error:
            return self.CompositionErrorDetails(event, str(error))
        if do_compose:
            self.compose(event, count)
        return None

    def get_epsilon(self, target_delta: Number) -> float:
        """The reading of the default odometer at a δ, which must not be chosen by looking at what was released."""
        return reading(self._charged.items(), target_delta)
