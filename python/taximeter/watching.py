"""The meter of an account, shown live in a notebook or in a terminal."""

from __future__ import annotations

import sys
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, TextIO

from taximeter import drawing
from taximeter._native import show_number, show_share
from taximeter.errors import Error

if TYPE_CHECKING:
    from taximeter.ledger import Account


class Watch:
    """Shows an account again whenever it has changed, from a thread of its own, until `stop` or the end of a `with` statement.

    In a notebook the account's own drawing is replaced; elsewhere a line is written to `file`, over the one before in a terminal. A ledger
    that is closed or cannot be reached ends it, with the reason as the last line.
    """

    def __init__(self, account: Account, every: float, file: TextIO | None) -> None:
        self._account = account
        self._file = sys.stderr if file is None else file
        self._notebook = _notebook() if file is None else None
        self._shown: dict[str, Any] | None = None
        self._width = 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, args=(every,), name="taximeter-watch")
        self._thread.start()

    def stop(self) -> None:
        """Ends it; what is shown stays."""
        self._stopped.set()
        self._thread.join()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def _run(self, every: float) -> None:
        try:
            self._show()
            # A program that ends does not wait for a meter.
            while not self._stopped.wait(every) and threading.main_thread().is_alive():
                self._show()
            self._show()
        except Error as error:
            self._write(f"{self._account.name}: {error}")
        if self._notebook is None and self._file.isatty():
            print(file=self._file, flush=True)

    def _show(self) -> None:
        document = self._account.document
        if document == self._shown:
            return
        self._shown = document
        if self._notebook is None:
            self._write(line(document))
        else:
            self._notebook.update(self._account)

    def _write(self, text: str) -> None:
        if not self._file.isatty():
            print(text, file=self._file, flush=True)
            return
        print(f"\r{text:<{self._width}}", end="", file=self._file, flush=True)
        self._width = len(text)


def line(document: dict[str, Any]) -> str:
    """An account in one line: a bar of what is left, the reading, and the number of charges."""
    reading = "no bound" if document["reading"] is None else show_number(float(document['reading']))
    rest = f"reading {reading}, {document['charges']} charges, {document['standing']}"
    if document["filter"] is None:
        return f"{document['account']}: {rest}"
    share = document["filter"]["left"]["share"]
    full = drawing.filled(share, 20)
    return f"{document['account']} [{'█' * full}{'·' * (20 - full)}] {show_share(share)} left, {rest}"


def _notebook() -> Any:
    """A place in a notebook whose contents can be replaced; None outside of a notebook."""
    if "IPython" not in sys.modules:
        return None
    import IPython.display as shown
    from IPython import get_ipython

    shell = get_ipython()
    if shell is None or type(shell).__name__ == "TerminalInteractiveShell":
        return None
    handle: Any = shown.DisplayHandle()  # type: ignore[no-untyped-call]
    handle.display({"text/plain": ""}, raw=True)
    return handle
