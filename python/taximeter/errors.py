"""What can go wrong, by kind. Every exception has data; the text says what was wrong and what to do.

>>> import taximeter as tx
>>> try:
...     tx.Filter("1").charge(tx.pure(2))
... except tx.Refused as refused:
...     print(refused.fits)
[Cost({"epsilon":"1"})]
"""

from __future__ import annotations

import json
from typing import Any

from taximeter._native import Cost


class Error(Exception):
    """Anything that Taximeter refuses or cannot do.

    `code` is the stable code of the problem, `document` all that is known about it.
    """

    def __init__(self, detail: str, document: dict[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.document: dict[str, Any] = document or {}

    @property
    def code(self) -> str:
        """The stable code of the problem, such as "refused"."""
        return str(self.document.get("code", ""))

    @property
    def key(self) -> str | None:
        """The idempotency key, if charging again with it tells the outcome of the first time."""
        return self.document.get("key")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.document)


class Refused(Error):
    """A filter refused. Nothing was charged."""

    @property
    def refusal(self) -> dict[str, Any]:
        """The refusal as the service writes it."""
        return dict(self.document.get("refusal") or {})

    @property
    def asked(self) -> list[Cost]:
        """What was asked."""
        return [Cost.from_json(json.dumps(cost)) for cost in self.refusal.get("asked", [])]

    @property
    def fits(self) -> list[Cost] | None:
        """The largest costs of the same kinds and proportions that would fit; None if none would."""
        fits = self.refusal.get("fits")
        return None if fits is None else [Cost.from_json(json.dumps(cost)) for cost in fits]

    @property
    def accounts(self) -> list[dict[str, Any]]:
        """The accounts that refused, with their reasons."""
        return list(self.refusal.get("refused", []))


class BadInput(Error, ValueError):
    """Something in the request cannot be used. Nothing was charged."""

    @property
    def parameter(self) -> str | None:
        """The parameter that is wrong."""
        return self.document.get("parameter")

    @property
    def position(self) -> int | None:
        """Where a question is wrong, counted in characters from 1."""
        return self.document.get("position")


class NotFound(Error, LookupError):
    """There is no such account, dataset or record."""


class KeyTaken(Error):
    """The idempotency key was used for another request. Nothing was charged now."""


class Replayed(Error):
    """The charge was made before under this key: the mechanism may have run, and must not run again for it.

    `receipt` is the receipt of the first time.
    """

    def __init__(self, detail: str, document: dict[str, Any] | None = None, receipt: Any = None) -> None:
        super().__init__(detail, document)
        self.receipt = receipt

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (str(self), self.document, self.receipt)


class ChargedNoAnswer(Error):
    """The question is charged, and there is no answer. The reason is told to the owner alone: it may depend on the data."""

    @property
    def sequence(self) -> int | None:
        """The record of the charge in the journal."""
        return self.document.get("sequence")


class UnknownOutcome(Error):
    """The charge may or may not have been made. Charging again with `key` tells."""


class Integrity(Error):
    """The integrity check of stored records failed."""


class Busy(Error):
    """It cannot be done right now, and nothing was charged: try again in a moment."""


class Stopped(Error):
    """The ledger is closed, stopped after a failure, or belongs to the process that this one was forked from."""


class Storage(Error):
    """The store, the disk or the way to the server failed."""


class NotAllowed(Error):
    """The token is missing, unknown or not allowed to do this."""


_BY_CODE: dict[str, type[Error]] = {
    "refused": Refused,
    "bad-request": BadInput,
    "too-large": BadInput,
    "unsupported-media-type": BadInput,
    "headers-too-large": BadInput,
    "method-not-allowed": BadInput,
    "no-account": NotFound,
    "no-dataset": NotFound,
    "not-found": NotFound,
    "key-reused": KeyTaken,
    "no-answer": ChargedNoAnswer,
    "unknown-outcome": UnknownOutcome,
    "integrity": Integrity,
    "alarm": Integrity,
    "busy": Busy,
    "too-many-requests": Busy,
    "request-timeout": Busy,
    "stopped": Stopped,
    "storage": Storage,
    "unauthorized": NotAllowed,
    "forbidden": NotAllowed,
}


def from_problem(problem: str) -> Error:
    """The exception for a problem document, here or from a server."""
    document: dict[str, Any] = json.loads(problem)
    kind = _BY_CODE.get(str(document.get("code")), Error)
    return kind(str(document.get("detail", "the problem has no detail")), document)


def bad_input(parameter: str, detail: str) -> BadInput:
    """An argument that cannot be used."""
    return BadInput(detail, {"code": "bad-request", "detail": detail, "parameter": parameter})
