"""Results: the service's documents, with their most used parts as properties."""

from __future__ import annotations

import json
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from types import TracebackType
from typing import Any

from taximeter import drawing
from taximeter._native import Cost
from taximeter.errors import Replayed


class Document:
    """A JSON document. `document` is all of it."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def document(self) -> dict[str, Any]:
        """All that the document says."""
        return dict(json.loads(self._text))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.document == other.document

    def __hash__(self) -> int:
        return hash(self._text)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._text})"


@dataclass(frozen=True)
class Balance:
    """What is spent or left: Σε and Σδ exactly, and the share of the rule's own budget."""

    epsilon: Decimal | None
    delta: Decimal
    share: float

    @staticmethod
    def of(document: dict[str, Any]) -> Balance:
        """A balance from a document."""
        epsilon = document["epsilon"]
        return Balance(None if epsilon is None else Decimal(epsilon), Decimal(document["delta"]), document["share"])


@dataclass(frozen=True)
class Reading:
    """A bound on the privacy loss, with what it promises. `value` is infinite where there is no bound, and `reason` says why."""

    value: float
    guarantee: str
    reason: str | None = None
    two_sided: bool = False

    def __float__(self) -> float:
        return self.value


def costs_of(documents: list[dict[str, Any]]) -> list[Cost]:
    """Costs from a document."""
    return [Cost.from_json(json.dumps(document)) for document in documents]


class Quote(Document):
    """The effect that a charge would have. Nothing is charged; a quote is true if the charge would be admitted."""

    @property
    def admitted(self) -> bool:
        """Whether it would be admitted."""
        return bool(self.document["verdict"] == "admitted")

    def __bool__(self) -> bool:
        return self.admitted

    @property
    def reason(self) -> str | None:
        """Why it would be refused."""
        own = self.document.get("reason")
        reasons = [own] if own else [f"{one['account']}: {one['reason']}" for one in self.accounts if one.get("reason")]
        return "; ".join(reasons) or None

    @property
    def asked(self) -> list[Cost]:
        """What was asked about."""
        return costs_of(self.document["asked"])

    @property
    def fits(self) -> list[Cost] | None:
        """The largest costs of the same kinds and proportions that would fit; None if none would."""
        fits = self.document["fits"]
        return None if fits is None else costs_of(fits)

    @property
    def count(self) -> int | None:
        """How often the same could be charged, or a lower bound; None without a budget, or for different costs."""
        count: int | None = self.document["count"]
        return count

    @property
    def accounts(self) -> list[dict[str, Any]]:
        """What it would do to each account, from the root down."""
        return list(self.document.get("accounts", []))

    def _repr_html_(self) -> str:
        asked = ", ".join(map(str, self.asked))
        parts = [drawing.line("asked", asked), drawing.line("fits", self.count)]
        if self.reason:
            parts.append(drawing.line("why", self.reason))
        for one in self.accounts:
            left = one.get("left_after")
            parts.append(drawing.gauge(one.get("left") if left is None else left, f"{one['account']} left"))
        return drawing.card("admitted" if self.admitted else "refused", *parts)


class StudyPlan(Document):
    """What the questions of a study cost and need together. Nothing is charged; it is true if all of them fit now."""

    @property
    def fits(self) -> bool:
        """Whether the accounts would take all questions now, in the best order."""
        return bool(self.document["fits_now"])

    def __bool__(self) -> bool:
        return self.fits

    @property
    def questions(self) -> list[dict[str, Any]]:
        """The questions as they are listed, each with its cost, the half width of its intervals, and its place in the best order."""
        return list(self.document["questions"])

    @property
    def accounts(self) -> list[dict[str, Any]]:
        """The accounts that would pay, from the root down, each with the ε that it needs, what is left before and after, and the first
        question that it refuses."""
        return list(self.document["accounts"])

    def _repr_html_(self) -> str:
        asked = [f"{one['times']} × {one['name']}, {costs_of([one['cost']])[0]}" for one in self.questions]
        parts = [drawing.line("asked", question) for question in asked]
        for one in self.accounts:
            if one.get("refused"):
                parts.append(drawing.line(f"{one['account']} stops at", f"{one['refused']['name']}: {one['refused']['reason']}"))
            parts.append(drawing.gauge(one["left_after"], f"{one['account']} left after all"))
        return drawing.card("all questions fit now" if self.fits else "the questions do not all fit now", *parts)


class Receipt(Document):
    """A committed charge. In a `with` statement, it lets the mechanism run once: a charge that was made before raises Replayed."""

    @property
    def replayed(self) -> bool:
        """Whether it was charged before under the same key."""
        return bool(self.document["outcome"] == "replayed")

    @property
    def sequence(self) -> int:
        """The number of the record in the journal."""
        return int(self.document["sequence"])

    @property
    def hash(self) -> str | None:
        """The hash of the record."""
        text: str | None = self.document["hash"]
        return text

    @property
    def key(self) -> str:
        """The idempotency key."""
        return str(self.document["key"])

    @property
    def accounts(self) -> list[dict[str, Any]]:
        """The accounts that paid, from the root down, each with its reading and what is left."""
        return list(self.document["accounts"])

    def _repr_html_(self) -> str:
        title = f"record {self.sequence}, charged {'before' if self.replayed else 'now'}"
        return drawing.card(title, *(drawing.gauge(one["left"], f"{one['account']} left") for one in self.accounts))

    def __enter__(self) -> Receipt:
        if self.replayed:
            raise Replayed(
                f"record {self.sequence} charged this before, under the key {self.key!r}: the mechanism may have run, and running "
                "it again would release more than was paid for; use what it released, or charge under another key",
                {"code": "replayed", "key": self.key, "sequence": self.sequence},
                self,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """The charge stands, whatever happened to the mechanism: what it released before it failed is not known."""


class Verification(Document):
    """The result of recomputing the whole journal."""

    @property
    def holds(self) -> bool:
        """Whether every record is intact."""
        return bool(self.document["state"] == "whole")

    def __bool__(self) -> bool:
        return self.holds
