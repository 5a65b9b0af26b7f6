"""Taximeter for those who run mechanisms with other libraries. Each module needs its library; each refuses, with the reason, what has
no exact translation.

* `opendp`: a measurement as a cost, and a measurement that is charged before it runs.
* `dp_accounting`: events as costs, and a privacy accountant that is a filter.
* `diffprivlib`: a budget accountant that is a filter.
* `opacus`: an accountant that charges before every update of a model, and stops the training when the budget does not admit it.
* `flower`: an accountant that charges before the result of a round leaves the server.
* `smartnoise`, `tumult`: a reader or a session that charges before it answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from taximeter._native import Cost
from taximeter.costs import Number
from taximeter.errors import bad_input
from taximeter.ledger import Account
from taximeter.meters import Odometer


def binary(name: str, value: float) -> Decimal:
    """The exact value of a binary number.

    A library that computed a bound in floating point means this number, and not its shortest decimal text, which may be below it.
    """
    number = Decimal(float(value))
    if not number.is_finite() or number < 0:
        raise bad_input(name, f"{name} is {value}; it must be a finite number that is not below 0")
    return number


class Run:
    """A run of many steps that charges an account before each of them, under a key of its own: the name of the run and the step.

    A step that was charged before raises Replayed: its result may have been seen, and new noise for it would not be paid for. With
    `repeat_lost` it goes on. That is for steps that were charged and then lost with their process, before anyone saw their results.
    """

    def __init__(self, account: Account, name: str, *, repeat_lost: bool = False) -> None:
        self.account = account
        self.name = name
        self.repeat_lost = repeat_lost

    def charge(self, step: int, costs: Cost | Sequence[Cost]) -> None:
        """Charges a step, or raises and changes nothing."""
        receipt = self.account.charge(costs, key=f"{self.name}/{step}")
        if not self.repeat_lost:
            with receipt:
                pass


def reading(charged: Iterable[tuple[Cost, int]], delta: Number) -> float:
    """What the default odometer reads at a δ, which must not be chosen by looking at what was released."""
    odometer = Odometer(delta)
    for cost, times in charged:
        odometer.charge(cost, times)
    return odometer.reading.value
