"""Budgets, filters and odometers as requests."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from taximeter._native import Cost, rounded
from taximeter.costs import Number
from taximeter.errors import bad_input

Budget: TypeAlias = "Number | tuple[Number, Number]"
"""A budget: text such as "1,1e-6", an ε, or a pair of ε and δ. What has more than thirty places is rounded down."""


def budget_request(budget: Budget, mechanism_delta: Number | None = None) -> dict[str, str]:
    """A budget as the service takes it."""
    parts: tuple[Number, ...]
    if isinstance(budget, str):
        parts = tuple(budget.split(",", 1))
    elif isinstance(budget, tuple):
        parts = budget
    else:
        parts = (budget,)
    if not 1 <= len(parts) <= 2:
        raise bad_input("budget", f'the budget {budget!r} is not an epsilon and a delta; give for instance (1, "1e-6")')
    named = dict(zip(("epsilon", "delta"), parts))
    if mechanism_delta is not None:
        named["mechanism_delta"] = mechanism_delta
    return {name: rounded(name, value, False) for name, value in named.items()}


def filter_request(
    budget: Budget,
    rule: str | None = None,
    *,
    mechanism_delta: Number | None = None,
    max_cost: Number | None = None,
    on_halt: str | None = None,
    expecting: Cost | None = None,
    parameters: dict[str, Number] | None = None,
) -> dict[str, Any]:
    """A filter as the service takes it."""
    request: dict[str, Any] = {"budget": budget_request(budget, mechanism_delta)}
    if rule is not None:
        request["rule"] = rule
    if max_cost is not None:
        request["max_cost"] = rounded("max_cost", max_cost, False)
    if on_halt is not None:
        request["on_halt"] = on_halt
    if expecting is not None:
        request["for"] = json.loads(expecting.to_json())
    if parameters:
        request["parameters"] = _texts(parameters)
    return request


def odometer_request(
    delta: Number | None = None,
    rule: str | None = None,
    *,
    mechanism_delta: Number | None = None,
    parameters: dict[str, Number] | None = None,
) -> dict[str, Any] | None:
    """An odometer as the service takes it; None if nothing is said about it."""
    request: dict[str, Any] = {}
    if rule is not None:
        request["rule"] = rule
    if delta is not None:
        request["at_delta"] = rounded("delta", delta, False)
    if mechanism_delta is not None:
        request["mechanism_delta"] = rounded("mechanism_delta", mechanism_delta, False)
    if parameters:
        request["parameters"] = _texts(parameters)
    return request or None


def _texts(parameters: dict[str, Number]) -> dict[str, str]:
    return {name: rounded(name, value, False) for name, value in parameters.items()}
