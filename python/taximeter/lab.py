"""The lab: what an adversary who chooses the next question after the last answer achieves, exactly."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from taximeter import drawing
from taximeter._native import stopping_time_attack, worst_case
from taximeter.costs import Number, pure
from taximeter.errors import Refused, bad_input
from taximeter.figures import Bars, Drawable
from taximeter.meters import Odometer
from taximeter.rules import Budget, budget_request


@dataclass(frozen=True)
class Probability(Drawable):
    """Two numbers with the true probability between them, and the claimed one."""

    lower: float
    upper: float
    claimed: float

    @property
    def broken(self) -> bool:
        """Whether the claim is proven to be exceeded."""
        return self.lower > self.claimed

    @property
    def figure(self) -> Bars:
        """The claimed and the actual probability."""
        bounds = [(None, None), (self.lower, self.upper)]
        return Bars("probability", ["claimed", "delivered"], [self.claimed, self.lower], bounds)

    def _repr_html_(self) -> str:
        return drawing.card("broken" if self.broken else "holds", self.svg())


def attack(
    odometer: Odometer | Callable[[int], float], *, epsilon: Number, rounds: int, delta: Number, two_sided: bool = False
) -> Probability:
    """The exact probability with which the loss ever leaves an odometer's readings, against the stopping-time adversary.

    `odometer` is an `Odometer`, or a function that gives the reading after each number of charges of `epsilon`, from 1. A function is taken
    to bound the loss from above alone, unless it is `two_sided`; an `Odometer` knows what it promises.

    >>> attack(Odometer("1e-6"), epsilon="0.1", rounds=200, delta="1e-6").broken
    False
    """
    readings: list[float] = []
    for charged in range(1, rounds + 1):
        if isinstance(odometer, Odometer):
            odometer.charge(pure(epsilon))
            readings.append(odometer.upper())
        else:
            readings.append(float(odometer(charged)))
    if isinstance(odometer, Odometer):
        two_sided = odometer.reading.two_sided
    found = json.loads(stopping_time_attack(epsilon, readings, two_sided))
    return Probability(found["lower"], found["upper"], float(Fraction(str(delta))))


def worst(rule: str, budget: Budget, grid: Sequence[Number], *, pointwise: bool = False) -> Probability:
    """The exact δ of the best adaptive adversary, who chooses every ε from a grid, against a filter rule.

    Besides the rules, "optimal" and "renyi-min" can be attacked: theorems for costs fixed in advance, misused as filters.

    >>> worst("basic", "0.4,1e-6", ["0.1", "0.2"]).broken
    False
    """
    parts = budget_request(budget)
    found = json.loads(worst_case(rule, parts["epsilon"], parts.get("delta", "0"), list(grid), pointwise))
    return Probability(found["delta"]["lower"], found["delta"]["upper"], float(parts.get("delta", "0")))


def best_adversary(
    accountant: Any,
    spend: Callable[[Any, float], None],
    *,
    epsilons: Sequence[float],
    budget: tuple[float, float],
    rounds: int,
    refusals: tuple[type[BaseException], ...] = (Refused,),
) -> Probability:
    """The exact δ at the budget's ε of the best adaptive adversary against anything that admits or refuses, in at most `rounds` charges.

    `spend(accountant, epsilon)` charges, and raises one of `refusals` if it refuses. The adversary plays randomized response, the worst
    ε-DP mechanism, chooses each ε after the last outcome, and may stop whenever it likes. The accountant is copied at every node, so the
    tree must be small.
    """
    epsilon_g, delta_g = budget
    if rounds < 1 or not epsilons or len(epsilons) ** rounds > 1_000_000:
        raise bad_input("rounds", f"{len(epsilons)} costs over {rounds} rounds are none, or too many to follow; give fewer")

    def value(state: Any, losses: list[float], left: int) -> list[float]:
        best = [max(0.0, -math.expm1(epsilon_g - loss)) for loss in losses]
        for epsilon in epsilons if left else ():
            after = copy.deepcopy(state)
            try:
                spend(after, epsilon)
            except refusals:
                continue
            up = 1 / (1 + math.exp(-epsilon))
            reached = value(after, [loss + sign * epsilon for loss in losses for sign in (1, -1)], left - 1)
            for at in range(len(losses)):
                best[at] = max(best[at], up * reached[2 * at] + (1 - up) * reached[2 * at + 1])
        return best

    achieved = value(accountant, [0.0], rounds)[0]
    return Probability(achieved * (1 - 1e-12), achieved * (1 + 1e-12), delta_g)

