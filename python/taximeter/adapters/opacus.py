"""Opacus: an accountant that charges an account before every update of the model, and stops the training when the budget does not admit it.

Tested with Opacus 1.6, whose optimizers tell the accountant of a step when the noise is in the gradient, and before the parameters change.
The noise multiplier and the sample rate are taken at their exact binary values, and may change at every step, after looking at the model.

>>> import taximeter as tx
>>> from opacus import PrivacyEngine
>>> ledger = tx.Ledger(folder / "budgets.db", create=True)
>>> expecting = tx.sampled_gaussian(rate="0.01", sigma=1)
>>> account = ledger.create("training", "2,1e-6", rule="renyi", expecting=expecting)
>>> register(account, run="first")
>>> engine = PrivacyEngine(accountant="taximeter")
>>> engine.accountant.step(noise_multiplier=1.0, sample_rate=0.01)     # called by the optimizer, before it changes the parameters
>>> account.document["charges"], len(engine.accountant)
(1, 1)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opacus.accountants import IAccountant, register_accountant

from taximeter._native import Cost
from taximeter.adapters import Run, binary, reading
from taximeter.costs import sampled_gaussian
from taximeter.errors import bad_input
from taximeter.ledger import Account


def register(account: Account, run: str, *, mechanism: str = "taximeter", repeat_lost: bool = False) -> None:
    """Makes `PrivacyEngine(accountant=mechanism)` charge the account, which needs the rule "renyi", or none, for every step of a run.

    Each step has the name of the run and its number as its key. The number is in the engine's checkpoint. So a run that goes on from its
    checkpoint charges only for new steps, and one that starts again under its old name raises Replayed. Set `repeat_lost` if a step is
    first seen, by anyone, when its checkpoint is written: what was charged and lost with the process is then repeated, and not paid twice.
    """

    class Registered(StepAccountant):
        def __init__(self) -> None:
            super().__init__(Run(account, run, repeat_lost=repeat_lost))

        @classmethod
        def mechanism(cls) -> str:
            return mechanism

    register_accountant(mechanism, Registered, force=True)


class StepAccountant(IAccountant):  # type: ignore[misc]
    """The accountant of one training run: see `register`.

    Its cost is that of Poisson-sampled batches. Opacus draws them, unless it is told `poisson_sampling=False`, which no accountant sees.
    """

    def __init__(self, run: Run) -> None:
        super().__init__()
        self._run = run
        self.history: list[tuple[float, float, int]] = []
        """The noise multiplier, the sample rate, and the number of steps with them, in this order."""

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Charges one step, or raises and counts nothing."""
        self._run.charge(len(self) + 1, _cost(noise_multiplier, sample_rate))
        steps = 1
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            steps += self.history.pop()[2]
        self.history.append((noise_multiplier, sample_rate, steps))

    def get_epsilon(self, delta: float, **_: Any) -> float:
        """What the default odometer reads at a δ, which must not be chosen by looking at the model."""
        return reading(((_cost(noise, rate), steps) for noise, rate, steps in self.history), delta)

    def __len__(self) -> int:
        """The number of steps."""
        return sum(steps for _, _, steps in self.history)

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """What an optimizer calls between drawing the noise and changing the parameters. A gradient that is not paid for is dropped."""

        def charge(optimizer: Any) -> None:
            try:
                if hasattr(optimizer, "world_size"):
                    raise bad_input("optimizer", "several processes train together, and each of them would charge; train in one")
                if optimizer.accumulated_iterations != 1:
                    raise bad_input("batch", "gradients of several batches are added up, which is not a Poisson sample; step after each")
                self.step(noise_multiplier=optimizer.noise_multiplier, sample_rate=sample_rate)
            except BaseException:
                for parameter in optimizer.params:
                    parameter.grad = None
                raise

        return charge


def _cost(noise_multiplier: float, sample_rate: float) -> Cost:
    return sampled_gaussian(binary("sample rate", sample_rate), binary("noise multiplier", noise_multiplier))
