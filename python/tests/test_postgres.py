"""A ledger in PostgreSQL, which several processes write to."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from conftest import postgres_server

import taximeter as tx

POSTGRES = postgres_server()
pytestmark = pytest.mark.skipif(POSTGRES is None, reason="TAXIMETER_TEST_POSTGRES names no server; cargo xtask test starts one")


def _charge(arguments: tuple[str, str, int]) -> str:
    url, witness, at = arguments
    with tx.Ledger(url, witness=witness) as ledger:
        return str(ledger.account("census").charge(tx.pure("0.01"), key=f"job-{at % 6}").document["outcome"])


def test_processes_share_a_ledger_and_one_that_is_killed_loses_nothing(tmp_path: Path) -> None:
    assert POSTGRES is not None
    witness = tmp_path / "witness"
    with tx.Ledger(POSTGRES, create=True, witness=witness) as ledger:
        census = ledger.create("census", 10, rule="basic")
        assert "password" not in ledger.location
        with multiprocessing.get_context("spawn").Pool(3) as pool:
            outcomes = pool.map(_charge, [(POSTGRES, str(witness), at) for at in range(12)])
        assert sorted(outcomes) == ["charged"] * 6 + ["replayed"] * 6
        assert census.document["charges"] == 6
        # Three that charge without end, all killed in the middle of it.
        endless = (
            "import sys, taximeter as tx\n"
            "census, at = tx.Ledger(sys.argv[1], witness=sys.argv[2]).account('census'), 0\n"
            "while True:\n    census.charge(tx.pure('0.001'), key=f'{sys.argv[3]}-{at}')\n    print(at, flush=True)\n    at += 1"
        )
        commands = [[sys.executable, "-c", endless, POSTGRES, str(witness), name] for name in "abc"]
        children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) for command in commands]
        for child in children:
            assert child.stdout is not None
            while int(child.stdout.readline()) < 10:
                pass
        for child in children:
            child.kill()
        told = [[*range(11), *map(int, child.communicate()[0].split())] for child in children]
        charged = census.document["charges"] - 6
        assert sum(map(len, told)) <= charged <= sum(map(len, told)) + 3, "the last of each may have lost its acknowledgement"
        for name, numbers in zip("abc", told):
            assert all(census.charge(tx.pure("0.001"), key=f"{name}-{at}").replayed for at in numbers)
        assert ledger.verify()
        check_that_a_gate_sees_what_others_charged(tx.Gate(ledger, tmp_path / "gate"), witness)


def check_that_a_gate_sees_what_others_charged(gate: tx.Gate, witness: Path) -> None:
    gate.add("people", pa.table({"age": [34, 51]}), unit="row", budget=1, rule="basic")

    def charge_elsewhere() -> None:
        assert POSTGRES is not None
        with tx.Ledger(POSTGRES, witness=witness) as ledger:
            ledger.account("people").charge(tx.pure("0.4"))

    charge_elsewhere()
    assert [one["account"]["charges"] for one in gate.datasets()] == [1]
    charge_elsewhere()
    assert not gate.quote("SELECT COUNT(*) FROM people", epsilon="0.5")["admitted"]
    gate.close()
