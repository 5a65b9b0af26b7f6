"""The examples in docstrings and in the package's page, and the types."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import taximeter

HERE = Path(__file__).parent
MODULES = [name for _, name, _ in pkgutil.walk_packages(taximeter.__path__, "taximeter.") if not name.endswith("_native")]
EXAMPLES = [
    example
    for name in ["taximeter", *MODULES]
    for example in doctest.DocTestFinder().find(importlib.import_module(name))
    if example.examples
]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_example_runs(example: doctest.DocTest, tmp_path: Path) -> None:
    example.globs["folder"] = tmp_path
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, clear_globs=False).failed == 0


def test_the_page_of_the_package_runs(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    page = HERE.parent / "README.md"
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert results.attempted > 10 and results.failed == 0


def test_the_lines_of_the_readme_run(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    readme = (HERE.parent.parent / "README.md").read_text(encoding="utf-8")
    [code] = [block.split("```")[0] for block in readme.split("```python\n")[1:]]
    exec(code, {})
    assert capsys.readouterr().out == "0.1 0.9\n" and "# 0.1 0.9" in code


def test_the_types_hold() -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", str(HERE.parent / "pyproject.toml"), "--cache-dir", "/dev/null",
         "-p", "taximeter"],
        capture_output=True, text=True, cwd=HERE,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
