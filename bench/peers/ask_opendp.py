"""Asks OpenDP through its Polars API, and prints the answers as JSON.

Configured as its user guide does, and fairly beside the others: one row per unit, add/remove neighbours (`contributions=1`), pure ε
for the whole question, the bounds of `questions.py`, the declared categories as public keys, and integer columns, so that the noise
is discrete. The guide's averages are a noisy sum and a noisy length. A variance is not in its Polars API: it is made by hand from
the sums of values and of squares and the length, which share ε evenly. The candidates of the median are the grid of whole minutes.
"""

import itertools
import json
import sys
import warnings

import opendp.prelude as dp
import polars as pl
from questions import BIN, BOUNDS, CATEGORIES, cell

warnings.filterwarnings("ignore", category=FutureWarning)
dp.enable_features("contrib")


def total(column):
    return pl.col(column).fill_null(0).dp.sum(BOUNDS[column])


def keys(*columns):
    values = itertools.product(*(CATEGORIES[column] for column in columns))
    return pl.LazyFrame(list(values), schema=list(columns), orient="row")


def average(row):
    return row["air_time"] / row["len"] if row["len"] else None


def variance(row):
    """From what is released: sums around 0, as the bounds of the squares are given for these."""
    n = row["len"]
    return (row["square"] - row["dep_delay"] ** 2 / n) / (n - 1) if n > 1 else None


def asks():
    """Every question: the query, the columns of its groups, and the answer from a row of the release."""
    length = lambda row: row["len"]
    only = lambda column: lambda row: row[column]
    low, high = BOUNDS["dep_delay"]
    delay = pl.col.dep_delay.clip(low, high)
    bins = (pl.col.distance // BIN * BIN).alias("bin")
    all_bins = pl.LazyFrame({"bin": range(0, BOUNDS["distance"][1] + 1, BIN)})
    alaska = pl.col.carrier == "AS"
    minutes = list(range(BOUNDS["air_time"][0], BOUNDS["air_time"][1] + 1))
    return {
        "count": (lambda q: q.filter(pl.col.origin == "JFK").select(dp.len()), [], length),
        "sum": (lambda q: q.select(total("distance")), [], only("distance")),
        "average": (lambda q: q.select(total("air_time"), dp.len()), [], average),
        "average by group": (
            lambda q: q.group_by("carrier").agg(total("air_time"), dp.len()).with_keys(keys("carrier")), ["carrier"], average),
        "cross-table": (
            lambda q: q.group_by("origin", "carrier").agg(dp.len()).with_keys(keys("origin", "carrier")),
            ["origin", "carrier"], length),
        "median": (
            lambda q: q.filter(alaska).select(pl.col.air_time.fill_null(0).dp.median(minutes)), [], only("air_time")),
        "variance": (
            lambda q: q.with_columns((delay * delay).alias("square")).select(
                total("dep_delay"), pl.col.square.fill_null(0).dp.sum((0, max(low * low, high * high))), dp.len()),
            [], variance),
        "histogram": (
            lambda q: q.with_columns(bins).group_by("bin").agg(dp.len()).with_keys(all_bins), ["bin"], length),
    }


def ask(frame, query, groups, answer, epsilon, repetitions):
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=1),
        privacy_loss=dp.loss_of(epsilon=epsilon),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=1_000_000)],
    )
    # The search for the scale of the noise takes a second, so it is done once for all repetitions.
    measurement = query(context.query()).resolve()
    releases = (measurement(frame).collect().to_dicts() for _ in range(repetitions))
    return [{cell(row[group] for group in groups): answer(row) for row in release} for release in releases]


def main():
    path, repetitions, *epsilons = sys.argv[1:]
    frame = pl.scan_csv(path)
    results = []
    for (question, parts), epsilon in itertools.product(asks().items(), epsilons):
        answers = ask(frame, *parts, float(epsilon), int(repetitions))
        results.append({"question": question, "epsilon": epsilon, "answers": answers})
    json.dump(results, sys.stdout)


main()
