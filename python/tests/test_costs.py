"""Costs, and the numbers that they are made of."""

from __future__ import annotations

import copy
import inspect
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import taximeter as tx
from taximeter import _native, costs

UNIT = Decimal("1e-30")


@pytest.mark.parametrize(
    ("number", "epsilon"),
    [
        ("0.1", "0.1"),
        (" 1e-6 ", "1e-6"),
        (0.1, "0.1"),
        (1e-7, "1e-7"),
        (1e22 / 1e22, "1"),
        (3, "3"),
        (0, "0"),
        (Decimal("0.1"), "0.1"),
        (Decimal("1E-6"), "1e-6"),
        (Fraction(1, 8), "0.125"),
        (Fraction(3), "3"),
        (np.float64(0.1), "0.1"),
        (np.int64(2), "2"),
        (np.uint8(2), "2"),
    ],
)
def test_a_number_is_taken_at_its_decimal_text(number: Any, epsilon: str) -> None:
    assert tx.pure(number).epsilon == Decimal(epsilon)


@pytest.mark.parametrize("denominator", [3, 7, 9, 10**31, 2**200, 3**300])
def test_a_fraction_is_rounded_up_as_a_cost_by_less_than_a_unit(denominator: int) -> None:
    exact = Fraction(1, denominator)
    epsilon = tx.pure(exact).epsilon
    assert epsilon is not None
    assert 0 <= Fraction(epsilon) - exact < Fraction(UNIT)


@pytest.mark.parametrize("denominator", [3, 7, 9, 10**29 * 3, 2**90])
def test_a_fraction_is_rounded_down_as_a_budget_by_less_than_a_unit(denominator: int) -> None:
    exact = Fraction(1, denominator)
    budget = tx.Filter(exact).budget["epsilon"]
    assert 0 <= exact - Fraction(Decimal(budget)) < Fraction(UNIT)


def test_a_fraction_with_as_many_places_as_an_amount_is_exact() -> None:
    exact = Fraction(123456789012345678901234567891, 10**30)
    assert Fraction(tx.pure(exact).epsilon or 0) == exact


def test_more_places_than_an_amount_keeps_cost_more_and_give_a_smaller_budget() -> None:
    assert tx.pure("0.1000000000000000000000000000001").epsilon == Decimal("0.100000000000000000000000000001")
    assert tx.Filter("0.1999999999999999999999999999999").budget["epsilon"] == "0.199999999999999999999999999999"
    assert tx.pure(5e-324).epsilon == UNIT, "the smallest float counts"


def test_noise_is_rounded_down_since_less_noise_costs_more() -> None:
    third = Fraction(1, 3)
    assert Fraction(tx.sampled_gaussian("0.01", third).numbers["sigma"]) < third


HOSTILE: list[Any] = [
    float("nan"),
    float("inf"),
    -float("inf"),
    -0.5,
    -1,
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("Infinity"),
    Decimal("-1"),
    Decimal("1e999999"),
    10**100,
    10**10000,
    -(10**10000),
    Fraction(-1, 3),
    Fraction(10**20, 3),
    Fraction(1, 10**20000),
    "",
    "nan",
    "1/3",
    "0x1",
    "1,5",
    "٣",
    "\ud800",
    "0.1\x00",
    "9" * 100_000,
    True,
    False,
    None,
    b"0.1",
    [0.1],
    (0.1,),
    {},
    object(),
    1j,
    np.float32(0.1),
    np.float16(0.1),
    np.longdouble("0.1"),
    np.float64("nan"),
    np.bool_(True),
    np.array([0.1, 0.2]),
    np.datetime64("2024-01-01"),
]


@pytest.mark.parametrize("number", HOSTILE, ids=lambda value: type(value).__name__)
def test_what_is_no_amount_is_bad_input_with_a_reason(number: Any) -> None:
    with pytest.raises(tx.BadInput) as error:
        tx.pure(number)
    assert len(str(error.value)) > 20 and "epsilon" in str(error.value)
    assert isinstance(error.value, ValueError) and error.value.parameter == "epsilon"


