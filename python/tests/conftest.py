"""What tests and the examples in docstrings stand on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import taximeter as tx


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[tx.Ledger]:
    """A new ledger in a file."""
    with tx.Ledger(tmp_path / "budgets.db", create=True) as ledger:
        yield ledger


@pytest.fixture
def census(ledger: tx.Ledger) -> tx.Account:
    """An account with a budget of (1, 1e-6)."""
    return ledger.create("census", "1,1e-6")


def postgres_server() -> str | None:
    """The URL of the PostgreSQL server that `cargo xtask test` starts."""
    return os.environ.get("TAXIMETER_TEST_POSTGRES")
