"""The lab: what an adversary who chooses the next question after the last answer achieves, exactly."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from taximeter import drawing
from taximeter._native import stopping_time_attack, worst_case
from taximeter.accountants import Accountant, accountant_of, binary
from taximeter.costs import Number
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
    accountant: Any,
    *,
    epsilon: Number = "0.1",
    rounds: int = 1000,
    delta: Number | None = None,
    two_sided: bool = False,
    pointwise: bool | None = None,
    refusals: tuple[type[BaseException], ...] = (Refused,),
) -> Probability:
    """What the stopping-time adversary achieves against an accountant that is read after every charge, exactly.

    The adversary has randomized response of `epsilon` charged in every one of at most `rounds` rounds, and stops when that is best. The
    `accountant` is charged, so give a new one. It is an `Odometer`, an object of another library with `spend` and `total` (diffprivlib) or
    `compose` and `get_epsilon` (dp_accounting), an object with `charge` and `reading`, or a function that gives the reading after each
    number of charges, from 1. If it raises one of `refusals`, the attack ends there.

    Odometers and functions bound the loss itself, functions from above alone unless they are `two_sided`: the result is the probability
    that the loss ever leaves the readings. `total` and `get_epsilon` give the ε of (ε, δ)-differential privacy, which promises less: the
    result is the δ that everything the adversary sees has at the ε that is read when they stop. `pointwise=True` always computes the
    probability, `False` always the δ.

    The claimed `delta` is the accountant's own; `get_epsilon`, functions and others that do not say it need one.

    >>> attack(Odometer("1e-6"), rounds=200).broken
    False
    """
    if rounds < 1:
        raise bad_input("rounds", f"in {rounds} rounds nothing is charged; give at least 1")
    theirs = accountant_of(accountant, epsilon, delta)
    readings = _played(theirs, rounds, refusals)
    claimed = theirs.claimed() if delta is None else binary(delta)
    if claimed is None:
        raise bad_input("delta", "the accountant does not say which delta it claims; give it")
    if not (theirs.bounds_loss if pointwise is None else pointwise):
        return _stopping(binary(epsilon), readings, claimed)
    found = json.loads(stopping_time_attack(epsilon, readings, theirs.two_sided or two_sided))
    return Probability(found["lower"], found["upper"], claimed)


def _played(accountant: Accountant, rounds: int, refusals: tuple[type[BaseException], ...]) -> list[float]:
    """What is read after each charge until it refuses."""
    readings: list[float] = []
    for charged in range(1, rounds + 1):
        try:
            accountant.charge()
            reading = accountant.reading()
        except refusals:
            break
        if math.isnan(reading):
            raise bad_input("accountant", f"after {charged} charges it reads NaN, which bounds nothing")
        readings.append(reading)
    if not readings:
        raise bad_input("accountant", "it refused the first charge: there is nothing to attack; give a new one, or a smaller epsilon")
    return readings


def stopped(epsilon: float, readings: Sequence[float]) -> float:
    """The largest E[(1 - exp(reading - loss))⁺] over all times to stop, where the loss goes up or down by ε as in randomized response.

    For a constant reading it is the δ with which all that is seen until then is (reading, δ)-differentially private.
    """
    up, down = 1 / (1 + math.exp(-epsilon)), 1 / (1 + math.exp(epsilon))

    def at_once(charged: int, ups: int) -> float:
        over = (2 * ups - charged) * epsilon - readings[charged - 1]
        return -math.expm1(-over) if over > 0 else 0.0

    last = len(readings)
    best = [at_once(last, ups) for ups in range(last + 1)]
    for charged in range(last - 1, 0, -1):
        best = [max(at_once(charged, ups), up * best[ups + 1] + down * best[ups]) for ups in range(charged + 1)]
    return up * best[1] + down * best[0]


def _stopping(epsilon: float, readings: Sequence[float], claimed: float) -> Probability:
    """What is achieved by stopping, with room for what is rounded in binary."""
    lower = stopped(epsilon, [reading * (1 + 1e-12) for reading in readings]) * (1 - 1e-9)
    return Probability(lower, min(stopped(epsilon, [reading * (1 - 1e-12) for reading in readings]) * (1 + 1e-9), 1.0), claimed)


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

