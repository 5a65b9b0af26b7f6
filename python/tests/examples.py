"""The examples in docstrings, as tests."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path


def examples(*modules: str) -> list[doctest.DocTest]:
    """The examples of modules."""
    found = [example for name in modules for example in doctest.DocTestFinder().find(importlib.import_module(name))]
    return [example for example in found if example.examples]


def run(example: doctest.DocTest, folder: Path) -> None:
    """Runs an example, which may use a folder of that name."""
    example.globs["folder"] = folder
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, clear_globs=False).failed == 0
