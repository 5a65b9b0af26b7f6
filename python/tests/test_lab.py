"""Planning, and the lab against our own rules and against others."""

from __future__ import annotations

import math
from typing import Any

import pytest
from diffprivlib import BudgetAccountant
from diffprivlib.utils import BudgetError
from dp_accounting.pld import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation

import taximeter as tx
from taximeter._native import rule_names
from taximeter.adapters import diffprivlib as for_diffprivlib
from taximeter.adapters import dp_accounting as for_dp_accounting


def test_a_plan_counts_as_the_filters_do() -> None:
    rows = {row.rule: row for row in tx.plan("1,1e-6", tx.pure("0.01"))}
    assert set(rows) == set(rule_names()[0])
    assert rows["basic"].value == 100 and rows["residue"].value == 558
    rows = {row.rule: row for row in tx.plan("1,1e-6", tx.sampled_gaussian("0.01", 2))}
    assert rows["renyi"].value and rows["basic"].value is None and "no theorem" in (rows["basic"].reason or "")


def test_a_comparison_has_every_rule_with_a_number_or_a_reason() -> None:
    compared = tx.compare(tx.gaussian("0.05"), 50)
    filters, odometers = rule_names()
    assert [row.rule for row in compared["filters"]] == filters
    assert [row.rule for row in compared["odometers"]] == odometers
    assert all((row.value is None) == (row.reason is not None) for rows in compared.values() for row in rows)


@pytest.mark.parametrize("rule", ["renyi-mixture", "advanced", "stitched", "normal-mixture"])
def test_our_odometers_withstand_the_stopping_time_adversary(rule: str) -> None:
    found = tx.lab.attack(tx.Odometer("1e-3", rule), epsilon="0.1", rounds=300, delta="1e-3")
    assert not found.broken and found.upper <= 1e-3


def test_a_theorem_for_fixed_costs_read_as_an_odometer_is_broken() -> None:
    def drv(charged: int) -> float:
        return charged * 0.1 * math.expm1(0.1) / 2 + 0.1 * math.sqrt(2 * charged * math.log(1 / 1e-3))

    found = tx.lab.attack(drv, epsilon="0.1", rounds=3000, delta="1e-3")
    assert found.lower <= found.upper and found.claimed == 1e-3
    assert found.broken


def test_other_accountants_are_attacked_as_they_are() -> None:
    # (ε, δ)-differential privacy for a fixed number of rounds, read after each of them.
    exact = PLDAccountant(NeighboringRelation.REPLACE_ONE)
    found = tx.lab.attack(exact, epsilon="0.5", rounds=40, delta="1e-3")
    assert found.broken and found.claimed == 1e-3 and found.lower <= found.upper
    # What diffprivlib promises is (ε, δ)-differential privacy too, and its bound has room. As a bound on the loss it has none.
    for pointwise, broken in [(None, False), (True, True)]:
        found = tx.lab.attack(BudgetAccountant(slack=1e-3), epsilon="0.1", rounds=1000, pointwise=pointwise)
        assert found.broken is broken and found.claimed == pytest.approx(1e-3) and found.lower > 1e-4


def test_our_accountants_for_others_hold_against_the_stopping_time_adversary(census: tx.Account) -> None:
    ours = for_dp_accounting.FilterAccountant("100,1e-3")
    assert not tx.lab.attack(ours, epsilon="0.1", rounds=200, delta="1e-3").broken
    spends = for_diffprivlib.FilterAccountant(1.0)
    found = tx.lab.attack(spends, epsilon="0.1", refusals=(BudgetError,))
    assert not found.broken and len(spends) == 10, "until it refuses"
    assert not tx.lab.attack(census, epsilon="0.1", rounds=20, delta="1e-6").broken
    assert census.document["charges"] == 10


def test_the_best_time_to_stop_is_that_of_the_best_adversary() -> None:
    anything = tx.lab.best_adversary(None, lambda *_: None, epsilons=[0.5], budget=(0.8, 0), rounds=9)
    assert tx.lab.stopped(0.5, [0.8] * 9) == pytest.approx(anything.lower, rel=1e-9) and anything.lower > 0.1
    # Where the reading is the sum, nothing is ever above it, and no rounding makes it seem so.
    for epsilon in (0.1, 0.3, 7.0):
        found = tx.lab.attack(BudgetAccountant(), epsilon=epsilon, rounds=100)
        assert found.lower == 0 and not found.broken


