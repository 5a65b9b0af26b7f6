"""Flower: an accountant that charges an account before the result of a round leaves the server.

Tested with Flower 1.41. Its strategies with fixed clipping ask `would_exceed` before the clients train, and tell `compose` when the noise
is in the sum and nothing has left the server yet: a refusal there keeps the result back.

>>> import taximeter as tx
>>> from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
>>> account = tx.Ledger(folder / "budgets.db", create=True).create("phones", "2,1e-6", neighbours="add-remove")
>>> accountant = RoundAccountant(account, run="first", population_size=1000)
>>> strategy = DifferentialPrivacyServerSideFixedClipping(FedAvg(), 8.0, 1.0, 100, accountant=accountant)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from flwr.serverapp import GaussianPrivacyEvent, NeighboringRelation, PrivacyConfig, PrivacySpent, SamplingMethod

from taximeter._native import Cost
from taximeter.adapters import Run, binary, reading
from taximeter.costs import gaussian, sampled_gaussian
from taximeter.errors import bad_input
from taximeter.ledger import Account


class RoundAccountant:
    """A `PrivacyAccountant` of Flower for one run, whose rounds are charged to an account, each under the run's name and its number.

    A round that was charged before raises Replayed; `repeat_lost` is for rounds whose results were lost with the server, unseen.
    Sampling without replacement has no exact translation and is refused.
    """

    def __init__(
        self,
        account: Account,
        run: str,
        *,
        population_size: int,
        sampling_method: Any = SamplingMethod.NO_AMPLIFICATION,
        repeat_lost: bool = False,
    ) -> None:
        kept = account.document["filter"]
        if kept is None:
            raise bad_input("account", f"the account {account.name} has no budget, and would never stop the run; give it one")
        if sampling_method is SamplingMethod.WITHOUT_REPLACEMENT:
            raise bad_input("sampling_method", "samples without replacement have no exact translation; use another method")
        budget = kept["budget"]
        self._run = Run(account, run, repeat_lost=repeat_lost)
        self._events: list[tuple[Any, int]] = []
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
        self.config = PrivacyConfig(
            float(budget["delta"]), population_size, relation, sampling_method, max_epsilon=float(budget["epsilon"])
        )

    @property
    def num_releases(self) -> int:
        """The number of rounds that were charged."""
        return sum(count for _, count in self._events)

    def compose(self, event: Any, count: int = 1) -> None:
        """Charges rounds, all or nothing, or raises and counts nothing."""
        self._run.charge(self.num_releases + 1, [self._cost(event)] * count)
        self._events.append((event, count))

    def would_exceed(self, event: Any, max_epsilon: float | None = None, count: int = 1) -> bool:
        """Whether the account would refuse."""
        if max_epsilon not in (None, self.config.max_epsilon):
            raise bad_input("max_epsilon", "the budget is that of the account, and cannot be changed here")
        return not self._run.account.quote([self._cost(event)] * count)

    def get_epsilon(self, delta: float) -> float:
        """What the default odometer reads at a δ, which must not be chosen by looking at what was released."""
        return reading(((self._cost(event), count) for event, count in self._events), delta)

    def get_delta(self, epsilon: float) -> float:
        """Refused: an odometer's δ is fixed before it reads."""
        raise bad_input("epsilon", "an odometer reads an epsilon at a delta that is fixed in advance; call get_epsilon")

    def get_privacy_spent(self, delta: float | None = None) -> Any:
        """The odometer's reading as Flower reports it."""
        delta = self.config.target_delta if delta is None else delta
        return PrivacySpent(self.get_epsilon(delta), delta, self.num_releases, "taximeter")

    def state_dict(self) -> dict[str, object]:
        """The rounds so far, to be kept with the model."""
        return {"run": self._run.name, "rounds": [[event.noise_multiplier, event.sample_size, count] for event, count in self._events]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Goes on after the rounds of a kept state."""
        if state["run"] != self._run.name:
            raise bad_input("state", f"the state is of the run {state['run']!r}, and this is {self._run.name!r}")
        population = self.config.population_size
        self._events = [(GaussianPrivacyEvent(noise, size, population), count) for noise, size, count in state["rounds"]]

    def _cost(self, event: Any) -> Cost:
        if event.population_size != self.config.population_size:
            raise bad_input("population_size", f"the event is about {event.population_size} clients, not {self.config.population_size}")
        sigma = binary("noise multiplier", event.noise_multiplier)
        if self.config.sampling_method is SamplingMethod.NO_AMPLIFICATION:
            return gaussian(sigma=sigma)
        # Not as a binary fraction, which may be below the true rate.
        return sampled_gaussian(Fraction(event.sample_size, event.population_size), sigma)
