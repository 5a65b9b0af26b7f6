"""A ledger at a server: the program itself, on a port of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import taximeter as tx

PROGRAM = os.environ.get("TAXIMETER_PROGRAM")
COST = tx.pure("0.1")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """A server's address, and the tokens of an owner and of an analyst."""
    assert PROGRAM, "TAXIMETER_PROGRAM must name the program; cargo xtask test sets it"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("TAXIMETER_")}
    environment |= {"TAXIMETER_LEDGER": str(tmp_path / "served.db"), "XDG_STATE_HOME": str(tmp_path)}
    with tx.Ledger(tmp_path / "served.db", create=True) as ledger:
        ledger.create("census", "1,1e-6")
        ledger.create("census/alice", "0.5,1e-6")

    def token(*arguments: str) -> str:
        made = subprocess.run(
            [PROGRAM, "token", "create", *arguments, "--json"],  # type: ignore[list-item]
            env=environment, cwd=tmp_path, check=True, capture_output=True, text=True,
        )
        return str(json.loads(made.stdout)["secret"])

    tokens = {"owner": token("olga", "--role", "owner")}
    tokens["analyst"] = token("alice", "--role", "analyst", "--account", "census/alice")
    process = subprocess.Popen(
        [PROGRAM, "serve", "--listen", "127.0.0.1:0"], env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "listening on " in line:
            address = line.split("listening on ")[1].strip()
            break
    reader = threading.Thread(target=process.stderr.read)
    reader.start()
    yield address, tokens
    process.terminate()
    process.wait()
    reader.join()


def test_a_server_has_the_methods_of_a_ledger(server: tuple[str, dict[str, str]]) -> None:
    address, tokens = server
    ledger = tx.connect(address, token=tokens["owner"])
    survey = ledger.create("survey", "1,1e-6")
    with survey.charge(COST, key="k", note="a count") as receipt:
        assert receipt.sequence > 0 and not receipt.replayed
    assert survey.charge(COST, key="k", note="a count").replayed
    assert survey.left is not None and str(survey.left.epsilon) == "0.9"
    assert survey.quote(COST) and survey.reading.value == 0.1
    assert [record["what"] for record in survey.history()] == ["charge", "open"]
    assert "survey" in [account.name for account in ledger.accounts()]
    assert ledger.verify() and ledger.document["records"] >= 4
    survey.close(note="done")
    with pytest.raises(tx.Refused):
        survey.charge(COST)


def test_a_server_raises_the_same_exceptions(server: tuple[str, dict[str, str]]) -> None:
    address, tokens = server
    alice = tx.connect(address, token=tokens["analyst"]).account("census/alice")
    with pytest.raises(tx.Refused) as refused:
        alice.charge(tx.pure(3))
    assert refused.value.fits is not None and refused.value.fits[0].kind == "epsilon"
    assert "census/alice" in [account["account"] for account in refused.value.accounts]
    alice.charge(COST, key="k")
    with pytest.raises(tx.KeyTaken):
        alice.charge(tx.pure("0.2"), key="k")
    with pytest.raises(tx.NotAllowed):
        tx.connect(address, token=tokens["analyst"]).create("mine", 1)
    with pytest.raises(tx.NotAllowed):
        tx.connect(address, token="unknown").accounts()
    with pytest.raises(tx.BadInput):
        alice.charge([])


@pytest.mark.parametrize(
    ("url", "part"),
    [
        ("http://budgets.example", "in the clear"),
        ("http://10.0.0.1", "in the clear"),
        ("ftp://127.0.0.1", "not a URL"),
        ("127.0.0.1:7070", "not a URL"),
        ("", "not a URL"),
        ("https://user:secret@budgets.example", "not a URL"),
        ("https://budgets.example?x=1", "not a URL"),
    ],
)
def test_a_token_is_sent_encrypted_or_not_at_all(url: str, part: str) -> None:
    with pytest.raises(tx.BadInput, match=part) as error:
        tx.connect(url, token="t")
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("token", ["", "line\nbreak", "ümlaut"])
def test_a_token_that_cannot_be_sent_is_refused(token: str) -> None:
    with pytest.raises(tx.BadInput, match="token"):
        tx.connect("http://127.0.0.1:1", token=token)


def answering(replies: list[tuple[int, bytes]], seen: list[dict[str, str]]) -> HTTPServer:
    """A server that gives these answers in turn, and then none."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            seen.append(dict(self.headers))
            status, body = replies.pop(0) if replies else (0, b"")
            if status == 0:
                self.close_connection = True
                return
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def charge_at(replies: list[tuple[int, bytes]]) -> tuple[Any, list[dict[str, str]]]:
    seen: list[dict[str, str]] = []
    server = answering(replies, seen)
    try:
        account = tx.connect(f"http://127.0.0.1:{server.server_port}", token="t").account("census")
        try:
            return account.charge(COST), seen
        except tx.Error as error:
            return error, seen
    finally:
        server.shutdown()
        server.server_close()


CHARGED = b'{"outcome":"charged","sequence":3,"hash":null,"key":"k","accounts":[]}'
BUSY = b'{"code":"busy","detail":"try again in a moment"}'


def test_a_lost_answer_is_asked_for_again_under_the_same_key() -> None:
    receipt, seen = charge_at([(0, b""), (503, BUSY), (200, CHARGED)])
    assert receipt.sequence == 3
    assert len(seen) == 3 and len({headers["Idempotency-Key"] for headers in seen}) == 1


def test_an_answer_that_stays_lost_is_an_unknown_outcome_with_the_key() -> None:
    error, seen = charge_at([])
    assert isinstance(error, tx.UnknownOutcome) and error.key == seen[0]["Idempotency-Key"]


def test_what_is_not_a_taximeter_server_is_told() -> None:
    error, _ = charge_at([(404, b"<html>not here</html>")])
    assert isinstance(error, tx.Storage) and "is it a Taximeter server" in str(error)


def test_a_redirection_does_not_get_the_token() -> None:
    error, seen = charge_at([(302, b"")])
    assert isinstance(error, tx.Error) and len(seen) == 1


def test_a_key_that_http_would_change_is_refused() -> None:
    with pytest.raises(tx.BadInput, match="key"):
        tx.connect("http://127.0.0.1:1", token="t").account("census").charge(COST, key=" k ")
