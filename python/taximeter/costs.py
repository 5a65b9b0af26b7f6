"""Costs: what a mechanism declares before it runs.

Every number is a str, Decimal, int, Fraction or float. A float is taken at its shortest decimal text, so 0.1 is one tenth. What has more
than thirty decimal places is rounded against the analyst: a cost up, noise down.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import SupportsIndex, TypeAlias

from taximeter._native import Cost, cost

Number: TypeAlias = "str | Decimal | int | Fraction | float | SupportsIndex"
"""What may stand for a number. Integers of NumPy do; its narrow floats do not, since their decimal text is not what was meant."""


def pure(epsilon: Number) -> Cost:
    """ε-differential privacy.

    >>> print(pure("0.05"))
    ε = 0.05
    """
    return cost("epsilon", epsilon=epsilon)


def approximate(epsilon: Number, delta: Number) -> Cost:
    """(ε, δ)-differential privacy.

    >>> print(approximate("0.5", "1e-9"))
    ε = 0.5, δ = 1e-9
    """
    return cost("epsilon", epsilon=epsilon, delta=delta)


def laplace(epsilon: Number | None = None, *, scale: Number | None = None, sensitivity: Number | None = None) -> Cost:
    """Continuous Laplace noise, by its ε or by its scale and the sensitivity (1 by default).

    >>> print(laplace(scale=10, sensitivity=1))
    Laplace of ε = 0.1
    """
    return cost("laplace", epsilon=epsilon, scale=scale, sensitivity=sensitivity)


def discrete_laplace(
    epsilon: Number | None = None, *, scale: Number | None = None, sensitivity: Number | None = None
) -> Cost:
    """Discrete (geometric) Laplace noise, by its ε or by its scale and the sensitivity.

    >>> print(discrete_laplace(scale=20))
    discrete Laplace of ε = 0.05
    """
    return cost("discrete_laplace", epsilon=epsilon, scale=scale, sensitivity=sensitivity)


def gaussian(mu: Number | None = None, *, sigma: Number | None = None, sensitivity: Number | None = None) -> Cost:
    """Continuous Gaussian noise, which is μ-GDP, by μ or by σ and the sensitivity.

    >>> print(gaussian(sigma=200, sensitivity=2))
    Gaussian of μ = 0.01
    """
    return cost("gaussian", mu=mu, sigma=sigma, sensitivity=sensitivity)


def discrete_gaussian(
    mu: Number | None = None, *, sigma: Number | None = None, sensitivity: Number | None = None
) -> Cost:
    """Discrete Gaussian noise. It is not μ-GDP, and is taken by the rules zcdp and renyi.

    >>> print(discrete_gaussian("0.1"))
    discrete Gaussian of μ = 0.1
    """
    return cost("discrete_gaussian", mu=mu, sigma=sigma, sensitivity=sensitivity)


def sampled_gaussian(rate: Number, sigma: Number, steps: Number = 1) -> Cost:
    """Poisson-subsampled Gaussian noise, as in DP-SGD; for neighbours with one unit more or less.

    >>> print(sampled_gaussian(rate="0.01", sigma="1.1", steps=100))
    100 steps of a sampled Gaussian of rate 0.01 and σ = 1.1
    """
    return cost("sampled_gaussian", rate=rate, sigma=sigma, steps=steps)


def zcdp(rho: Number) -> Cost:
    """ρ-zero-concentrated differential privacy.

    >>> print(zcdp("0.005"))
    zCDP of ρ = 0.005
    """
    return cost("zcdp", rho=rho)


def randomized_response(epsilon: Number | None = None, *, truth: Number | None = None) -> Cost:
    """Randomized response, by its ε or by the probability of the truth.

    >>> print(randomized_response("0.1"))
    randomized response of ε = 0.1
    """
    return cost("randomized_response", epsilon=epsilon, truth=truth)


def exponential(eta: Number) -> Cost:
    """The exponential mechanism with weights exp(η·utility / (2·sensitivity)).

    >>> print(exponential("0.1"))
    exponential mechanism of η = 0.1
    """
    return cost("exponential", eta=eta)
