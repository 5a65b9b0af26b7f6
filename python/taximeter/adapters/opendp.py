"""OpenDP: a measurement becomes a cost by its privacy map, and is charged before it runs.

Tested with OpenDP 0.16. The map's number is taken at its exact binary value, since that is the bound that OpenDP computed.

>>> import opendp.prelude as dp
>>> dp.enable_features("contrib")
>>> count = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=8.0)
>>> print(cost(count, d_in=1))
ε = 0.125
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taximeter._native import Cost
from taximeter.adapters import binary
from taximeter.costs import approximate, pure, zcdp
from taximeter.errors import bad_input
from taximeter.ledger import Account

_REASONS = {
    "SmoothedMaxDivergence": "it is a curve of ε by δ; fix a δ with dp.c.make_fix_delta, and charge what that costs",
    "RenyiDivergence": "it is a Rényi curve, and a filter must know what it is a curve of; measure it by zero-concentrated divergence",
}


def cost(measurement: Any, d_in: Any) -> Cost:
    """The cost of a measurement between inputs that are `d_in` apart.

    Max divergence is an ε, zero-concentrated divergence a ρ, and approximate max divergence an ε and a δ. Others are refused.
    """
    measure = str(measurement.output_measure)
    if measure == "MaxDivergence":
        return pure(binary("epsilon", measurement.map(d_in)))
    if measure == "ZeroConcentratedDivergence":
        return zcdp(binary("rho", measurement.map(d_in)))
    if measure == "Approximate(MaxDivergence)":
        epsilon, delta = measurement.map(d_in)
        return approximate(binary("epsilon", epsilon), binary("delta", delta))
    reason = _REASONS.get(measure, "there is no cost of this kind; convert the measurement to pure, approximate or zCDP")
    raise bad_input("measurement", f"the output measure {measure} has no exact translation: {reason}")


def charged(measurement: Any, account: Account, *, d_in: Any, by: str | None = None, note: str | None = None) -> Callable[..., Any]:
    """The measurement as a function that charges the account before it runs, every time it is called.

    A `key` makes a call that was charged before raise Replayed instead of releasing new noise for an old charge.
    """
    price = cost(measurement, d_in)

    def run(data: Any, *, key: str | None = None) -> Any:
        with account.charge(price, key=key, by=by, note=note):
            return measurement(data)

    return run
