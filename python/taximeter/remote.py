"""A ledger at a server, over its documented HTTP interface. It has the methods of the ledger on this machine."""

from __future__ import annotations

import ipaddress
import json
import os
import ssl
import time
from collections.abc import Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import quote as segment
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener

from taximeter._native import Cost
from taximeter.errors import Storage, UnknownOutcome, bad_input, from_problem

_LONGEST_ANSWER = 64 << 20
_TRIES = 3
_PATIENCE = 120.0


class Remote:
    """The documents of a server. A charge is sent with its key, so that it can be repeated when an answer is lost."""

    def __init__(self, url: str, token: str, ca: str | os.PathLike[str] | None = None) -> None:
        parts = urlsplit(url.strip().rstrip("/"))
        is_here = _is_on_this_machine(parts.hostname or "")
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.query or parts.fragment or "@" in parts.netloc:
            raise bad_input("url", "the server's address is not a URL such as https://budgets.example, without a password or a ?")
        if parts.scheme == "http" and not is_here:
            raise bad_input("url", "http:// would send your token in the clear and is only for this machine; use https://")
        if not token or not token.isascii() or not token.isprintable():
            raise bad_input("token", "the token is missing or has signs that no token has; give the one that the owner made")
        self._url = parts.geturl()
        self._token = token
        handlers: list[Any] = [_NoRedirect()]
        if parts.scheme == "https":
            handlers.append(HTTPSHandler(context=ssl.create_default_context(cafile=None if ca is None else os.fspath(ca))))
        if is_here:
            handlers.append(ProxyHandler({}))
        self._opener = build_opener(*handlers)

    def location(self) -> str:
        """The address of the server."""
        return self._url

    def close(self) -> None:
        """Nothing is open between two requests."""

    def ledger(self) -> str:
        return self._ask("GET", "/v1/ledger")

    def accounts(self) -> str:
        return self._ask("GET", "/v1/accounts")

    def account(self, name: str) -> str:
        return self._ask("GET", f"/v1/accounts/{segment(name, safe='')}")

    def open_account(self, request: str) -> str:
        return self._ask("POST", "/v1/accounts", request)

    def close_account(self, name: str, by: str | None, note: str | None) -> str:
        request = {key: value for key, value in (("by", by), ("note", note)) if value is not None}
        return self._ask("POST", f"/v1/accounts/{segment(name, safe='')}/close", json.dumps(request))

    def charge(
        self, accounts: Sequence[str], costs: Sequence[Cost], key: str | None = None, details: str | None = None
    ) -> str:
        key = os.urandom(16).hex() if key is None else key
        return self._ask("POST", "/v1/charges", _request(accounts, costs, details), key)

    def quote(self, accounts: Sequence[str], costs: Sequence[Cost], details: str | None = None) -> str:
        return self._ask("POST", "/v1/quotes", _request(accounts, costs, details), repeatable=True)

    def history(self, name: str, start: int | None, most: int) -> str:
        path = f"/v1/accounts/{segment(name, safe='')}/history"
        records: list[dict[str, Any]] = []
        while True:
            page = f"?limit={min(most - len(records), 1000)}" + ("" if start is None else f"&from={start}")
            document = json.loads(self._ask("GET", path + page))
            records.extend(document["records"])
            start, before = document["next"], start
            if start is None or len(records) >= most or (before is not None and start >= before):
                return json.dumps({**document, "records": records})

    def verify(self) -> str:
        text = self._ask("POST", "/v1/verify", repeatable=True)
        while json.loads(text)["state"] == "running":
            time.sleep(0.1)
            text = self._ask("GET", "/v1/verify")
        return text

    def _ask(
        self, method: str, path: str, body: str | None = None, key: str | None = None, repeatable: bool = False
    ) -> str:
        headers = {"Authorization": f"Bearer {self._token}", "Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        if key is not None:
            if key.strip() != key or not key.isascii() or not key.isprintable():
                raise bad_input("key", f"the key {key!r} cannot be sent to a server; use letters, digits and signs of ASCII")
            headers["Idempotency-Key"] = key
        data = None if body is None else body.encode()
        request = Request(self._url + path, data=data, headers=headers, method=method)
        repeatable = repeatable or method == "GET" or key is not None
        for attempt in range(1, _TRIES + 1):
            is_last = attempt == _TRIES
            try:
                with self._opener.open(request, timeout=_PATIENCE) as answer:
                    return _text(answer.read(_LONGEST_ANSWER + 1))
            except HTTPError as error:
                with error:
                    problem = _text(error.read(_LONGEST_ANSWER + 1))
                if error.code not in (429, 503) or not repeatable or is_last:
                    raise _problem(problem, error.code) from None
                time.sleep(_wait(error.headers.get("Retry-After")))
            except (URLError, HTTPException, OSError) as error:
                if is_last or not repeatable:
                    raise self._lost(error, key) from error
                time.sleep(0.2 * attempt)
        raise AssertionError("the last attempt returns or raises")

    def _lost(self, error: Exception, key: str | None) -> Exception:
        detail = f"the server {self._url} did not answer: {getattr(error, 'reason', error)}"
        if key is None:
            return Storage(f"{detail}; try again", {"code": "storage"})
        detail += f"; it is not known whether the charge was made: charge again with the key {key!r}"
        return UnknownOutcome(detail, {"code": "unknown-outcome", "key": key})


def _request(accounts: Sequence[str], costs: Sequence[Cost], details: str | None) -> str:
    request = {"accounts": list(accounts), "costs": [json.loads(cost.to_json()) for cost in costs]}
    return json.dumps(request | json.loads(details or "{}"))


def _text(body: bytes) -> str:
    if len(body) > _LONGEST_ANSWER:
        raise Storage("the server's answer is too long; is it a Taximeter server?", {"code": "storage"})
    return body.decode("utf-8", errors="replace")


def _problem(text: str, status: int) -> Exception:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if not isinstance(document, dict) or "code" not in document:
        return Storage(f"the server answered with status {status} and no problem document; is it a Taximeter server?")
    return from_problem(text)


def _wait(after: str | None) -> float:
    return min(float(after), 5.0) if after is not None and after.isdigit() else 0.2


def _is_on_this_machine(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _NoRedirect(HTTPRedirectHandler):
    """A redirection would carry the token to another server."""

    def redirect_request(self, *_: Any) -> None:
        return None
