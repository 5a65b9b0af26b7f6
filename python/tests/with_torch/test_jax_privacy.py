"""JAX-privacy tells no accountant about steps; its plans are dp_accounting's events, which are charged before the training starts."""

from __future__ import annotations

import pytest
from dp_accounting.pld import PLDAccountant
from jax_privacy.batch_selection import PartitionType
from jax_privacy.experimental.execution_plan import BandMFExecutionPlanConfig

import taximeter as tx
from taximeter.adapters.dp_accounting import costs


def test_a_plan_is_charged_as_a_whole_before_it_runs(ledger: tx.Ledger) -> None:
    plan = BandMFExecutionPlanConfig(
        strategy=[1.0], iterations=20, epsilon=None, delta=None, noise_multiplier=2.0, sampling_prob=0.125,
        partition_type=PartitionType.INDEPENDENT, accountant=PLDAccountant(),
    ).plan
    [(cost, times)] = costs(plan.dp_event)
    assert (cost, times) == (tx.sampled_gaussian("0.125", 2, 20), 1)
    account = ledger.create("training", "3,1e-6", rule="renyi", expecting=cost)
    with account.charge(cost, key="plan-1"):
        pass
    with pytest.raises(tx.Refused):
        account.charge([cost] * 50)
