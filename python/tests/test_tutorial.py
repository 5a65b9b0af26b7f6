"""The tutorial notebook, cell by cell."""

from __future__ import annotations

import ast
import json
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "tutorial.ipynb"


def run(source: str, names: dict[str, Any]) -> Any:
    """Runs a cell as a notebook does: what it shows is the value of its last expression, drawn if it can draw itself."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    return value._repr_html_() if hasattr(value, "_repr_html_") else value


def test_the_tutorial_runs_from_a_file_to_a_halted_analyst(tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    names: dict[str, Any] = {}
    shown = [run(source, names) for source in sources]
    assert len(sources) == 10
    assert ["<svg" in str(value) for value in shown].count(True) == 2
    printed = capsys.readouterr().out
    assert "more answers, then: nothing was charged" in printed and "never reached" not in printed
    assert names["asked"] > 10 and shown[2] == 1000


def test_the_notebook_is_kept_without_outputs() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    assert all(cell.get("outputs", []) == [] and cell.get("execution_count") is None for cell in notebook["cells"])
