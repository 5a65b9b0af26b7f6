"""Rounds of Flower: each is charged before its result leaves the server."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import GaussianPrivacyEvent, Grid, SamplingMethod
from flwr.serverapp.exception import PrivacyBudgetExhausted
from flwr.serverapp.strategy import DifferentialPrivacyServerSideFixedClipping, FedAvg
from flwr.supercore.task_identity import TaskIdentity
from peers import PAGE, main

import taximeter as tx
from taximeter.adapters.flower import RoundAccountant

CLIENTS = 4
TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
app = ClientApp()


@app.train()  # type: ignore[untyped-decorator]
def train(message: Any, context: Any) -> Any:
    """A client that moves every number by one."""
    [arrays] = message.content.array_records.values()
    moved = ArrayRecord([array + 1 for array in arrays.to_numpy_ndarrays()])
    return Message(RecordDict({"arrays": moved, "metrics": MetricRecord({"num-examples": 1})}), reply_to=message)


class Here(Grid):  # type: ignore[misc]
    """Clients in this process: messages go to the app without a network."""

    run = None

    def set_run(self, run: Any) -> None:
        raise AssertionError("there is one run")

    create_message = push_messages = pull_messages = set_run

    def get_node_ids(self) -> Iterable[int]:
        return range(1, CLIENTS + 1)

    def send_and_receive(self, messages: Iterable[Any], *, timeout: float | None = None) -> Iterable[Any]:
        replies = []
        for at, message in enumerate(messages):
            message.metadata._message_id = f"message-{at}"
            node = message.metadata.dst_node_id
            replies.append(app(message, Context(run_id=1, node_id=node, node_config={}, state=RecordDict(), run_config={})))
        return replies


def rounds(accountant: RoundAccountant, number: int, noise: float = 2.0) -> Any:
    """The result of some rounds."""
    inner = FedAvg(fraction_train=1.0, fraction_evaluate=0.0, min_train_nodes=CLIENTS, min_available_nodes=CLIENTS)
    strategy = DifferentialPrivacyServerSideFixedClipping(inner, noise, 1.0, CLIENTS, accountant=accountant)
    return strategy.start(Here(), ArrayRecord([np.zeros(3)]), num_rounds=number)


@pytest.fixture
def phones(ledger: tx.Ledger) -> tx.Account:
    return ledger.create("phones", "3,1e-6", neighbours="add-remove")


def accountant_of(account: tx.Account, **arguments: Any) -> RoundAccountant:
    return RoundAccountant(account, "run", population_size=CLIENTS, **arguments)


def test_rounds_are_charged_until_the_budget_stops_them(phones: tx.Account) -> None:
    accountant, fits = accountant_of(phones), tx.Filter("3,1e-6").count(tx.gaussian("0.25"))
    result = rounds(accountant, fits, 4.0)
    assert len(result.arrays.to_numpy_ndarrays()[0]) == 3 and fits > 0
    assert phones.document["charges"] == accountant.num_releases == fits
    with pytest.raises(PrivacyBudgetExhausted):
        rounds(accountant, 1, 4.0)
    assert phones.document["charges"] == fits


def test_a_result_that_is_not_paid_for_stays_on_the_server(phones: tx.Account) -> None:
    accountant = accountant_of(phones)
    accountant.would_exceed = lambda event, max_epsilon=None, count=1: False  # type: ignore[method-assign]
    phones.charge(tx.pure(3))
    with pytest.raises(tx.Refused):
        rounds(accountant, 1)
    assert accountant.num_releases == 0


def test_a_server_goes_on_from_its_state_and_pays_once(phones: tx.Account) -> None:
    first = accountant_of(phones)
    rounds(first, 1, noise=8.0)
    kept = first.state_dict()
    rounds(first, 1, noise=8.0)
    with pytest.raises(tx.Replayed):
        rounds(accountant_of(phones), 1, noise=8.0)
    again = accountant_of(phones, repeat_lost=True)
    again.load_state_dict(kept)
    rounds(again, 2, noise=8.0)
    assert phones.document["charges"] == again.num_releases == 3
    with pytest.raises(tx.BadInput, match="run"):
        RoundAccountant(phones, "other", population_size=4).load_state_dict(kept)


def test_the_accountant_says_what_it_knows(phones: tx.Account) -> None:
    accountant, event = accountant_of(phones, sampling_method=SamplingMethod.POISSON), GaussianPrivacyEvent(8.0, 1, CLIENTS)
    with pytest.raises(tx.BadInput, match="renyi"):
        accountant.compose(event)
    plain = accountant_of(phones)
    plain.compose(event, 2)
    spent, odometer = plain.get_privacy_spent(), tx.Odometer("1e-6")
    odometer.charge(tx.gaussian("0.125"), 2)
    assert (spent.epsilon, spent.delta, spent.num_releases) == (odometer.reading.value, 1e-6, 2)
    elsewhere = GaussianPrivacyEvent(1.0, 1, 9)
    for call in (lambda: plain.get_delta(1.0), lambda: plain.would_exceed(event, 9.0), lambda: plain.compose(elsewhere)):
        with pytest.raises(tx.BadInput):
            call()


def test_accounts_and_samples_without_a_translation_are_refused(ledger: tx.Ledger, phones: tx.Account) -> None:
    with pytest.raises(tx.BadInput, match="without replacement"):
        accountant_of(phones, sampling_method=SamplingMethod.WITHOUT_REPLACEMENT)
    with pytest.raises(tx.BadInput, match="no budget"):
        accountant_of(ledger.create("reads", delta="1e-6", odometer="renyi-mixture"))


def test_the_page_about_peers_is_what_is_computed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == main(page)
