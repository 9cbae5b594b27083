#!/usr/bin/env python3
"""Measures training of deepfm on click logs beside PyTorch, in turn: rows a second, medians [least..greatest].

bench/clicks.py [ROUNDS]   Needs python3-torch and a release build. Rows are those of `thalweg data synth --format libffm`, ids
                           hashed to 20 bits, 1024 of them a worker's step. Thalweg reads them as text, and its rate is
                           samples_per_second; PyTorch has them in memory, and its rate is that of its loop.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
THALWEG, PEER = ROOT / "build/release/thalweg", ROOT / "bench/peers/deepfm.py"
BATCH, STEPS, ROWS = 1024, 90, 200_000


def thalweg(rows, workers, *more):
    command = [THALWEG, "train", rows, "--model", "deepfm", "--hash-bits", "20", "--batch", str(workers * BATCH), "--data-shards",
               str(workers), "--json", "--quiet", *more]
    return json.loads(subprocess.run(command, check=True, text=True, capture_output=True).stdout)["samples_per_second"]


def torch(rows, ranks, threads):
    with tempfile.TemporaryDirectory() as folder:
        started = [subprocess.Popen(["/usr/bin/python3", PEER,
                                     *map(str, (rank, ranks, threads, BATCH, STEPS, f"{folder}/store"))],
                                    env=dict(os.environ, ROWS=rows), stdout=subprocess.PIPE, text=True)
                   for rank in range(ranks)]
        outputs = [process.communicate()[0] for process in started]
        assert all(process.returncode == 0 for process in started), "PyTorch failed"
        return float(outputs[0])


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.NamedTemporaryFile(suffix=".ffm") as rows:
        subprocess.run([THALWEG, "data", "synth", "--rows", str(ROWS), "--format", "libffm", "-o", rows.name],
                       check=True, stdout=subprocess.DEVNULL)
        cases = {
            "Thalweg, 2 workers on threads": lambda: thalweg(rows.name, 2),
            "Thalweg, 2 worker processes, a server": lambda: thalweg(rows.name, 2, "--processes", "--workers", "2"),
            "Thalweg, 2 worker processes, `--exchange dense:auto`": lambda: thalweg(
                rows.name, 2, "--processes", "--workers", "2", "--exchange", "dense:auto"),
            "Thalweg, 2 worker processes, `--exchange auto`": lambda: thalweg(
                rows.name, 2, "--processes", "--workers", "2", "--exchange", "auto"),
            "Thalweg, 1 worker": lambda: thalweg(rows.name, 1, "--threads", "1"),
            "PyTorch, DistributedDataParallel over Gloo, 2 processes": lambda: torch(rows.name, 2, 1),
            "PyTorch, 1 process of 2 threads": lambda: torch(rows.name, 1, 2),
        }
        values = {name: [] for name in cases}
        for _ in range(rounds):
            for name, run in cases.items():
                values[name].append(run())
    print("| deepfm, rank 8, layers 64,32, 39 fields, 1024 rows a worker | rows/s |\n|---|---|")
    for name, all_of_it in values.items():
        print(f"| {name} | {statistics.median(all_of_it):,.0f} [{min(all_of_it):,.0f}..{max(all_of_it):,.0f}] |")


if __name__ == "__main__":
    main()
