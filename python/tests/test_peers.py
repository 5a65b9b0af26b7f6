"""The page about other accountants: its rows are what is computed."""

from __future__ import annotations

import pytest
from peers import PAGE, main, renewed


def test_the_page_about_peers_is_what_is_computed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == main(page)


def test_a_row_that_is_not_on_the_page_is_noticed() -> None:
    assert renewed("| a | 1 |\n| b | 2 |", ["| b | 3 |"]) == "| a | 1 |\n| b | 3 |"
    with pytest.raises(ValueError):
        renewed("| a 1.0 | 1 |", ["| a 1.1 | 1 |"])
