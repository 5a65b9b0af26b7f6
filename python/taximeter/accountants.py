"""Accountants of any library, by the methods that they have: how the lab charges and reads them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from taximeter.costs import Number, pure
from taximeter.errors import bad_input
from taximeter.meters import Odometer

METHODS = "charge and reading, spend and total (diffprivlib), or compose and get_epsilon (dp_accounting)"


@dataclass(frozen=True)
class Accountant:
    """An accountant that is charged an ε-DP mechanism and read, whatever its methods are called."""

    charge: Callable[[], object]
    """Charges the mechanism once."""
    reading: Callable[[], float]
    """The bound that it gives now."""
    bounds_loss: bool
    """Whether it bounds the loss itself, but for the claimed probability. Otherwise it is the ε of (ε, δ)-differential privacy."""
    two_sided: bool
    """Whether the loss is bounded on both sides."""
    claimed: Callable[[], float | None]
    """The δ that it claims, or None if it does not say."""


def accountant_of(theirs: Any, epsilon: Number, delta: Number | None) -> Accountant:
    """An accountant of any library that is charged `epsilon`, and read at `delta` if it is asked at one; or a function that gives the
    reading after each number of charges."""
    if callable(theirs):
        return _by_number(theirs)
    if isinstance(theirs, Odometer):
        read = json.loads(theirs.reading_json())
        return Accountant(lambda: theirs.charge(pure(epsilon)), theirs.upper, True, read["two_sided"], lambda: binary(read["delta"]))
    if _has(theirs, "compose", "get_epsilon"):
        if delta is None:
            raise bad_input("delta", "get_epsilon is asked at a delta; give one")
        event, at = _event(theirs, epsilon), binary(delta)
        return Accountant(lambda: theirs.compose(event), lambda: _room(theirs.get_epsilon(at)), False, False, lambda: at)
    if _has(theirs, "spend", "total"):
        return Accountant(
            lambda: theirs.spend(binary(epsilon), 0), lambda: _room(theirs.total()[0]), False, False, lambda: float(theirs.total()[1])
        )
    if _has(theirs, "charge") and hasattr(theirs, "reading"):
        return Accountant(lambda: theirs.charge(pure(epsilon)), lambda: _room(_value(theirs.reading)), True, False, lambda: None)
    raise bad_input(
        "accountant",
        f"a {type(theirs).__name__} has no usual methods; it needs {METHODS}; best_adversary attacks what only admits or refuses",
    )


def _by_number(read: Callable[[int], Any]) -> Accountant:
    """A function of the number of charges as an accountant, which counts them."""
    charged = 0

    def charge() -> None:
        nonlocal charged
        charged += 1

    return Accountant(charge, lambda: float(read(charged)), True, False, lambda: None)


def binary(number: Number) -> float:
    """The nearest binary number."""
    return float(Fraction(str(number)))


def _has(theirs: Any, *methods: str) -> bool:
    return all(callable(getattr(theirs, method, None)) for method in methods)


def _value(reading: Any) -> Any:
    """A reading, which may be a method."""
    return reading() if callable(reading) else reading


def _room(reading: Any) -> float:
    """A reading that was computed in binary, with room for its rounding: eight times 0.1 add up to less than 0.8."""
    return float(reading) * (1 + 1e-12)


def _event(accountant: Any, epsilon: Number) -> Any:
    """Randomized response of at least this ε as an event of dp_accounting."""
    from dp_accounting import dp_event

    event = dp_event.RandomizedResponseDpEvent(math.nextafter(2 / (1 + math.exp(binary(epsilon))), 0.0), 2)
    if not accountant.supports(event):
        name = type(accountant).__name__
        raise bad_input("accountant", f"this {name} takes no randomized response; choose NeighboringRelation.REPLACE_ONE")
    return event
