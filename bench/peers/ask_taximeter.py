"""Asks Taximeter by its command line: one row per unit, add/remove neighbours, and ε for the whole question, as it charges it."""

import itertools
import json
import subprocess
import tempfile
from pathlib import Path

from questions import BOUNDS, CATEGORIES, QUESTIONS, TABLE, cell

# More than all repetitions of a question cost: how long a budget lasts is another benchmark.
BUDGET = ["--budget", "1000000", "--rule", "basic"]

# No peer gives an interval for a quantile, which is half of the price by default.
WITHOUT_INTERVAL = {"median": ["--weights", "intervals=0"]}


def ask_all(program, path, repetitions, epsilons):
    """The answers to every question, or what Taximeter says where it refuses one."""
    results = []
    for (question, sql), epsilon in itertools.product(QUESTIONS.items(), epsilons):
        with tempfile.TemporaryDirectory() as folder:
            ledger = str(Path(folder) / "taximeter.db")
            add_dataset(program, path, ledger)
            results.append({"question": question, "epsilon": epsilon}
                           | ask(program, ledger, sql, epsilon, repetitions, WITHOUT_INTERVAL.get(question, [])))
    return results


def add_dataset(program, path, ledger):
    bounds = [f"--bounds={column}={low}..{high}" for column, (low, high) in BOUNDS.items()]
    categories = [f"--categories={column}={','.join(names)}" for column, names in CATEGORIES.items()]
    declaration = ["--unit=row", "--neighbours=add-remove", *bounds, *categories]
    command = [program, "dataset", "add", TABLE, path, *declaration, *BUDGET, "--ledger", ledger]
    subprocess.run(command, check=True, capture_output=True)


def ask(program, ledger, sql, epsilon, repetitions, weights):
    command = [program, "ask", TABLE, "--epsilon", epsilon, *weights, "--json", "--ledger", ledger]
    once = subprocess.run([*command, sql], capture_output=True, text=True)
    if once.returncode != 0:
        return {"refused": (once.stderr or once.stdout).strip().splitlines()[0]}
    rest = ";\n".join([sql] * (repetitions - 1)) + ";\n"
    several = subprocess.run(command, input=rest, capture_output=True, text=True, check=True)
    return {"answers": [answer(document) for document in [json.loads(once.stdout), *documents(several.stdout)]]}


def documents(text):
    """The JSON documents that follow each other in a text."""
    decoder, text = json.JSONDecoder(), text.strip()
    while text:
        document, end = decoder.raw_decode(text)
        yield document
        text = text[end:].lstrip()


def answer(document):
    """The value of every group: the answer is the last column. A value that Taximeter withholds is null."""
    return {cell(groups): number["value"] for *groups, number in document["rows"]}
