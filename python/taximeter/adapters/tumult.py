"""Tumult Analytics: a session that charges an account before it answers.

Tested with Tumult Analytics 0.21. The budget of a query is charged exactly: ε, ε and δ, or ρ. Make the session with an infinite budget,
such as `PureDPBudget.inf()`, if the account alone is to decide.

>>> from tmlt.analytics import PureDPBudget, RhoZCDPBudget
>>> print(cost(PureDPBudget(0.125)), "and", cost(RhoZCDPBudget(0.5)))
ε = 0.125 and zCDP of ρ = 0.5
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from tmlt.analytics import ApproxDPBudget, PrivacyBudget, PureDPBudget, RhoZCDPBudget

from taximeter._native import Cost
from taximeter.costs import approximate, pure, zcdp
from taximeter.errors import bad_input
from taximeter.ledger import Account


def cost(budget: PrivacyBudget) -> Cost:
    """What a query with this budget costs."""
    if budget.is_infinite:
        raise bad_input("budget", "an infinite budget cannot be charged; give the query a finite one")
    if isinstance(budget, PureDPBudget):
        return pure(_exact(budget.value))
    if isinstance(budget, ApproxDPBudget):
        return approximate(*map(_exact, budget.value))
    if isinstance(budget, RhoZCDPBudget):
        return zcdp(_exact(budget.value))
    raise bad_input("budget", f"a {type(budget).__name__} has no exact translation; use pure, approximate or zero-concentrated privacy")


def charged(session: Any, account: Account, *, by: str | None = None, note: str | None = None) -> Callable[..., Any]:
    """The session's `evaluate` as a function of a query and its budget that charges the account before it runs.

    A `key` makes a query that was charged before raise Replayed instead of releasing new noise for an old charge.
    """

    def evaluate(query: Any, budget: PrivacyBudget, *, key: str | None = None) -> Any:
        with account.charge(cost(budget), key=key, by=by, note=note):
            return session.evaluate(query, budget)

    return evaluate


def _exact(number: Any) -> Fraction:
    """Tumult keeps its numbers exactly, as fractions of SymPy."""
    rational = number.expr
    if not rational.is_Rational:
        raise bad_input("budget", f"{rational} is not a fraction, and has no exact translation")
    return Fraction(int(rational.p), int(rational.q))
