#!/usr/bin/env python3
"""Trains on raw files with no flag but the label's, and holds the figures to those of columns told by hand.

raw_files_test.py THALWEG SOURCE_DIR. One file is made here, in the shape of Avazu's click logs: numbers that are ids, an hour as
14102100, ids that differ in each row. The other is MovieLens 100k as CSV, from $THALWEG_TEST_DATA; where that is not there the test
counts as skipped (77).
"""

import json
import os
import subprocess
import sys
import tempfile

import numpy as np

ROWS = 60000
IDS = {"site_id": 2000, "site_domain": 1500, "site_category": 22, "app_id": 1500, "app_domain": 150, "app_category": 28,
       "device_id": 8000, "device_ip": 20000, "device_model": 3000}
NUMBERS = {"C1": range(1001, 1013), "banner_pos": range(8), "device_type": (0, 1, 2, 4, 5), "device_conn_type": (0, 2, 3, 5),
           "C14": range(15700, 24000, 9), "C15": (120, 216, 300, 320, 480, 728, 768, 1024), "C16": (20, 36, 50, 90, 250, 320, 480, 768),
           "C17": range(1700, 2760, 5), "C18": range(4), "C19": (35, 39, 163, 167, 297, 547, 1063, 1319),
           "C20": (-1, *range(100000, 100100)), "C21": (13, 15, 16, 17, 20, 23, 32, 33, 43, 79, 157, 221)}


def make_clicks(path):
    """Rows sorted by hour; each value of each column has a weight of its own in the log odds."""
    random = np.random.default_rng(7)
    hours = np.sort(random.integers(0, 240, ROWS))
    columns = {"id": random.integers(10**18, 9 * 10**18, ROWS), "click": None,
               "hour": 14102100 + 100 * (hours // 24) + hours % 24}
    odds = -1.9 + 0.25 * np.sin(hours % 24 / 24 * 2 * np.pi)
    choices = {name: [f"{i * 2654435761 % 2**32:08x}" for i in range(count)] for name, count in IDS.items()} | NUMBERS
    for name, values in choices.items():
        share = 1 / np.arange(1, len(values) + 1) ** 1.1
        drawn = random.permutation(len(values))[random.choice(len(values), size=ROWS, p=share / share.sum())]
        odds += random.normal(0, 0.35, len(values))[drawn]
        columns[name] = np.array(values)[drawn]
    columns["click"] = (random.random(ROWS) < 1 / (1 + np.exp(-odds))).astype(int)
    with open(path, "w") as file:
        file.write(",".join(columns) + "\n")
        for row in zip(*(column.tolist() for column in columns.values())):
            file.write(",".join(map(str, row)) + "\n")


def train(thalweg, *arguments):
    """The last line of JSON, and what people read."""
    done = subprocess.run([thalweg, "train", *arguments, "--json"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


def clicks(thalweg, folder):
    file = os.path.join(folder, "avazu.csv")
    make_clicks(file)
    raw, words = train(thalweg, file, "--valid-part", "10")
    told, _ = train(thalweg, file, "--valid-part", "10", "--columns", "id:-,*:cat")
    print(f"clicks: auc {raw['valid_auc']:.4f}, told {told['valid_auc']:.4f}")
    assert raw["valid_auc"] >= 0.70 and raw["valid_auc"] >= told["valid_auc"] - 0.005
    kinds = {line.split()[0]: line.split()[1] for line in words.splitlines() if line.startswith("  ")}
    assert kinds["id"] == "-" and kinds["hour"] == kinds["C14"] == kinds["C20"] == kinds["site_id"] == "cat", kinds
    for optimizer in ("sgd", "adagrad"):
        other, _ = train(thalweg, file, "--valid-part", "10", "--optimizer", optimizer)
        assert other["valid_auc"] >= 0.68, (optimizer, other["valid_auc"])


def movies(thalweg, folder, data):
    files = {}
    for part in ("base", "test"):
        files[part] = os.path.join(folder, part + ".csv")
        with open(os.path.join(data, "ml-100k", "u1." + part)) as tabs, open(files[part], "w") as commas:
            commas.write("user,item,rating,timestamp\n" + tabs.read().replace("\t", ","))
    flags = (files["base"], "--valid", files["test"], "--model", "fm", "--loss", "squared", "--epochs", "10")
    raw, _ = train(thalweg, *flags, "--label-column", "rating")
    told, _ = train(thalweg, *flags, "--columns", "user:cat,item:cat,rating:label,timestamp:-")
    print(f"movies: rmse {raw['valid_rmse']:.4f}, told {told['valid_rmse']:.4f}")
    assert raw["valid_rmse"] <= told["valid_rmse"] + 0.01


def main():
    thalweg, source = sys.argv[1:3]
    data = os.environ.get("THALWEG_TEST_DATA", os.path.join(source, "..", "shared", "data"))
    with tempfile.TemporaryDirectory() as folder:
        clicks(thalweg, folder)
        if not os.path.isdir(os.path.join(data, "ml-100k")):
            print("skipped: no ml-100k at $THALWEG_TEST_DATA")
            return 77
        movies(thalweg, folder, data)
    return 0


if __name__ == "__main__":
    sys.exit(main())
