#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Reads the golden JSON and CSV with Python's own parsers and compares them:
every leaf of a point stands in its CSV row under the joined name."""
import csv
import json
import math
import sys

json_path, csv_path = sys.argv[1:3]


def refuse(word):
    raise ValueError("not a JSON number: " + word)


report = json.load(open(json_path, encoding="utf-8"), parse_constant=refuse)
raw = open(csv_path, newline="", encoding="utf-8").read()
assert raw.count("\r\n") == len(report["points"]) + 1, "one CRLF a row"
rows = list(csv.DictReader(raw.splitlines(), strict=True))
assert len(rows) == len(report["points"])


def leaves(point):
    for key, value in point.items():
        if isinstance(value, dict):
            for inner, leaf in value.items():
                yield key + "_" + inner, leaf
        elif key != "ranks":
            yield key, value


def same(cell, leaf):
    if leaf is None:
        return cell == ""
    if isinstance(leaf, bool):
        return cell == str(leaf).lower()
    if isinstance(leaf, list):
        return cell == ";".join(leaf)
    if isinstance(leaf, str):
        return cell == leaf
    return math.isclose(float(cell), leaf, rel_tol=1e-10, abs_tol=0)


for row, point in zip(rows, report["points"]):
    names = [name for name, _ in leaves(point)]
    assert names == list(row), set(names) ^ set(row)
    for name, leaf in leaves(point):
        assert same(row[name], leaf), (name, row[name], leaf)
print(len(rows), "rows,", len(rows[0]), "columns: equal")
