"""Ledgers: budgets that outlive the process, shared by all who charge them.

>>> import taximeter as tx
>>> ledger = tx.Ledger(folder / "budgets.db", create=True)
>>> census = ledger.create("census", "1,1e-6")
>>> with census.charge(tx.pure("0.1"), key="report-17") as receipt:
...     pass  # run the mechanism here: it is paid for
>>> census.left.epsilon
Decimal('0.9')
>>> census.charge(tx.pure(5))
Traceback (most recent call last):
...
taximeter.errors.Refused: nothing was charged; census: the budget does not admit it
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from types import TracebackType
from typing import Any, Protocol, TextIO

from taximeter import _native, drawing
from taximeter._native import Cost
from taximeter.costs import Number
from taximeter.documents import Balance, Quote, Reading, Receipt, Verification
from taximeter.errors import bad_input
from taximeter.figures import Curve, Drawable
from taximeter.remote import Remote
from taximeter.rules import Budget, filter_request, odometer_request
from taximeter.watching import Watch


class Backend(Protocol):
    """Where a ledger is: on this machine or at a server. Both give the same documents, as JSON."""

    def location(self) -> str: ...
    def close(self) -> None: ...
    def ledger(self) -> str: ...
    def accounts(self) -> str: ...
    def account(self, name: str) -> str: ...
    def open_account(self, request: str) -> str: ...
    def close_account(self, name: str, by: str | None, note: str | None) -> str: ...
    def charge(
        self, accounts: Sequence[str], costs: Sequence[Cost], key: str | None = None, details: str | None = None
    ) -> str: ...
    def quote(self, accounts: Sequence[str], costs: Sequence[Cost], details: str | None = None) -> str: ...
    def history(self, name: str, start: int | None, most: int) -> str: ...
    def verify(self) -> str: ...


@functools.cache
def _waiting_room() -> ThreadPoolExecutor:
    """Threads in which asyncio's charges wait for the disk; many of them share one sync."""
    return ThreadPoolExecutor(max_workers=64, thread_name_prefix="taximeter")


class Ledger:
    """A ledger in a file or in PostgreSQL (`postgres://...`).

    A file has one process that writes to it; PostgreSQL takes several. With `create`, a ledger is made where there is none. `witness` is
    the file that detects a restored old copy of the ledger: keep it on another disk. The interpreter is free while a call waits.
    After a fork, open the ledger again in the new process.
    """

    def __init__(
        self, location: str | os.PathLike[str], *, create: bool = False, witness: str | os.PathLike[str] | None = None
    ) -> None:
        self._backend: Backend = _native.Ledger(
            os.fspath(location), create, None if witness is None else os.fspath(witness)
        )

    @property
    def location(self) -> str:
        """Where it is, without a password."""
        return self._backend.location()

    def account(self, name: str) -> Account:
        """An account by its name; it is looked up when it is used."""
        return Account(self._backend, name)

    def accounts(self) -> list[Account]:
        """All accounts, each followed by those below it."""
        return [Account(self._backend, one["account"]) for one in json.loads(self._backend.accounts())["accounts"]]

    def create(
        self,
        name: str,
        budget: Budget | None = None,
        rule: str | None = None,
        *,
        mechanism_delta: Number | None = None,
        max_cost: Number | None = None,
        on_halt: str | None = None,
        expecting: Cost | None = None,
        parameters: dict[str, Number] | None = None,
        odometer: str | None = None,
        delta: Number | None = None,
        odometer_parameters: dict[str, Number] | None = None,
        unit: str | None = None,
        neighbours: str | None = None,
    ) -> Account:
        """Opens an account: with a budget it decides, without one it only reads, at the given `delta`.

        The arguments are those of `Filter` and `Odometer`. `unit` says whose privacy is protected, and `neighbours` is "add-remove" or
        "substitute"; by default, both are those of the account above.
        """
        request: dict[str, Any] = {"account": name}
        if budget is not None:
            request["filter"] = filter_request(
                budget,
                rule,
                mechanism_delta=mechanism_delta,
                max_cost=max_cost,
                on_halt=on_halt,
                expecting=expecting,
                parameters=parameters,
            )
        elif rule is not None or max_cost is not None or on_halt is not None or parameters:
            raise bad_input("budget", "a rule needs a budget; give one such as \"1,1e-6\"")
        reads = odometer_request(
            delta,
            odometer,
            mechanism_delta=mechanism_delta if budget is None else None,
            parameters=odometer_parameters,
        )
        optional = {"odometer": reads, "unit": unit, "neighbours": neighbours}
        request |= {key: value for key, value in optional.items() if value is not None}
        self._backend.open_account(json.dumps(request))
        return Account(self._backend, name)

    def charge(
        self,
        accounts: Sequence[Account | str],
        costs: Cost | Sequence[Cost],
        *,
        key: str | None = None,
        by: str | None = None,
        note: str | None = None,
        unit: str | None = None,
        neighbours: str | None = None,
    ) -> Receipt:
        """Charges several accounts at once, all or nothing; every account above them pays too, once."""
        names = [one.name if isinstance(one, Account) else one for one in accounts]
        details = _details(by=by, note=note, unit=unit, neighbours=neighbours)
        return Receipt(self._backend.charge(names, _costs(costs), key, details))

    def verify(self) -> Verification:
        """Recomputes the whole journal, every hash, decision and balance, and compares it with the signed checkpoints beside the ledger."""
        return Verification(self._backend.verify())

    @property
    def document(self) -> dict[str, Any]:
        """The ledger's identity, location, newest record and witness."""
        return dict(json.loads(self._backend.ledger()))

    def close(self) -> None:
        """Closes the ledger after all waiting charges are done."""
        self._backend.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.location!r})"


