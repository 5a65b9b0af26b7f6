"""Which rule admits how much, before anything is charged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass

from taximeter import drawing
from taximeter._native import Cost, rule_names, show_number, smallest_epsilon
from taximeter.costs import Number
from taximeter.errors import BadInput
from taximeter.figures import Bars, Drawable
from taximeter.meters import Filter, Odometer
from taximeter.rules import Budget, filter_request


@dataclass(frozen=True)
class Row:
    """A number by one rule, or the reason why there is none."""

    rule: str
    value: float | None
    reason: str | None = None


class Rows(list[Row], Drawable):
    """A number by each rule. `show` formats a number without making it look better."""

    def __init__(self, title: str, show: Callable[[float], str]) -> None:
        super().__init__()
        self.title = title
        self.show = show

    @property
    def figure(self) -> Bars:
        """A bar for each rule that has a number."""
        known = [row for row in self if row.value is not None]
        return Bars(self.title, [row.rule for row in known], [row.value for row in known], show=self.show)

    def _repr_html_(self) -> str:
        return drawing.card(self.title, self.svg())


def plan(budget: Budget, cost: Cost, *, mechanism_delta: Number | None = None) -> Rows:
    """How many equal costs a budget admits, by each filter rule.

    >>> import taximeter as tx
    >>> {row.rule: row.value for row in plan("1,1e-6", tx.pure("0.01"))}["residue"]
    558
    """
    rows = Rows("how many fit", "{:,}".format)
    for rule in rule_names()[0]:
        try:
            quote = Filter(budget, rule, mechanism_delta=mechanism_delta, expecting=cost).quote(cost)
            rows.append(Row(rule, quote.count, quote.reason))
        except BadInput as error:
            rows.append(Row(rule, None, str(error)))
    return rows


def compare(cost: Cost, rounds: int, delta: Number = "1e-6", *, mechanism_delta: Number | None = None) -> dict[str, Rows]:
    """What every odometer reads after a number of equal costs, and the smallest ε of a budget with which every filter admits them.

    >>> import taximeter as tx
    >>> rows = compare(tx.pure("0.01"), 100)
    >>> {row.rule: row.value for row in rows["odometers"]}["basic"]
    1.0
    """
    filters, odometers = Rows("the smallest budget", show_number), Rows("the reading", show_number)
    for rule in rule_names()[1]:
        try:
            odometer = Odometer(delta, rule, mechanism_delta=mechanism_delta)
            odometer.charge(cost, rounds)
            reading = odometer.reading
            odometers.append(Row(rule, None if reading.reason else reading.value, reading.reason))
        except BadInput as error:
            odometers.append(Row(rule, None, str(error)))
    for rule in rule_names()[0]:
        try:
            request = filter_request((1, delta), rule, mechanism_delta=mechanism_delta, expecting=cost)
            epsilon = smallest_epsilon(json.dumps(request), cost, rounds)
            filters.append(Row(rule, epsilon, None if epsilon is not None else "no epsilon is enough"))
        except BadInput as error:
            filters.append(Row(rule, None, str(error)))
    return {"odometers": odometers, "filters": filters}
