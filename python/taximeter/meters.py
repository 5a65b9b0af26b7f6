"""Filters and odometers in memory. Nothing is kept: see `Ledger` for budgets that outlive the process.

>>> import taximeter as tx
>>> f = tx.Filter("1,1e-6")
>>> f.charge(tx.pure("0.05"))
>>> f.left.epsilon
Decimal('0.95')
>>> print(f.largest(times=10))
ε = 0.0951...
"""

from __future__ import annotations

import json
import math
from typing import Any

from taximeter import _native, drawing
from taximeter._native import Cost, show_share
from taximeter.costs import Number, pure
from taximeter.documents import Balance, Quote, Reading
from taximeter.errors import bad_input
from taximeter.figures import Curve, Drawable
from taximeter.rules import Budget, filter_request, odometer_request


class Filter(_native.Filter):
    """A privacy filter: it admits costs, chosen one after the other with all answers so far in view, until the budget is used up.

    `budget` is text such as "1,1e-6", an ε, or a pair of ε and δ. `rule` is the theorem that decides. A part of δ is set aside for the
    mechanisms' own δ with `mechanism_delta`. `expecting` is a cost that parameters left open are chosen for, such as the order of the
    rule "renyi". Parameters of the rule are given by name.

    >>> f = Filter("1,1e-6", rule="renyi", expecting=_native.cost("sampled_gaussian", rate="0.01", sigma=1, steps=1))
    >>> f.rule, f.parameters
    ('renyi', {'order': ...})
    """

    def __new__(
        cls,
        budget: Budget,
        rule: str | None = None,
        *,
        mechanism_delta: Number | None = None,
        max_cost: Number | None = None,
        on_halt: str | None = None,
        expecting: Cost | None = None,
        **parameters: Number,
    ) -> Filter:
        request = filter_request(
            budget,
            rule,
            mechanism_delta=mechanism_delta,
            max_cost=max_cost,
            on_halt=on_halt,
            expecting=expecting,
            parameters=parameters,
        )
        return super().__new__(cls, json.dumps(request))

    def quote(self, cost: Cost) -> Quote:
        """The effect that charging a cost would have.

        >>> quote = Filter("1").quote(pure(2))
        >>> bool(quote), quote.reason
        (False, 'the budget does not admit it')
        """
        return Quote(self.quote_json(cost))

    def largest(self, like: Cost | None = None, *, times: int = 1) -> Cost | None:
        """The largest cost of the same kind (an ε if none is given) that fits this number of times; None if none does.

        >>> print(Filter("1").largest(times=4))
        ε = 0.25
        """
        if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times < 2**64:
            raise bad_input("times", f"times is {times!r}; it must be a whole number from 1 to 2**64 - 1")
        return self.largest_like(pure(1) if like is None else like, times)

    @property
    def spent(self) -> Balance:
        """What is spent."""
        return self._balances()[0]

    @property
    def left(self) -> Balance:
        """What is left."""
        return self._balances()[1]

    def _balances(self) -> list[Balance]:
        return [Balance.of(balance) for balance in json.loads(self.balances_json())]

    @property
    def rule(self) -> str:
        """The rule that decides."""
        return str(self._request()["rule"])

    @property
    def parameters(self) -> dict[str, str]:
        """The parameters of the rule, with every default in its place."""
        return dict(self._request().get("parameters", {}))

    @property
    def budget(self) -> dict[str, str]:
        """The budget, exactly."""
        return dict(self._request()["budget"])

    def _request(self) -> dict[str, Any]:
        return dict(json.loads(self.request_json()))

    def __repr__(self) -> str:
        budget = self.budget
        return f"Filter({budget['epsilon']},{budget['delta']}, rule={self.rule!r}, left={show_share(self.left.share)})"

    def _repr_html_(self) -> str:
        budget = self.budget
        title = f"filter {self.rule} of ({budget['epsilon']}, {budget['delta']})"
        return drawing.card(title, drawing.gauge(self.left.share, "left"), drawing.line("guarantee", self.guarantee))

    def __reduce__(self) -> tuple[Any, ...]:
        return _filter_from_state, (self.state(),)


class Odometer(_native.Odometer, Drawable):
    """A privacy odometer: a running bound on the loss of all that was charged, whenever one looks.

    >>> odometer = Odometer(delta="1e-6")
    >>> odometer.charge(pure("0.01"), times=1000)
    >>> odometer.reading.value < 2, odometer.reading.guarantee
    (True, 'loss ≤ reading (one-sided, in either order) at every moment, except with probability 1e-6')

    In a notebook it draws its ride: the readings so far.
    """

    def __new__(
        cls,
        delta: Number | None = None,
        rule: str | None = None,
        *,
        mechanism_delta: Number | None = None,
        **parameters: Number,
    ) -> Odometer:
        request = odometer_request(delta, rule, mechanism_delta=mechanism_delta, parameters=parameters)
        return super().__new__(cls, json.dumps(request or {}))

    @property
    def reading(self) -> Reading:
        """The bound, and what it promises."""
        read = json.loads(self.reading_json())
        value = float("inf") if read["value"] is None else float(read["value"])
        return Reading(value, read["guarantee"], read["reason"], read["two_sided"])

    @property
    def rule(self) -> str:
        """The rule that reads."""
        return str(json.loads(self.request_json())["rule"])

    def __repr__(self) -> str:
        return f"Odometer(rule={self.rule!r}, reading={self.reading.value})"

    @property
    def figure(self) -> Curve:
        """The readings since it was made or restored by the number of calls of `charge`, the first before any call; none where the loss
        has no bound."""
        ride = self.ride()
        if not math.isfinite(ride[-1][1]):
            return Curve("reading", [], [])
        return Curve("reading", [calls for calls, _ in ride], [reading for _, reading in ride])

    def _repr_html_(self) -> str:
        reading = self.reading
        reason = drawing.line("no bound", reading.reason) if reading.reason else ""
        return drawing.card(f"odometer {self.rule}", self.svg(), reason, drawing.line("guarantee", reading.guarantee))

    def __reduce__(self) -> tuple[Any, ...]:
        return _odometer_from_state, (self.state(),)


def _filter_from_state(state: str) -> Filter:
    restored = Filter(1)
    restored.restore(state)
    return restored


def _odometer_from_state(state: str) -> Odometer:
    restored = Odometer(rule="basic")
    restored.restore(state)
    return restored
