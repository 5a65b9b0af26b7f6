"""Filters and odometers in memory."""

from __future__ import annotations

import math
import pickle
import threading
from decimal import Decimal
from typing import Any

import pytest

import taximeter as tx

FILTER_RULES = ["basic", "advanced", "whitehouse", "zcdp", "renyi", "residue"]
ODOMETER_RULES = ["basic", "advanced", "free-x", "normal-mixture", "stitched", "renyi-mixture"]


def test_ten_tenths_fit_into_one_and_nothing_after_them() -> None:
    f = tx.Filter(1, rule="basic")
    for _ in range(10):
        f.charge(tx.pure(0.1))
    assert f.left.epsilon == 0 and f.spent.epsilon == 1
    with pytest.raises(tx.Refused) as refused:
        f.charge(tx.pure("1e-30"))
    assert refused.value.fits is None
    assert refused.value.code == "refused"


def test_a_refusal_changes_nothing_and_says_what_fits() -> None:
    f = tx.Filter(1)
    f.charge(tx.pure("0.25"))
    with pytest.raises(tx.Refused) as refused:
        f.charge(tx.pure(2))
    assert refused.value.asked == [tx.pure(2)]
    assert refused.value.fits == [tx.pure("0.75")]
    assert refused.value.accounts[0]["reason"] == "the budget does not admit it"
    f.charge(tx.pure("0.75"))
    assert f.left.epsilon == 0


def test_the_refusal_survives_being_sent_to_another_process() -> None:
    with pytest.raises(tx.Refused) as refused:
        tx.Filter(1).charge(tx.pure(2))
    again = pickle.loads(pickle.dumps(refused.value))
    assert type(again) is tx.Refused and again.fits == [tx.pure(1)] and str(again) == str(refused.value)


def test_the_default_rule_admits_as_many_as_the_library_says() -> None:
    f = tx.Filter("1,1e-6")
    assert f.rule == "residue" and f.count(tx.pure("0.01")) == 558
    answered = 0
    while f.admits(tx.pure("0.01")):
        f.charge(tx.pure("0.01"))
        answered += 1
    assert answered == 558


@pytest.mark.parametrize("rule", FILTER_RULES)
def test_every_rule_can_be_chosen_and_says_where_it_is_from(rule: str) -> None:
    f = tx.Filter(1 if rule == "basic" else "1,1e-6", rule)
    assert f.rule == rule and f.citation and f.guarantee
    largest = f.largest(times=3)
    assert largest is not None
    for _ in range(3):
        f.charge(largest)


@pytest.mark.parametrize("rule", FILTER_RULES)
@pytest.mark.parametrize(
    "cost",
    [tx.pure("0.01"), tx.gaussian("0.01"), tx.zcdp("0.0001"), tx.laplace("0.01"), tx.sampled_gaussian("0.01", 2, 1)],
    ids=str,
)
def test_a_cost_is_admitted_as_quoted_or_the_rule_has_no_theorem_for_it(rule: str, cost: tx.Cost) -> None:
    f = tx.Filter(1 if rule == "basic" else "1,1e-6", rule)
    try:
        quote = f.quote(cost)
    except tx.BadInput as error:
        assert "no theorem" in str(error)
        return
    assert quote.admitted == f.admits(cost)
    assert quote.asked == [cost] and quote.count == f.count(cost)
    if quote:
        f.charge(cost)
        assert f.left.share == quote.document["left_after"]["share"]


def test_a_quote_of_what_is_refused_has_a_reason_and_what_fits() -> None:
    quote = tx.Filter(1).quote(tx.pure(3))
    assert not quote and quote.count == 0 and quote.fits == [tx.pure(1)]
    assert quote.reason == "the budget does not admit it"


def test_the_renyi_order_is_chosen_for_the_expected_cost() -> None:
    step = tx.sampled_gaussian("0.01", 1, 1)
    expecting = tx.Filter("1,1e-6", "renyi", expecting=step)
    given = tx.Filter("1,1e-6", "renyi", order=20)
    assert given.parameters == {"order": "20"}
    assert expecting.count(step) >= given.count(step)


def test_the_mechanisms_own_delta_is_set_aside() -> None:
    f = tx.Filter("1,1e-6", mechanism_delta="1e-7")
    f.charge(tx.approximate("0.01", "1e-7"))
    with pytest.raises(tx.Refused, match="1e-7 set aside"):
        f.charge(tx.approximate("0.01", "1e-9"))


def test_a_filter_that_stops_is_closed_for_good() -> None:
    f = tx.Filter(1, on_halt="stop")
    with pytest.raises(tx.Refused):
        f.charge(tx.pure(2))
    assert f.is_closed and f.largest() is None
    with pytest.raises(tx.Refused, match="halted before"):
        f.charge(tx.pure("0.1"))


