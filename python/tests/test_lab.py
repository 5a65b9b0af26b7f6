"""Planning, and the lab against our own rules and against others."""

from __future__ import annotations

import math

import pytest
from diffprivlib import BudgetAccountant
from diffprivlib.utils import BudgetError

import taximeter as tx
from taximeter._native import rule_names


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
