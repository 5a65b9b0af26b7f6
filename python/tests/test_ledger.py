"""Ledgers on this machine."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import taximeter as tx

COST = tx.pure("0.1")


def test_a_charge_is_paid_and_outlives_the_process(tmp_path: Path) -> None:
    path = tmp_path / "budgets.db"
    with tx.Ledger(path, create=True) as ledger:
        receipt = ledger.create("census", "1,1e-6").charge(COST, key="one", by="alice", note="a count")
        assert not receipt.replayed and receipt.key == "one" and receipt.hash and receipt.sequence > 0
        assert receipt.accounts[0]["account"] == "census"
    with tx.Ledger(path) as ledger:
        census = ledger.account("census")
        left = census.left
        assert left is not None and left.epsilon == Decimal("0.9")
        records = census.history()
        assert [record["what"] for record in records] == ["charge", "open"]
        assert records[0]["by"] == "alice" and records[0]["note"] == "a count"
        assert ledger.verify() and ledger.verify().holds


def test_a_ledger_is_made_only_on_request(tmp_path: Path) -> None:
    with pytest.raises(tx.Error):
        tx.Ledger(tmp_path / "nowhere.db")
    assert not (tmp_path / "nowhere.db").exists()


def test_the_same_key_charges_once_and_lets_the_mechanism_run_once(census: tx.Account) -> None:
    runs = 0
    with census.charge(COST, key="k"):
        runs += 1
    again = census.charge(COST, key="k")
    assert again.replayed
    with pytest.raises(tx.Replayed) as replayed:
        with again:
            runs += 1
    assert runs == 1 and replayed.value.key == "k" and replayed.value.receipt == again
    assert census.spent is not None and census.spent.epsilon == Decimal("0.1")


def test_a_key_belongs_to_its_request(census: tx.Account) -> None:
    census.charge(COST, key="k")
    with pytest.raises(tx.KeyTaken) as taken:
        census.charge(tx.pure("0.2"), key="k")
    assert taken.value.key == "k"


def test_a_mechanism_that_fails_stays_charged(census: tx.Account) -> None:
    with pytest.raises(ZeroDivisionError):
        with census.charge(COST):
            1 / 0
    assert census.spent is not None and census.spent.epsilon == Decimal("0.1")


def test_a_refusal_names_the_account_and_what_fits(census: tx.Account) -> None:
    with pytest.raises(tx.Refused) as refused:
        census.charge(tx.pure(5))
    assert refused.value.accounts[0]["account"] == "census"
    [fits] = refused.value.fits or []
    assert fits.epsilon is not None and 1 <= fits.epsilon < Decimal("1.001")
    assert census.document["charges"] == 0


def test_every_account_above_pays_and_may_refuse(ledger: tx.Ledger, census: tx.Account) -> None:
    alice = ledger.create("census/alice", "0.5,1e-6")
    alice.charge(tx.pure("0.4"))
    assert census.spent is not None and census.spent.epsilon == Decimal("0.4")
    with pytest.raises(tx.Refused, match="census/alice"):
        alice.charge(tx.pure("0.2"))
    assert [account.name for account in ledger.accounts()] == ["census", "census/alice"]


def test_several_accounts_pay_together_or_not_at_all(ledger: tx.Ledger, census: tx.Account) -> None:
    small = ledger.create("small", "0.05")
    with pytest.raises(tx.Refused, match="small"):
        ledger.charge([census, "small"], COST)
    ledger.charge([census, small], [tx.pure("0.02"), tx.laplace("0.03")])
    for account in (census, small):
        assert account.spent is not None and account.spent.epsilon == Decimal("0.05")


def test_a_quote_charges_nothing(census: tx.Account) -> None:
    quote = census.quote(COST)
    assert quote and quote.count == 10 and quote.accounts[0]["account"] == "census"
    assert not census.quote(tx.pure(3)) and "census" in (census.quote(tx.pure(3)).reason or "")
    assert census.document["charges"] == 0


def test_an_account_without_a_budget_reads(ledger: tx.Ledger) -> None:
    surveys = ledger.create("surveys", delta="1e-6", odometer="renyi-mixture")
    surveys.charge(tx.pure(3))
    assert surveys.left is None and surveys.reading.value == 3 and "1e-6" in surveys.reading.guarantee


def test_a_closed_account_takes_nothing(census: tx.Account) -> None:
    census.close(by="owner", note="done")
    with pytest.raises(tx.Refused, match="closed"):
        census.charge(COST)


def test_what_is_protected_can_be_said_and_is_checked(ledger: tx.Ledger) -> None:
    people = ledger.create("people", "1,1e-6", unit="person", neighbours="substitute")
    people.charge(COST, unit="person", neighbours="substitute")
    with pytest.raises(tx.BadInput):
        people.charge(COST, unit="household")
    with pytest.raises(tx.BadInput):
        people.charge(tx.sampled_gaussian("0.1", 1), neighbours="substitute")


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda ledger: ledger.account("nobody").charge(COST), tx.NotFound),
        (lambda ledger: ledger.account("nobody").document, tx.NotFound),
        (lambda ledger: ledger.account("no such name!").charge(COST), tx.BadInput),
        (lambda ledger: ledger.account("census").charge([]), tx.BadInput),
        (lambda ledger: ledger.account("census").charge([COST] * 1000), tx.BadInput),
        (lambda ledger: ledger.account("census").charge(COST, key=""), tx.BadInput),
        (lambda ledger: ledger.account("census").charge(COST, key="k" * 1000), tx.BadInput),
        (lambda ledger: ledger.account("census").charge(COST, note="n" * 5000), tx.BadInput),
        (lambda ledger: ledger.account("census").charge(COST, neighbours="friends"), tx.BadInput),
        (lambda ledger: ledger.account("census").charge(COST, note="\ud800"), tx.BadInput),
        (lambda ledger: ledger.account("census").charge("0.1"), TypeError),
        (lambda ledger: ledger.account("census").charge(0.1), TypeError),
        (lambda ledger: ledger.account("census").charge(COST, key=5), TypeError),
        (lambda ledger: ledger.account("census").charge(COST, key="\ud800"), UnicodeEncodeError),
        (lambda ledger: ledger.create("census", 1), tx.BadInput),
        (lambda ledger: ledger.create("a/b", 1), tx.BadInput),
        (lambda ledger: ledger.create("b", rule="basic"), tx.BadInput),
        (lambda ledger: ledger.create("b", "1,1e-6", rule="nonsense"), tx.BadInput),
        (lambda ledger: ledger.create("b"), tx.BadInput),
        (lambda ledger: ledger.create("b", float("nan")), tx.BadInput),
        (lambda ledger: ledger.account("census").history(limit=-1), OverflowError),
    ],
)
def test_what_cannot_be_done_says_so_and_changes_nothing(
    ledger: tx.Ledger, census: tx.Account, call: Any, error: type[Exception]
) -> None:
    before = ledger.document["records"]
    with pytest.raises(error):
        call(ledger)
    assert ledger.document["records"] == before


def test_a_second_process_waits_and_is_told_that_the_file_is_taken(tmp_path: Path, ledger: tx.Ledger) -> None:
    with pytest.raises(tx.Busy):
        tx.Ledger(tmp_path / "budgets.db")


def test_an_old_copy_put_back_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "budgets.db"
    with tx.Ledger(path, create=True, witness=tmp_path / "witness") as ledger:
        ledger.create("census", 1)
    old = path.read_bytes()
    with tx.Ledger(path, witness=tmp_path / "witness") as ledger:
        ledger.account("census").charge(COST)
    for leftover in tmp_path.glob("budgets.db-*"):
        leftover.unlink()
    path.write_bytes(old)
    with pytest.raises(tx.Integrity):
        tx.Ledger(path, witness=tmp_path / "witness")


def test_a_journal_that_was_written_again_is_not_that_of_the_signed_checkpoint(tmp_path: Path) -> None:
    path, witness = tmp_path / "budgets.db", tmp_path / "witness"
    with tx.Ledger(path, create=True, witness=witness) as ledger:
        ledger.create("census", 1)
    old = {file: file.read_bytes() for file in (path, witness)}
    with tx.Ledger(path, witness=witness) as ledger:
        ledger.account("census").charge(COST)
    sign_checkpoint(path, witness)
    with tx.Ledger(path, witness=witness) as ledger:
        assert ledger.verify()
    # Someone who may write both files puts back old copies, and charges less.
    for leftover in tmp_path.glob("budgets.db-*"):
        leftover.unlink()
    for file, content in old.items():
        file.write_bytes(content)
    with tx.Ledger(path, witness=witness) as ledger:
        ledger.account("census").charge(tx.pure("0.01"))
        verified = ledger.verify()
    assert not verified.holds and "checkpoint" in verified.document["reason"]


def sign_checkpoint(path: Path, witness: Path) -> None:
    """Signs a checkpoint of a ledger by the program: it is kept beside the ledger."""
    program = os.environ.get("TAXIMETER_PROGRAM")
    assert program, "TAXIMETER_PROGRAM must name the program; cargo xtask test sets it"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TAXIMETER_")}
    environment |= {"TAXIMETER_LEDGER": str(path), "TAXIMETER_WITNESS": str(witness)}
    for command in (["key", "create", "signer.key"], ["create", "--checkpoint-key", "signer.key"]):
        subprocess.run([program, "checkpoint", *command], cwd=path.parent, env=environment, check=True, capture_output=True)


def test_a_closed_ledger_says_so(tmp_path: Path) -> None:
    ledger = tx.Ledger(tmp_path / "budgets.db", create=True)
    census = ledger.create("census", 1)
    ledger.close()
    ledger.close()
    with pytest.raises(tx.Stopped, match="closed"):
        census.charge(COST)


def test_threads_charge_at_once_and_never_too_much(census: tx.Account) -> None:
    admitted: list[int] = []

    def spend() -> None:
        for _ in range(10):
            try:
                census.charge(tx.laplace("0.2"))
                admitted.append(1)
            except tx.Refused:
                pass

    threads = [threading.Thread(target=spend) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 0 < len(admitted) < 160 and census.document["charges"] == len(admitted)
    assert not census.quote(tx.laplace("0.2"))


def test_the_interpreter_is_free_while_a_charge_waits(tmp_path: Path) -> None:
    # Another process holds the file, so opening it waits for seconds; meanwhile other threads run.
    with tx.Ledger(tmp_path / "budgets.db", create=True):
        counted, done = 0, threading.Event()

        def wait() -> None:
            with pytest.raises(tx.Busy):
                tx.Ledger(tmp_path / "budgets.db")
            done.set()

        thread = threading.Thread(target=wait)
        thread.start()
        while not done.is_set():
            counted += 1
            time.sleep(0.001)
        thread.join()
    assert counted > 100


def test_asyncio_charges_many_at_once(census: tx.Account) -> None:
    async def spend() -> list[tx.Receipt | BaseException]:
        charges = [census.charge_async(tx.pure("0.001"), key=f"k{at % 100}") for at in range(200)]
        return await asyncio.gather(*charges, return_exceptions=True)

    receipts = asyncio.run(spend())
    assert all(isinstance(receipt, tx.Receipt) for receipt in receipts)
    assert census.document["charges"] == 100


def test_an_asyncio_refusal_is_raised(census: tx.Account) -> None:
    with pytest.raises(tx.Refused):
        asyncio.run(census.charge_async(tx.pure(5)))


def test_ctrl_c_ends_the_waiting(tmp_path: Path) -> None:
    script = textwrap.dedent(
        """
        import sys, taximeter as tx
        try:
            print("waiting", flush=True)
            tx.Ledger(sys.argv[1])
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        """
    )
    with tx.Ledger(tmp_path / "budgets.db", create=True):
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "budgets.db")], stdout=subprocess.PIPE, text=True, cwd=tmp_path
        )
        assert child.stdout is not None and child.stdout.readline() == "waiting\n"
        child.send_signal(signal.SIGINT)
        assert child.stdout.read() == "interrupted\n"
        child.wait()


def test_a_fork_is_detected_and_the_parent_goes_on(census: tx.Account, ledger: tx.Ledger) -> None:
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            census.charge(COST)
            told = "charged"
        except tx.Stopped as error:
            told = str(error)
        os.write(writes, told.encode())
        del census, ledger
        os._exit(0)
    os.close(writes)
    assert os.waitpid(child, 0)[1] == 0
    with os.fdopen(reads) as pipe:
        assert "open it again in this process" in pipe.read()
    census.charge(COST)
    assert ledger.verify()


def _in_a_pool(arguments: tuple[str, int]) -> str:
    path, at = arguments
    while True:
        try:
            with tx.Ledger(path) as ledger:
                return ledger.account("census").charge(tx.pure("0.01"), key=f"job-{at % 6}").document["outcome"]
        except tx.Busy:
            continue


def test_processes_of_a_pool_take_turns_and_charge_once_per_key(tmp_path: Path) -> None:
    path = str(tmp_path / "budgets.db")
    with tx.Ledger(path, create=True) as ledger:
        ledger.create("census", 1)
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        outcomes = pool.map(_in_a_pool, [(path, at) for at in range(12)])
    assert sorted(outcomes) == ["charged"] * 6 + ["replayed"] * 6
    with tx.Ledger(path) as ledger:
        assert ledger.account("census").document["charges"] == 6


def test_what_was_acknowledged_before_a_kill_is_there_and_not_doubled(tmp_path: Path) -> None:
    path = tmp_path / "budgets.db"
    with tx.Ledger(path, create=True) as ledger:
        ledger.create("census", 1000, rule="basic")
    script = textwrap.dedent(
        """
        import sys, taximeter as tx
        census = tx.Ledger(sys.argv[1]).account("census")
        at = 0
        while True:
            census.charge(tx.pure("0.001"), key=f"step-{at}")
            print(at, flush=True)
            at += 1
        """
    )
    acknowledged = -1
    for _ in range(3):
        child = subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE, text=True, cwd=tmp_path)
        assert child.stdout is not None
        while int(line := child.stdout.readline()) < acknowledged + 20:
            pass
        child.kill()
        rest = [int(more) for more in child.stdout.read().split("\n") if more]
        child.wait()
        acknowledged = max([int(line), *rest])
    with tx.Ledger(path) as ledger:
        census = ledger.account("census")
        charged = census.document["charges"]
        assert acknowledged + 1 <= charged <= acknowledged + 2, "the last one may have lost its acknowledgement alone"
        assert all(census.charge(tx.pure("0.001"), key=f"step-{at}").replayed for at in range(acknowledged + 1))
        assert ledger.verify()


def test_receipts_and_errors_can_be_sent_to_another_process(census: tx.Account) -> None:
    receipt = census.charge(COST)
    assert pickle.loads(pickle.dumps(receipt)) == receipt and len({receipt, pickle.loads(pickle.dumps(receipt))}) == 1
    with pytest.raises(tx.Replayed) as replayed:
        with census.charge(COST, key=receipt.key):
            pass
    assert pickle.loads(pickle.dumps(replayed.value)).receipt == replayed.value.receipt


def test_a_ledger_that_closes_while_threads_charge_stops_them(tmp_path: Path) -> None:
    ledger = tx.Ledger(tmp_path / "budgets.db", create=True)
    census, ended, charged = ledger.create("census", 1000, rule="basic"), [], threading.Event()

    def spend() -> None:
        try:
            while True:
                census.charge(tx.pure("0.001"))
                charged.set()
        except Exception as error:
            ended.append(error)

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    charged.wait()
    ledger.close()
    for thread in threads:
        thread.join()
    assert [type(error) for error in ended] == [tx.Stopped] * 4