def test_a_single_cost_can_be_bounded() -> None:
    f = tx.Filter(1, max_cost="0.1")
    with pytest.raises(tx.Refused, match="at most 0.1"):
        f.charge(tx.pure("0.2"))
    assert f.largest() == tx.pure("0.1")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (dict(budget=(1, 2, 3)), "not an epsilon and a delta"),
        (dict(budget=()), "not an epsilon and a delta"),
        (dict(budget="1,2"), "delta"),
        (dict(budget="1,"), "delta"),
        (dict(budget=float("nan")), "epsilon"),
        (dict(budget=1, rule="unheard-of"), "unheard-of"),
        (dict(budget=1, on_halt="explode"), "explode"),
        (dict(budget=1, rule="zcdp"), "zcdp"),
        (dict(budget="1,1e-6", rule="basic", order=3), "order"),
        (dict(budget="1,1e-6", rule="renyi", order="x"), "order"),
        (dict(budget="1,1e-6", mechanism_delta=1), "delta"),
    ],
)
def test_filters_that_cannot_be_made_say_why(arguments: dict[str, Any], part: str) -> None:
    with pytest.raises(tx.BadInput, match=part):
        tx.Filter(**arguments)


@pytest.mark.parametrize("times", [0, -1, 2**64, True, 1.5, "3", None])
def test_how_often_is_a_whole_number(times: Any) -> None:
    with pytest.raises(tx.BadInput, match="times"):
        tx.Filter(1).largest(times=times)


@pytest.mark.parametrize("cost", [None, "0.1", 0.1, {"epsilon": "0.1"}])
def test_only_costs_are_charged(cost: Any) -> None:
    with pytest.raises(TypeError):
        tx.Filter(1).charge(cost)


def test_a_filter_goes_on_where_it_was_kept() -> None:
    f = tx.Filter("1,1e-6")
    for _ in range(100):
        f.charge(tx.gaussian("0.01"))
    again = pickle.loads(pickle.dumps(f))
    assert again.state() == f.state() and again.left == f.left and repr(again) == repr(f)
    with pytest.raises(tx.BadInput):
        f.restore("{}")


@pytest.mark.parametrize("rule", ODOMETER_RULES)
def test_every_odometer_reads_and_never_below_what_one_mechanism_lost(rule: str) -> None:
    odometer = tx.Odometer("1e-6", rule)
    assert odometer.rule == rule and odometer.citation
    odometer.charge(tx.pure("0.5"))
    assert odometer.reading.value >= 0.5 and odometer.reading.guarantee
    before = float(odometer.reading)
    odometer.charge(tx.pure("0.5"), times=3)
    assert odometer.reading.value > before
    again = pickle.loads(pickle.dumps(odometer))
    assert again.reading == odometer.reading and again.ride() == [(0, odometer.reading.value)], "the ride begins where it was restored"


def test_many_charges_at_once_read_as_one_by_one() -> None:
    at_once, one_by_one = tx.Odometer("1e-6"), tx.Odometer("1e-6")
    at_once.charge(tx.gaussian("0.01"), times=50)
    for _ in range(50):
        one_by_one.charge(tx.gaussian("0.01"))
    assert at_once.reading == one_by_one.reading


def test_a_reading_without_a_bound_is_infinite_and_says_why() -> None:
    odometer = tx.Odometer("1e-6")
    odometer.charge(tx.approximate("0.1", "1e-9"))
    reading = odometer.reading
    assert math.isinf(reading.value) and reading.reason and "set aside" in reading.reason


def test_an_odometer_needs_a_delta_to_read_at() -> None:
    with pytest.raises(tx.BadInput, match="delta"):
        tx.Odometer()
    assert tx.Odometer(rule="basic").reading.value == 0


def test_threads_share_a_filter_without_admitting_too_much() -> None:
    f, admitted = tx.Filter(1, rule="basic"), []

    def spend() -> None:
        for _ in range(200):
            try:
                f.charge(tx.pure("0.001"))
                admitted.append(1)
            except tx.Refused:
                pass

    threads = [threading.Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(admitted) == 1000 and f.left.epsilon == Decimal(0)


def test_a_million_calls_leave_no_memory_behind() -> None:
    import resource

    def work(times: int) -> None:
        f, odometer, cost = tx.Filter("1,1e-6"), tx.Odometer("1e-6"), tx.pure("1e-9")
        for _ in range(times):
            f.charge(cost)
            odometer.charge(cost)
        for _ in range(times // 100):
            with pytest.raises(tx.Refused):
                f.charge(tx.pure(2))
            with pytest.raises(tx.BadInput):
                tx.pure(float("nan"))

    work(50_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work(500_000)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000, f"{grown} KiB more"
