#!/usr/bin/env python3
"""Measures training of a perceptron on MNIST beside PyTorch, in turn: samples a second, medians [least..greatest].

bench/dense.py IMAGES [ROUNDS]   IMAGES: a directory with the four files of MNIST, gzipped. Needs python3-torch and a
                                 release build. Thalweg's rate is its samples_per_second: from when all shards were ready to
                                 read, with the unpacking of the images and the scoring of 10,000 held-out ones after each
                                 pass; PyTorch has them in memory, scores none, and is timed after a pass of warming up.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
THALWEG, PEER = ROOT / "build/release/thalweg", ROOT / "bench/peers/perceptron.py"
BATCH, EPOCHS = 128, 5  # Rows of a worker's step.


def thalweg(images, *more):
    command = [THALWEG, "train", images, "--model", "mlp", "--epochs", str(EPOCHS), "--json", "--quiet", *more]
    return json.loads(subprocess.run(command, check=True, text=True, capture_output=True).stdout)["samples_per_second"]


def torch(images, ranks, threads):
    with tempfile.TemporaryDirectory() as folder:
        command = ["/usr/bin/python3", PEER]
        started = [subprocess.Popen([*command, *map(str, (rank, ranks, threads, BATCH, EPOCHS, f"{folder}/store"))],
                                    env=dict(os.environ, IMAGES=images), stdout=subprocess.PIPE, text=True)
                   for rank in range(ranks)]
        outputs = [process.communicate()[0] for process in started]
        assert all(process.returncode == 0 for process in started), "PyTorch failed"
        return float(outputs[0])


def main():
    images, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    cases = {
        "Thalweg, 2 workers on threads, 2 x 128": lambda: thalweg(images, "--batch", "256"),
        "Thalweg, 2 worker processes, 2 x 128, --exchange auto": lambda: thalweg(
            images, "--batch", "256", "--processes", "--workers", "2", "--exchange", "auto"),
        "Thalweg, 2 worker processes, 2 x 128, by a server": lambda: thalweg(
            images, "--batch", "256", "--processes", "--workers", "2"),
        "Thalweg, 1 worker, 128": lambda: thalweg(images, "--batch", "128", "--data-shards", "1", "--threads", "1"),
        "PyTorch, DistributedDataParallel over Gloo, 2 processes, 2 x 128": lambda: torch(images, 2, 1),
        "PyTorch, 1 process of 2 threads, 128": lambda: torch(images, 1, 2),
        "PyTorch, 1 process of 1 thread, 128": lambda: torch(images, 1, 1),
    }
    values = {name: [] for name in cases}
    for _ in range(rounds):
        for name, run in cases.items():
            values[name].append(run())
    print("| MLP 784-512-512-10, Adagrad, rows of a step | samples/s |\n|---|---|")
    for name, all_of_it in values.items():
        print(f"| {name} | {statistics.median(all_of_it):,.0f} [{min(all_of_it):,.0f}..{max(all_of_it):,.0f}] |")


if __name__ == "__main__":
    main()
