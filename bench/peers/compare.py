#!/usr/bin/env python3
"""The error of Taximeter's answers beside OpenDP and SmartNoise SQL, at equal ε on the same public data.

    python3 bench/peers/compare.py target/release/taximeter

All three protect one row that is added or removed, are given the same bounds and categories, and pay ε for the whole question. The
files `ask_….py` say how each is configured. The error is relative to the exact answer on clamped values, so that it is the noise of
each system and not the bias that all bounds share. Questions with groups have an error for each group of at least 100 rows. A
value that a system withholds counts as an infinite error, so that none gains by answering only when it is lucky.

The smaller of two peers' measured errors is below their common true one by luck, so that a ratio of 1.1 at 200 repetitions is no
difference where all three have the same noise: counts, sums, cross-tables. More repetitions bring it closer to 1.

The peers come from PyPI, in the versions of `requirements-….txt`, each into an environment below `--folder`.
"""

import argparse
import json
import math
import random
import subprocess
import sys
import venv
from pathlib import Path

from ask_taximeter import ask_all
from questions import QUESTIONS, truths

HERE = Path(__file__).parent
OURS = "Taximeter"
PEERS = {"OpenDP 0.16": "opendp", "SmartNoise SQL 1.0": "smartnoise"}
RESAMPLES = 500


def main():
    arguments = parse_arguments()
    folder = Path(arguments.folder)
    folder.mkdir(parents=True, exist_ok=True)
    pythons = {peer: environment(folder, name) for peer, name in PEERS.items()}
    data = folder / f"flights-{arguments.rows}.csv"
    if not data.exists():
        run([pythons["OpenDP 0.16"], HERE / "write_flights.py", data, str(arguments.rows)])
    asked = [data, str(arguments.repetitions), *arguments.epsilon]
    results = {OURS: ask_all(arguments.taximeter, data, arguments.repetitions, arguments.epsilon)}
    for peer, name in PEERS.items():
        results[peer] = json.loads(run([pythons[peer], HERE / f"ask_{name}.py", *asked]))
    report = {"rows": arguments.rows, "repetitions": arguments.repetitions, "measured": compare(results, truths(data))}
    print_table(report)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("taximeter", help="the program, built with `cargo build --release -p taximeter`")
    parser.add_argument("--epsilon", nargs="+", default=["0.1", "1"], help="the prices of a question [default: 0.1 1]")
    parser.add_argument("--repetitions", type=int, default=200, help="how often each question is asked [default: 200]")
    parser.add_argument("--rows", type=int, default=50_000, help="how many flights there are [default: 50000]")
    parser.add_argument("--folder", default="target/peers", help="where environments and data are kept [default: target/peers]")
    parser.add_argument("--json", metavar="FILE", help="write all figures there too")
    return parser.parse_args()


def run(command):
    """The standard output of a command; what it says besides is shown, and its failure ends this program."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def environment(folder, name):
    """The Python of an environment with a peer, made again when its requirements have changed."""
    requirements = HERE / f"requirements-{name}.txt"
    home = folder / name
    installed = home / "installed.txt"
    python = home / "bin" / "python"
    if not installed.exists() or installed.read_text() != requirements.read_text():
        print(f"installing {requirements.name} into {home}", file=sys.stderr)
        venv.create(home, with_pip=True, clear=True)
        run([python, "-m", "pip", "install", "--quiet", "--requirement", requirements])
        installed.write_text(requirements.read_text())
    return python


def compare(results, exact):
    """Every question at every ε: the errors of each system, and ours as a multiple of the better peer's."""
    by_question = {}
    for system, answered in results.items():
        for result in answered:
            by_question.setdefault((result["question"], result["epsilon"]), {})[system] = result
    measured = []
    for (question, epsilon), by_system in by_question.items():
        errors = {
            system: errors_of(result["answers"], exact[question]) for system, result in by_system.items() if "answers" in result
        }
        entry = {"question": question, "epsilon": epsilon, "sql": QUESTIONS[question], "cells": len(exact[question])}
        entry["systems"] = {
            system: summary(errors[system]) if system in errors else {"refused": result["refused"]}
            for system, result in by_system.items()
        }
        measured.append(entry | ratio_to_better_peer(errors))
    return measured


def errors_of(answers, exact):
    """The relative errors of each repetition, by cell."""
    return [[relative_error(answer.get(cell), value) for cell, value in exact.items()] for answer in answers]


def relative_error(answer, exact):
    return math.inf if answer is None else abs(answer - exact) / abs(exact)


def summary(errors):
    pooled = [error for repetition in errors for error in repetition]
    withheld = sum(map(math.isinf, pooled)) / len(pooled)
    return {"median": finite(quantile(pooled, 0.5)), "p90": finite(quantile(pooled, 0.9)), "withheld": withheld}


def quantile(values, level):
    """The nearest-rank quantile, which infinite errors may be."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(level * len(ranked)) - 1)]


def finite(value):
    """JSON has no infinity."""
    return value if math.isfinite(value) else None


def ratio_to_better_peer(errors):
    """Our median and 90th percentile over the smaller one of the peers; a bootstrap over repetitions tells luck from skill."""
    peers = [errors[peer] for peer in PEERS if peer in errors]
    if OURS not in errors or not peers:
        return {}
    ratios = {}
    for name, level in [("median", 0.5), ("p90", 0.9)]:
        resampled = sorted(ratio(resample(errors[OURS]), [resample(peer) for peer in peers], level) for _ in range(RESAMPLES))
        ends = [finite(resampled[round(end * (RESAMPLES - 1))]) for end in (0.025, 0.975)]
        ratios[name] = {"ratio": finite(ratio(errors[OURS], peers, level)), "interval": ends}
    return {"ratio_to_better_peer": ratios}


def resample(repetitions):
    return random.choices(repetitions, k=len(repetitions))


def ratio(ours, peers, level):
    pooled = lambda errors: quantile([error for repetition in errors for error in repetition], level)
    own, best = pooled(ours), min(map(pooled, peers))
    if own == best:
        return 1.0
    return own / best if best > 0 and math.isfinite(own) else math.inf


def print_table(report):
    print(f"{report['rows']:,} flights, {report['repetitions']} repetitions; relative error, median / 90th percentile\n")
    rows = [["question", "ε", OURS, *PEERS, "ours to the better peer (95 % interval)"]]
    for entry in report["measured"]:
        systems = [shown(entry["systems"][system]) for system in [OURS, *PEERS]]
        ratios = entry.get("ratio_to_better_peer", {}).values()
        rows.append([entry["question"], entry["epsilon"], *systems, " / ".join(map(shown_ratio, ratios)) or "–"])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    refusals = {(system, entry["question"]): result["refused"]
                for entry in report["measured"] for system, result in entry["systems"].items() if "refused" in result}
    for (system, question), why in refusals.items():
        print(f"\n{system} refuses the {question}: {why}")


def shown(result):
    if "refused" in result:
        return "refused"
    figures = " / ".join("withheld" if result[name] is None else f"{100 * result[name]:.2g} %" for name in ("median", "p90"))
    return figures + (f" ({100 * result['withheld']:.0f} % withheld)" if result["withheld"] else "")


def shown_ratio(ratio):
    number = lambda value: "∞" if value is None else f"{value:.2f}"
    return f"{number(ratio['ratio'])} ({number(ratio['interval'][0])}–{number(ratio['interval'][1])})"


if __name__ == "__main__":
    main()
