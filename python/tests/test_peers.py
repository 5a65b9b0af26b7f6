"""The page about other accountants."""

from __future__ import annotations

from pathlib import Path

from peers import main


def test_the_page_about_peers_is_what_is_computed() -> None:
    page = Path(__file__).parents[2] / "docs/peers.md"
    assert page.read_text(encoding="utf-8") == main()
