"""Writes sampled-gaussian.json: Rényi divergences of sampled Gaussians.

    python3 -m venv venv && venv/bin/pip install dp-accounting==0.6.0 mpmath==1.4.1
    venv/bin/python sampled-gaussian.py > sampled-gaussian.json

"whole" has pairs: a whole order, and the divergence of all steps as Google's dp_accounting computes it. "between" has triples: an
order between whole ones, the same from dp_accounting, and the divergence itself, integrated with thirty digits. dp_accounting
takes all terms of a series as positive there, so its numbers are too large, and may be infinite (null).
"""

import importlib.metadata
import json
import math
import random

import mpmath
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, rdp

SETTINGS = 200
WHOLE = [2, 3, 4, 6, 10, 16, 24, 32, 64, 128, 256]
BETWEEN = [1.1, 1.5, 2.5, 3.7, 5.25, 7.5, 10.9, 20.3, 32.5, 63.9]

mpmath.mp.dps = 30


def four_digits(low, high):
    """A number between two others, all orders of magnitude equally likely; short, so that its decimal form is exact."""
    return float(f"{low * (high / low) ** random.random():.3e}")


def theirs(rate, sigma, steps, orders):
    accountant = rdp.RdpAccountant(orders=orders)
    accountant.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(sigma)), steps)
    return [value if math.isfinite(value) else None for value in accountant.rdp.tolist()]


def integrated(rate, sigma, steps, order):
    """The logarithm of the mean of (1 − q + q e^{(2x−1)/(2σ²)})^α over x from N(0, σ²), times steps/(α−1)."""
    q, s, a = (mpmath.mpf(repr(value)) for value in (rate, sigma, order))

    def density(x):
        return mpmath.npdf(x, 0, s)

    def ratio(x):
        return 1 - q + q * mpmath.exp((2 * x - 1) / (2 * s * s))

    edges = {-14 * s, -7 * s, -3 * s, 0, a / 2, a, a + 3 * s, a + 7 * s, a + 14 * s, 0.5 + s * s * mpmath.log(1 / q - 1)}
    edges = sorted(edge for edge in edges if -14 * s <= edge <= a + 14 * s)
    total, mean = (mpmath.quad(lambda x: density(x) * ratio(x) ** power, edges) for power in (0, 1))
    assert abs(total - 1) < 1e-25 and abs(mean - 1) < 1e-25
    moment = mpmath.quad(lambda x: density(x) * (ratio(x) ** a - a * (ratio(x) - 1) - 1), edges)
    return float(steps * mpmath.log1p(moment) / (a - 1))


def setting():
    rate, sigma, steps = four_digits(1e-4, 0.9), four_digits(0.4, 30), int(four_digits(1, 1e5))
    whole, between = random.sample(WHOLE, 5), random.sample(BETWEEN, 5)
    exact = [integrated(rate, sigma, steps, order) for order in between]
    return {
        "rate": rate,
        "sigma": sigma,
        "steps": steps,
        "whole": list(zip(whole, theirs(rate, sigma, steps, whole))),
        "between": list(zip(between, theirs(rate, sigma, steps, between), exact)),
    }


random.seed(1908)
settings = [json.dumps(setting()) for _ in range(SETTINGS)]
versions = [f"{name} {importlib.metadata.version(name)}" for name in ("dp-accounting", "mpmath")]
lines = ",\n".join("    " + line for line in settings)
print(f'{{\n  "source": "{" and ".join(versions)}",\n  "settings": [\n{lines}\n  ]\n}}')
