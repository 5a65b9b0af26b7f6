"""Adapters for other libraries: what they translate, exactly, and what they refuse."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import dp_accounting
import opendp.prelude as dp
import pytest
from diffprivlib.mechanisms import LaplaceTruncated  # noqa: F401
from diffprivlib.tools import mean
from diffprivlib.utils import BudgetError
from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation, UnsupportedEventError

import taximeter as tx
from taximeter.adapters import diffprivlib as for_diffprivlib
from taximeter.adapters import dp_accounting as for_dp_accounting
from taximeter.adapters import opendp as for_opendp

dp.enable_features("contrib")

LAPLACE = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=10.0)
GAUSSIAN = dp.m.make_gaussian(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=8.0)
CURVE = dp.c.make_zCDP_to_approxDP(GAUSSIAN)


def test_opendp_measurements_become_costs_at_the_exact_value_of_their_maps() -> None:
    assert for_opendp.cost(LAPLACE, 1) == tx.pure(Decimal(0.1)) != tx.pure("0.1")
    assert for_opendp.cost(GAUSSIAN, 1.0) == tx.zcdp(Decimal(GAUSSIAN.map(1.0)))
    fixed = dp.c.make_fix_delta(CURVE, 1e-6)
    epsilon, delta = fixed.map(1.0)
    assert for_opendp.cost(fixed, 1.0) == tx.approximate(Decimal(epsilon), Decimal(delta))
    assert for_opendp.cost(dp.c.make_approximate(LAPLACE), 1) == tx.pure(Decimal(0.1))


@pytest.mark.parametrize("d_in", [1, 2, 3, 7])
def test_opendp_costs_are_never_below_the_map(d_in: int) -> None:
    epsilon = for_opendp.cost(LAPLACE, d_in).epsilon
    assert epsilon is not None and Fraction(epsilon) >= Fraction(LAPLACE.map(d_in)) >= Fraction(d_in, 10)


def test_opendp_measures_without_a_translation_are_refused_with_the_reason() -> None:
    with pytest.raises(tx.BadInput, match="make_fix_delta"):
        for_opendp.cost(CURVE, 1.0)
    with pytest.raises(tx.BadInput, match="no exact translation"):
        for_opendp.cost(dp.c.make_approximate(GAUSSIAN), 1.0)


def test_a_renyi_curve_of_opendp_is_refused_with_what_to_use_instead() -> None:
    dp.enable_features("honest-but-curious")
    space = dp.atom_domain(T=int), dp.absolute_distance(T=int)
    curve = dp.m.make_user_measurement(*space, dp.renyi_divergence(), lambda value: value, lambda d_in: lambda order: order * d_in, TO=int)
    with pytest.raises(tx.BadInput, match="RenyiDivergence has no exact translation: .* zero-concentrated") as refused:
        for_opendp.cost(curve, 1)
    assert refused.value.parameter == "measurement"


def test_an_opendp_measurement_is_charged_before_it_runs(census: tx.Account) -> None:
    run = for_opendp.charged(LAPLACE, census, d_in=1, note="a count")
    assert isinstance(run(100, key="first"), int)
    with pytest.raises(tx.Replayed):
        run(100, key="first")
    assert census.document["charges"] == 1
    for _ in range(100):
        try:
            run(100)
        except tx.Refused:
            break
    else:
        pytest.fail("the budget never ends")


def event_costs(event: Any) -> list[tuple[tx.Cost, int]]:
    return for_dp_accounting.costs(event)


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (dp_accounting.NoOpDpEvent(), []),
        (dp_accounting.GaussianDpEvent(4.0), [(tx.gaussian("0.25"), 1)]),
        (dp_accounting.LaplaceDpEvent(8.0), [(tx.laplace("0.125"), 1)]),
        (dp_event.DiscreteLaplaceDpEvent(0.25, 2), [(tx.discrete_laplace("0.5"), 1)]),
        (dp_event.ZCDpEvent(0.5), [(tx.zcdp("0.5"), 1)]),
        (dp_event.RandomizedResponseDpEvent(1.0, 4), [(tx.randomized_response("0"), 1)]),
        (dp_event.RandomizedResponseDpEvent(0.5, 2), [(tx.randomized_response(truth="0.75"), 1)]),
        (dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(8.0), 3), [(tx.laplace("0.125"), 3)]),
        (dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(8.0), 0), []),
        (
            dp_accounting.ComposedDpEvent([dp_accounting.LaplaceDpEvent(8.0), dp_accounting.GaussianDpEvent(4.0)]),
            [(tx.laplace("0.125"), 1), (tx.gaussian("0.25"), 1)],
        ),
        (
            dp_accounting.PoissonSampledDpEvent(0.25, dp_accounting.GaussianDpEvent(2.0)),
            [(tx.sampled_gaussian("0.25", 2), 1)],
        ),
        (
            dp_accounting.SelfComposedDpEvent(dp_accounting.PoissonSampledDpEvent(0.25, dp_accounting.GaussianDpEvent(2.0)), 9),
            [(tx.sampled_gaussian("0.25", 2, 9), 1)],
        ),
    ],
    ids=lambda value: str(value)[:50],
)
def test_dp_accounting_events_become_costs(event: Any, expected: list[tuple[tx.Cost, int]]) -> None:
    assert event_costs(event) == expected


@pytest.mark.parametrize(
    "event",
    [
        dp_accounting.NonPrivateDpEvent(),
        dp_accounting.UnsupportedDpEvent(),
        dp_event.ZCDpEvent(0.5, 0.1),
        dp_accounting.PoissonSampledDpEvent(0.1, dp_accounting.LaplaceDpEvent(1.0)),
        dp_accounting.SampledWithoutReplacementDpEvent(100, 10, dp_accounting.GaussianDpEvent(1.0)),
        dp_accounting.GaussianDpEvent(0.0),
        dp_accounting.GaussianDpEvent(math.nan),
        dp_accounting.LaplaceDpEvent(-1.0),
    ],
    ids=lambda value: str(value)[:50],
)
def test_dp_accounting_events_without_a_translation_are_refused(event: Any) -> None:
    with pytest.raises(tx.BadInput):
        event_costs(event)
    accountant = for_dp_accounting.FilterAccountant("1,1e-6")
    assert not accountant.supports(event)
    with pytest.raises(UnsupportedEventError):
        accountant.compose(event)


@pytest.mark.parametrize("buckets", [2, 3, 10])
@pytest.mark.parametrize("noise", [0.1, 0.5, 0.9])
def test_randomized_response_over_buckets_costs_the_logarithm_of_its_ratio(buckets: int, noise: float) -> None:
    [(cost, _)] = event_costs(dp_event.RandomizedResponseDpEvent(noise, buckets))
    ratio = (1 - noise + noise / buckets) / (noise / buckets)
    assert cost.epsilon is not None
    assert float(cost.epsilon) == pytest.approx(math.log(ratio), rel=1e-12)


def test_the_accountant_for_dp_accounting_refuses_all_of_an_event_or_nothing() -> None:
    accountant = for_dp_accounting.FilterAccountant("1", rule="basic")
    accountant.compose(dp_accounting.LaplaceDpEvent(4.0), 2)
    with pytest.raises(tx.Refused):
        accountant.compose(dp_accounting.LaplaceDpEvent(4.0), 3)
    assert accountant.filter.spent.epsilon == Decimal("0.5")
    accountant.compose(dp_accounting.LaplaceDpEvent(4.0), 2)
    assert accountant.filter.left.epsilon == 0
    assert accountant.get_epsilon("1e-6") <= 1
    assert accountant.ledger == dp_accounting.SelfComposedDpEvent(dp_accounting.LaplaceDpEvent(4.0), 4)


def test_a_training_run_is_stopped_by_the_filter_of_dp_accounting() -> None:
    step = dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(2.0))
    accountant = for_dp_accounting.FilterAccountant("1,1e-6", "renyi", expecting=tx.sampled_gaussian("0.01", 2))
    steps = 0
    with pytest.raises(tx.Refused):
        while True:
            accountant.compose(step)
            steps += 1
    reference = dp_accounting.rdp.RdpAccountant()
    reference.compose(step, steps)
    assert steps > 100 and reference.get_epsilon(1e-6) <= 1, "no more than a theorem for fixed steps allows"


def test_sampling_is_for_one_unit_more_or_less() -> None:
    accountant = for_dp_accounting.FilterAccountant("1,1e-6", "renyi", NeighboringRelation.REPLACE_ONE)
    assert not accountant.supports(dp_accounting.PoissonSampledDpEvent(0.01, dp_accounting.GaussianDpEvent(1.0)))


def test_the_accountant_for_diffprivlib_stands_in_its_place() -> None:
    accountant = for_diffprivlib.FilterAccountant(1.0, 1e-6)
    mean([1, 2, 3, 4], epsilon=0.4, bounds=(0, 5), accountant=accountant)
    assert accountant.spent_budget == [(0.4, 0)] and len(accountant) == 1
    assert accountant.total()[0] == 0.4
    with pytest.raises(BudgetError):
        mean([1, 2, 3, 4], epsilon=3, bounds=(0, 5), accountant=accountant)
    with accountant:
        mean([1, 2, 3, 4], epsilon=0.2, bounds=(0, 5))
    assert len(accountant) == 2
    remaining = accountant.remaining()[0]
    accountant.spend(remaining, 0)
    with pytest.raises(BudgetError):
        accountant.check(0.01, 0)


def test_ten_tenths_fit_into_one_with_diffprivlib() -> None:
    accountant = for_diffprivlib.FilterAccountant(1.0)
    for _ in range(10):
        accountant.spend(0.1, 0)
    with pytest.raises(BudgetError):
        accountant.spend(1e-12, 0)


@pytest.mark.parametrize("epsilon", [-1, math.nan, "0.1"])
def test_what_diffprivlib_refuses_is_refused(epsilon: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        for_diffprivlib.FilterAccountant(1.0).spend(epsilon, 0)
