"""Taximeter for those who run mechanisms with other libraries. Each module needs its library; each refuses, with the reason, what has
no exact translation.

* `opendp`: a measurement as a cost, and a measurement that is charged before it runs.
* `dp_accounting`: events as costs, and a privacy accountant that is a filter.
* `diffprivlib`: a budget accountant that is a filter.
"""

from __future__ import annotations

from decimal import Decimal

from taximeter.errors import bad_input


def binary(name: str, value: float) -> Decimal:
    """The exact value of a binary number.

    A library that computed a bound in floating point means this number, and not its shortest decimal text, which may be below it.
    """
    number = Decimal(float(value))
    if not number.is_finite() or number < 0:
        raise bad_input(name, f"{name} is {value}; it must be a finite number that is not below 0")
    return number
