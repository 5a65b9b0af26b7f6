"""Asks SmartNoise SQL on a Pandas frame, and prints the answers as JSON.

Configured as its documentation does, and fairly beside the others: one row per unit (`row_privacy`), the bounds of `questions.py` in
the metadata, and no censoring of groups, since the categories are public here; that leaves out groups without rows, and its δ buys
nothing. Its ε is for each statistic of a question. Here it is divided by their number, as `get_privacy_cost` tells it, so that the
whole question costs ε. Its default noise is continuous Laplace, cut to whole numbers for counts.
"""

import itertools
import json
import logging
import sys
import warnings

import pandas
from questions import BOUNDS, CATEGORIES, QUESTIONS, TABLE, cell
from snsql import Privacy, from_connection

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)

# Below any use, as no part of these questions needs a δ.
DELTA = 1e-12


def metadata(rows):
    table = {"row_privacy": True, "rows": rows, "censor_dims": False, "clamp_counts": False, "clamp_columns": True}
    table |= {column: {"type": "string"} for column in CATEGORIES}
    table |= {column: {"type": "int", "lower": low, "upper": high} for column, (low, high) in BOUNDS.items()}
    return {"": {"": {TABLE: table}}}


def ask(reader, sql):
    rows = reader.execute(sql)[1:]
    return {cell(groups): None if answer is None else float(answer) for *groups, answer in rows}


def main():
    path, repetitions, *epsilons = sys.argv[1:]
    frame = pandas.read_csv(path)
    readers = {}

    def reader_at(epsilon):
        """A reader keeps the frame in an engine of its own, so there is one for each ε."""
        if epsilon not in readers:
            privacy = Privacy(epsilon=epsilon, delta=DELTA)
            readers[epsilon] = from_connection(frame, metadata=metadata(len(frame)), privacy=privacy)
        return readers[epsilon]

    results = []
    for (question, sql), epsilon in itertools.product(QUESTIONS.items(), epsilons):
        result = {"question": question, "epsilon": epsilon}
        try:
            statistics = round(float(reader_at(1.0).get_privacy_cost(sql)[0]))
            reader = reader_at(float(epsilon) / statistics)
            result["answers"] = [ask(reader, sql) for _ in range(int(repetitions))]
        except ValueError as error:
            result["refused"] = str(error)
        results.append(result)
    json.dump(results, sys.stdout)


main()