class RemoteLedger(Ledger):
    """A ledger at a server: see `connect`."""

    def __init__(self, url: str, token: str, ca: str | os.PathLike[str] | None = None) -> None:
        self._backend = Remote(url, token, ca)


def connect(url: str, *, token: str, ca: str | os.PathLike[str] | None = None) -> Ledger:
    """A ledger at a server, with the methods of `Ledger`. `ca` is a file with the certificate of a private authority."""
    return RemoteLedger(url, token, ca)


class Account(Drawable):
    """An account of a ledger."""

    def __init__(self, backend: Backend, name: str) -> None:
        self._backend = backend
        self.name = name

    def charge(
        self,
        costs: Cost | Sequence[Cost],
        *,
        key: str | None = None,
        by: str | None = None,
        note: str | None = None,
        unit: str | None = None,
        neighbours: str | None = None,
    ) -> Receipt:
        """Charges one or more costs, all or nothing, and returns when the charge is on disk.

        With the same `key`, the same charge is made once: the second receipt says `replayed`. Raises Refused, with what would fit.
        """
        details = _details(by=by, note=note, unit=unit, neighbours=neighbours)
        return Receipt(self._backend.charge((self.name,), _costs(costs), key, details))

    async def charge_async(self, costs: Cost | Sequence[Cost], **arguments: Any) -> Receipt:
        """Charges without blocking asyncio's loop. If it is cancelled, the charge may still be made: the key tells."""
        charge = functools.partial(self.charge, costs, **arguments)
        return await asyncio.get_running_loop().run_in_executor(_waiting_room(), charge)

    def quote(self, costs: Cost | Sequence[Cost], *, unit: str | None = None, neighbours: str | None = None) -> Quote:
        """The effect that a charge would have."""
        return Quote(self._backend.quote((self.name,), _costs(costs), _details(unit=unit, neighbours=neighbours)))

    @property
    def document(self) -> dict[str, Any]:
        """Everything about the account, as it is now."""
        return dict(json.loads(self._backend.account(self.name)))

    @property
    def spent(self) -> Balance | None:
        """What is spent; None for an account that only reads."""
        reads = self.document["filter"]
        return reads and Balance.of(reads["spent"])

    @property
    def left(self) -> Balance | None:
        """What is left; None for an account that only reads."""
        reads = self.document["filter"]
        return reads and Balance.of(reads["left"])

    @property
    def reading(self) -> Reading:
        """The odometer's bound, and what it promises."""
        document = self.document
        value = document["reading"]
        bound = float("inf") if value is None else float(value)
        return Reading(bound, document["odometer"]["guarantee"], document.get("reading_reason"))

    def history(self, limit: int = 100, start: int | None = None) -> list[dict[str, Any]]:
        """The newest records about the account, newest first; `start` is the record to begin with."""
        return list(json.loads(self._backend.history(self.name, start, limit))["records"])

    def close(self, *, by: str | None = None, note: str | None = None) -> None:
        """Closes the account permanently: it takes no more charges, nor does any account below it."""
        self._backend.close_account(self.name, by, note)

    def __repr__(self) -> str:
        return f"Account({self.name!r})"

    def _repr_html_(self) -> str:
        document, left, reading = self.document, self.left, self.reading
        parts = [drawing.line("standing", document["standing"]), drawing.line("charges", document["charges"])]
        parts.append(drawing.gauge(None if left is None else left.share, "left"))
        parts.append(drawing.line("no bound", reading.reason) if reading.reason else self.svg())
        return drawing.card(self.name, *parts, drawing.line("guarantee", reading.guarantee))

    def readings(self, limit: int = 200) -> list[float]:
        """The readings after the newest charges, the oldest first, without those that have no bound."""
        records = reversed(self.history(limit))
        return [float(record["reading"]) for record in records if record["reading"] is not None]

    @property
    def figure(self) -> Curve:
        """The readings after the newest charges by the number of charges; none where the loss has no bound."""
        document = self.document
        if document["reading"] is None:
            return Curve("reading", [], [])
        records = [record for record in reversed(self.history(200)) if record["sequence"] <= document["newest_record"]]
        charges = [int(record["what"] == "charge") for record in records]
        places = list(accumulate(charges, initial=document["charges"] - sum(charges)))[1:]
        return Curve("reading", places, [float(record["reading"]) for record in records])

    def watch(self, *, every: float = 1.0, file: TextIO | None = None) -> Watch:
        """Shows the meter live, in a notebook or in a terminal, until it is stopped. It looks for a change after `every` seconds.

        >>> import io, taximeter as tx
        >>> census, shown = tx.Ledger(folder / "watched.db", create=True).create("census", 1), io.StringIO()
        >>> with census.watch(file=shown):
        ...     receipt = census.charge(tx.pure("0.25"))
        >>> print(shown.getvalue().splitlines()[-1])
        census [███████████████·····] 75.00 % left, reading 0.25, 1 charges, open
        """
        return Watch(self, every, file)


def _costs(costs: Cost | Sequence[Cost]) -> Sequence[Cost]:
    return (costs,) if isinstance(costs, Cost) else costs


def _details(**given: str | None) -> str | None:
    said = {key: value for key, value in given.items() if value is not None}
    return json.dumps(said) if said else None
