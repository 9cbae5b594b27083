#!/usr/bin/env python3
"""Measures training of a transformer beside PyTorch, in turn: tokens a second, medians [least..greatest].

bench/text.py TEXT [ROUNDS]   TEXT: a file of a megabyte or so. Needs python3-torch and a release build.
                              A worker's step has 16 windows of 128 bytes; a run has 50 steps. The rate is that
                              of the steps, without the start of processes: samples_per_second, and PyTorch's loop.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
THALWEG, PEER = ROOT / "build/release/thalweg", ROOT / "bench/peers/transformer.py"
WINDOWS, CONTEXT, STEPS = 16, 128, 50
BYTES_OF_WORKER = WINDOWS * CONTEXT * STEPS


def thalweg(text, workers, *more):
    with tempfile.NamedTemporaryFile() as part, tempfile.NamedTemporaryFile() as held_out:
        with open(text, "rb") as whole:
            part.write(whole.read(workers * BYTES_OF_WORKER + 1))
            held_out.write(whole.read(2 * CONTEXT))  # PyTorch's loop holds nothing out.
        part.flush(), held_out.flush()
        command = [THALWEG, "train", part.name, "--model", "gpt", "--batch", str(workers * WINDOWS), "--epochs", "1",
                   "--valid", held_out.name, "--json", "--quiet", *more]
        report = json.loads(subprocess.run(command, check=True, text=True, capture_output=True).stdout)
    exposed = report["exchange_seconds_exposed"] / report["seconds"]
    return report["samples_per_second"] * CONTEXT, exposed


def torch(text, ranks):
    with tempfile.TemporaryDirectory() as folder:
        started = [subprocess.Popen(["/usr/bin/python3", PEER,
                                     *map(str, (rank, ranks, 1, WINDOWS, STEPS, f"{folder}/store"))],
                                    env=dict(os.environ, TEXT=text), stdout=subprocess.PIPE, text=True)
                   for rank in range(ranks)]
        outputs = [process.communicate()[0] for process in started]
        assert all(process.returncode == 0 for process in started), "PyTorch failed"
        return float(outputs[0]), None


def main():
    text, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    cases = {
        "Thalweg, 1 worker": lambda: thalweg(text, 1, "--data-shards", "1", "--threads", "1"),
        "Thalweg, 2 worker processes, `--exchange auto`": lambda: thalweg(
            text, 2, "--processes", "--workers", "2", "--exchange", "auto"),
        "PyTorch, 1 process of 1 thread": lambda: torch(text, 1),
        "PyTorch, DistributedDataParallel over Gloo, 2 processes": lambda: torch(text, 2),
    }
    values = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            values[name].append(run())
    print("| gpt 4 x 128, 16 windows of 128 a worker | tokens/s | of it waiting for the exchange |\n|---|---|---|")
    for name, all_of_it in values.items():
        rates, exposed = [rate for rate, _ in all_of_it], [share for _, share in all_of_it if share is not None]
        waiting = f"{100 * statistics.median(exposed):.1f} %" if exposed else ""
        print(f"| {name} | {statistics.median(rates):,.0f} [{min(rates):,.0f}..{max(rates):,.0f}] | {waiting} |")


if __name__ == "__main__":
    main()