class Reads:
    """An accountant that always reads the same."""

    def __init__(self, reading: float) -> None:
        self.value = reading

    def charge(self, cost: tx.Cost) -> None:
        pass

    def reading(self) -> float:
        return self.value


def test_an_accountant_with_our_methods_is_attacked_by_the_loss() -> None:
    assert tx.lab.attack(Reads(0.05), epsilon="0.1", rounds=1, delta="0.5").lower == pytest.approx(1 / (1 + math.exp(-0.1)))
    assert tx.lab.attack(Reads(0.2), epsilon="0.1", rounds=2, delta=0).upper == 0


def test_a_function_that_refuses_is_attacked_until_then() -> None:
    def adds_up(charged: int) -> float:
        if charged > 10:
            raise BudgetError
        return 0.09 * charged

    asked: dict[str, Any] = {"epsilon": "0.1", "delta": "0.5"}
    until_it_refuses = tx.lab.attack(adds_up, rounds=1000, refusals=(BudgetError,), **asked)
    assert until_it_refuses == tx.lab.attack(adds_up, rounds=10, **asked)
    with pytest.raises(BudgetError):
        tx.lab.attack(adds_up, rounds=1000, **asked)


@pytest.mark.parametrize(
    ("accountant", "arguments", "part"),
    [
        (tx.Filter(1), {}, "no usual methods"),
        (object(), {}, "no usual methods"),
        (Reads(1.0), {}, "which delta"),
        (Reads(math.nan), {"delta": "1e-6"}, "NaN"),
        (Reads(math.nan), {"delta": "1e-6", "refusals": (ValueError,)}, "after 1 charges it reads NaN"),
        (lambda charged: 1.0, {}, "which delta"),
        (lambda charged: math.nan if charged == 3 else 1.0, {"delta": "1e-6"}, "after 3 charges it reads NaN"),
        (lambda charged: math.nan, {"delta": "1e-6", "pointwise": False, "refusals": (Exception,)}, "NaN"),
        (lambda charged: 1.0, {"delta": "1e-6", "rounds": 0, "pointwise": False}, "at least 1"),
        (Reads(1.0), {"delta": "1e-6", "rounds": 0}, "at least 1"),
        (PLDAccountant(NeighboringRelation.REPLACE_ONE), {}, "asked at a delta"),
        (PLDAccountant(), {"delta": "1e-6"}, "takes no randomized response"),
        (for_diffprivlib.FilterAccountant(0.01), {"refusals": (BudgetError,)}, "refused the first charge"),
    ],
)
def test_what_cannot_be_attacked_says_why(accountant: Any, arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(tx.BadInput, match=part):
        tx.lab.attack(accountant, **arguments)


def test_a_valid_rule_holds_against_the_best_adversary_and_a_misused_theorem_does_not() -> None:
    assert not tx.lab.worst("residue", "0.4,0.05", ["0.1", "0.2"]).broken
    assert tx.lab.worst("optimal", "0.1,0.10425709561931122589", ["0.2", "0.3"]).broken
    with pytest.raises(tx.BadInput, match="nonsense"):
        tx.lab.worst("nonsense", "0.1,0.1", ["0.2"])


def test_the_best_adversary_breaks_the_accumulator_of_diffprivlib_and_not_our_filter() -> None:
    epsilon_g, delta_g = 1.0, 0.1
    grid, rounds = [0.15, 0.45], 8
    theirs = BudgetAccountant(epsilon_g, delta_g, slack=delta_g)
    found = tx.lab.best_adversary(
        theirs, lambda accountant, epsilon: accountant.spend(epsilon, 0), epsilons=grid,
        budget=(epsilon_g, delta_g), rounds=rounds, refusals=(BudgetError,),
    )
    ours = tx.lab.best_adversary(
        tx.Filter((epsilon_g, delta_g)), lambda f, epsilon: f.charge(tx.pure(epsilon)), epsilons=grid,
        budget=(epsilon_g, delta_g), rounds=rounds,
    )
    assert ours.upper <= delta_g and not ours.broken
    assert found.upper >= 0 and found.claimed == delta_g


def test_a_tree_that_is_too_large_is_refused() -> None:
    with pytest.raises(tx.BadInput, match="too many"):
        tx.lab.best_adversary(
            tx.Filter(1), lambda f, epsilon: f.charge(tx.pure(epsilon)), epsilons=[0.1, 0.2], budget=(1, 0), rounds=40
        )