def test_an_object_that_fails_as_an_index_fails_with_its_own_error() -> None:
    class Hostile:
        def __index__(self) -> int:
            raise RuntimeError("no index")

    with pytest.raises(RuntimeError, match="no index"):
        tx.pure(Hostile())


@pytest.mark.parametrize(
    ("cost", "shown"),
    [
        (tx.pure("0.05"), "ε = 0.05"),
        (tx.approximate(1, "1e-9"), "ε = 1, δ = 1e-9"),
        (tx.approximate(1, 0), "ε = 1"),
        (tx.laplace("0.1"), "Laplace of ε = 0.1"),
        (tx.laplace(scale=10), "Laplace of ε = 0.1"),
        (tx.laplace(scale=10, sensitivity=2), "Laplace of ε = 0.2"),
        (tx.discrete_laplace("0.1"), "discrete Laplace of ε = 0.1"),
        (tx.gaussian("0.1"), "Gaussian of μ = 0.1"),
        (tx.gaussian(mu="0.1"), "Gaussian of μ = 0.1"),
        (tx.gaussian(sigma=10), "Gaussian of μ = 0.1"),
        (tx.discrete_gaussian(sigma=10, sensitivity=3), "discrete Gaussian of μ = 0.3"),
        (tx.zcdp("0.5"), "zCDP of ρ = 0.5"),
        (tx.sampled_gaussian(0.01, 1.1), "sampled Gaussian of rate 0.01 and σ = 1.1"),
        (tx.sampled_gaussian(0.01, 1.1, 7), "7 steps of a sampled Gaussian of rate 0.01 and σ = 1.1"),
        (tx.randomized_response("0.1"), "randomized response of ε = 0.1"),
        (tx.randomized_response(truth="0.5"), "randomized response of ε = 0"),
        (tx.exponential("0.1"), "exponential mechanism of η = 0.1"),
    ],
    ids=str,
)
def test_every_cost_says_what_it_is_and_survives_a_copy(cost: tx.Cost, shown: str) -> None:
    assert str(cost) == shown
    assert pickle.loads(pickle.dumps(cost)) == cost
    assert copy.deepcopy(cost) == cost and hash(copy.copy(cost)) == hash(cost)
    assert tx.Cost.from_json(cost.to_json()) == cost


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: tx.laplace(), "no number"),
        (lambda: tx.laplace("0.1", scale=10), "epsilon and scale"),
        (lambda: tx.laplace(sensitivity=1), "it was given sensitivity"),
        (lambda: tx.gaussian("0.1", sigma=1), "mu and sigma"),
        (lambda: tx.gaussian(sigma=0), "sigma"),
        (lambda: tx.approximate(1, 1), "below 1"),
        (lambda: tx.sampled_gaussian(2, 1), "rate"),
        (lambda: tx.sampled_gaussian("0.1", 1, "1.5"), "whole number"),
        (lambda: tx.randomized_response(truth="0.4"), "at least 0.5"),
        (lambda: _native.cost("staircase", epsilon=1), "staircase"),
        (lambda: tx.Cost.from_json("{}"), "a cost needs one of"),
        (lambda: tx.Cost.from_json("nonsense"), "not a cost in JSON"),
    ],
)
def test_numbers_that_make_no_cost_are_told(make: Any, part: str) -> None:
    with pytest.raises(tx.BadInput, match=part):
        make()


def test_there_is_a_function_for_every_kind_and_number_of_the_accounting_library() -> None:
    for kind, _, forms in _native.cost_kinds():
        names = {number for form in forms for number in form}
        function = costs.approximate if kind == "epsilon" else getattr(costs, kind)
        assert set(inspect.signature(function).parameters) == names, kind


def test_costs_are_values() -> None:
    assert tx.pure("0.1") == tx.pure(0.1) == tx.pure(Fraction(1, 10))
    assert tx.pure("0.1") != tx.laplace("0.1")
    assert len({tx.pure("0.1"), tx.pure(0.1), tx.laplace("0.1")}) == 2
    with pytest.raises(AttributeError):
        tx.pure(1).epsilon = 2  # type: ignore[misc, assignment]
