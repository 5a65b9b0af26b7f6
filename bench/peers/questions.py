"""The questions that every system is asked, on what table, and what is declared about it."""

import csv
import statistics

TABLE = "flights"

# What an owner knows about flights without looking at these. Values are clamped to the bounds by every system.
BOUNDS = {"dep_delay": (-30, 180), "air_time": (0, 700), "distance": (0, 5000)}
CATEGORIES = {
    "origin": ["EWR", "JFK", "LGA"],
    "carrier": ["9E", "AA", "AS", "B6", "DL", "EV", "F9", "FL", "HA", "MQ", "OO", "UA", "US", "VX", "WN", "YV"],
}
BIN = 250

# The groups that count: relative errors of a handful of rows say nothing, with any system.
LEAST_ROWS = 100

QUESTIONS = {
    "count": "SELECT COUNT(*) AS answer FROM flights WHERE origin = 'JFK'",
    "sum": "SELECT SUM(distance) AS answer FROM flights",
    "average": "SELECT AVG(air_time) AS answer FROM flights",
    "average by group": "SELECT carrier, AVG(air_time) AS answer FROM flights GROUP BY carrier",
    "cross-table": "SELECT origin, carrier, COUNT(*) AS answer FROM flights GROUP BY origin, carrier",
    # A small airline: among all flights every system finds the exact median, as hundreds of them share each minute.
    "median": "SELECT MEDIAN(air_time) AS answer FROM flights WHERE carrier = 'AS'",
    "variance": "SELECT VARIANCE(dep_delay) AS answer FROM flights",
    "histogram": f"SELECT FLOOR(distance / {BIN}) * {BIN} AS bin, COUNT(*) AS answer FROM flights "
    f"GROUP BY FLOOR(distance / {BIN}) * {BIN}",
}


def cell(groups):
    """The name of a group: its values as text, whole numbers without a point."""
    return " ".join(str(int(value)) if isinstance(value, float) else str(value) for value in groups)


def read(path):
    """The rows, with numbers clamped to their bounds."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        for column, (low, high) in BOUNDS.items():
            row[column] = min(max(int(row[column]), low), high)
    return rows


def truths(path):
    """Every question's exact answer by cell, on clamped values, for the cells that count."""
    rows = read(path)
    everything = lambda row: ()
    carrier = lambda row: (row["carrier"],)
    both = lambda row: (row["origin"], row["carrier"])
    bins = lambda row: (row["distance"] // BIN * BIN,)
    values = lambda column, function: lambda group: function([row[column] for row in group])
    return {
        "count": by_cell([row for row in rows if row["origin"] == "JFK"], everything, len),
        "sum": by_cell(rows, everything, values("distance", sum)),
        "average": by_cell(rows, everything, values("air_time", statistics.fmean)),
        "average by group": by_cell(rows, carrier, values("air_time", statistics.fmean)),
        "cross-table": by_cell(rows, both, len),
        "median": by_cell([row for row in rows if row["carrier"] == "AS"], everything, values("air_time", statistics.median)),
        "variance": by_cell(rows, everything, values("dep_delay", statistics.variance)),
        "histogram": by_cell(rows, bins, len),
    }


def by_cell(rows, key, aggregate):
    groups = {}
    for row in rows:
        groups.setdefault(cell(key(row)), []).append(row)
    return {name: aggregate(group) for name, group in groups.items() if len(group) >= LEAST_ROWS}
