"""The examples in docstrings and in the package's page, and the types."""

from __future__ import annotations

import doctest
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from examples import examples, run

import taximeter

HERE = Path(__file__).parent
MODULES = [name for _, name, _ in pkgutil.walk_packages(taximeter.__path__, "taximeter.") if not name.endswith("_native")]
# Their libraries are in other environments, whose tests run their examples.
ELSEWHERE = {f"taximeter.adapters.{name}" for name in ("opacus", "flower", "smartnoise", "tumult")}


@pytest.mark.parametrize("example", examples("taximeter", *sorted({*MODULES} - ELSEWHERE)), ids=lambda example: example.name)
def test_the_example_runs(example: doctest.DocTest, tmp_path: Path) -> None:
    run(example, tmp_path)


def test_every_adapter_has_its_examples_run_somewhere() -> None:
    others = "".join(path.read_text(encoding="utf-8") for path in HERE.glob("with_*/test_*.py"))
    assert ELSEWHERE <= set(MODULES) and all(f'"{name}"' in others for name in ELSEWHERE)


def test_the_page_of_the_package_runs(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    page = HERE.parent / "README.md"
    results = doctest.testfile(str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8")
    assert results.attempted > 10 and results.failed == 0


def test_the_lines_of_the_guide_run(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    page = (HERE.parent.parent / "docs/guide/5-only-the-ledger.md").read_text(encoding="utf-8")
    [code] = [block.split("```")[0] for block in page.split("```python\n")[1:]]
    exec(code, {})
    assert capsys.readouterr().out == "0.1 0.9\n" and "# 0.1 0.9" in code


@pytest.mark.parametrize("what", [["-p", "taximeter"], [str(HERE.parent / "examples")]], ids=["package", "examples"])
def test_the_types_hold(what: list[str]) -> None:
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", str(HERE.parent / "pyproject.toml"), "--cache-dir", "/dev/null", *what],
        capture_output=True, text=True, cwd=HERE,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr
