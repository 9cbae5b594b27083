#!/usr/bin/env python3
"""Real processes: how many bytes they send, to the byte, and that many workers in step are one worker."""
import array
import json
import math
import os
import random
import struct
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["THALWEG_TEST_PROGRAM"]
PATIENCE_S = 120
SHARDS, ROWS, BATCH = 4, 320, 32  # Rows of a file, and of a shard's step.


def run(*words):
    done = subprocess.run([PROGRAM, *words, "--json"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return json.loads(done.stdout.strip().splitlines()[-1])


def sent_by_ranks(ranks, size, route, transport, op="all-reduce"):
    """In both halves of the table, of one operation, by rank."""
    result = run("bench", "exchange", "--ranks", str(ranks), "--bytes", size, "--iterations", "1", "--op", op,
                 "--route", route, "--transport", transport)
    row = result["results"][0]
    assert row["out_of_place"]["bytes_sent"] == row["in_place"]["bytes_sent"]
    return row["in_place"]["bytes_sent"]


def tensors(folder):
    """The arrays of a model directory by table and name."""
    found = {}
    with open(os.path.join(folder, "model.json"), encoding="utf-8") as text:
        tables = json.load(text)["tables"]
    for table in tables:
        with open(os.path.join(folder, table["file"]), "rb") as file:
            raw = file.read()
        (length,) = struct.unpack_from("<Q", raw)
        header = json.loads(raw[8:8 + length])
        header.pop("__metadata__", None)
        for name, tensor in header.items():
            begin, end = tensor["data_offsets"]
            values = array.array({"U64": "Q", "F32": "f"}[tensor["dtype"]])
            values.frombytes(raw[8 + length + begin:8 + length + end])
            found[table["name"], name] = values
    return found


class BytesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def write_parts(self, line):
        """A file for each shard, smaller than a chunk of plain text, so that each shard reads its own."""
        parts = [[line() for _ in range(ROWS)] for _ in range(SHARDS)]
        for number, rows in enumerate(parts):
            with open(self.path("part-%d.svm" % number), "w", encoding="ascii") as out:
                self.assertLess(out.write("".join(rows)), 16384)
        return parts

    def test_a_ring_sends_what_its_formula_says(self):
        size = 61440  # Of each number of ranks a multiple, in floats.
        for ranks in (2, 3, 4, 8, 16):
            for transport in ("tcp", "shm"):
                one_way = (ranks - 1) * size // ranks
                self.assertEqual(sent_by_ranks(ranks, "60K", "ring", transport), [2 * one_way] * ranks)
                for op in ("reduce-scatter", "all-gather"):
                    self.assertEqual(sent_by_ranks(ranks, "60K", "ring", transport, op), [one_way] * ranks)

    def test_a_chain_sends_the_whole_vector_there_and_back(self):
        self.assertEqual(sum(sent_by_ranks(4, "60K", "chain", "tcp")), 2 * 3 * 61440)

    def test_adding_up_inside_a_machine_cuts_what_leaves_it_by_its_workers(self):
        chance = random.Random(1)
        self.write_parts(lambda: "%d %s\n" % (chance.randint(0, 1),
                                              " ".join("%d:.%d" % (i, chance.randint(1, 9)) for i in range(1, 6))))
        pushed, digests = {"none": math.inf, "machine": math.inf}, set()
        # What is sent again, as on a machine that is busy, only adds to it.
        for _ in range(8):
            for combine, least in pushed.items():
                result = run("train", self.path("part-*.svm"), "--data-shards", str(SHARDS), "--workers", str(SHARDS),
                             "--servers", "2", "--processes", "--batch", str(SHARDS * BATCH), "--epochs", "3",
                             "--combine", combine)
                pushed[combine] = min(least, result["pushed_bytes"])
                digests.add(result["model_digest"])
            if pushed["none"] == SHARDS * pushed["machine"]:
                break
        self.assertEqual(pushed["none"], SHARDS * pushed["machine"])
        self.assertEqual(len(digests), 1)

    def test_workers_in_step_are_one_worker_with_all_their_rows(self):
        chance = random.Random(2)

        def line():
            ids = sorted(chance.sample(range(1, 60), 5))
            label = chance.random() < 0.2 + 0.1 * (sum(ids) % 7)
            return "%d %s\n" % (label, " ".join("%d:1" % i for i in ids))

        parts = self.write_parts(line)
        with open(self.path("all.svm"), "w", encoding="ascii") as out:
            for step in range(0, ROWS, BATCH):
                for rows in parts:
                    out.writelines(rows[step:step + BATCH])
        models = []
        steps = 200
        for file, workers in (("part-*.svm", SHARDS), ("all.svm", 1)):
            result = run("train", self.path(file), "--data-shards", str(workers), "--workers", str(workers),
                         "--processes", "--batch", str(SHARDS * BATCH), "--epochs", str(steps * BATCH // ROWS),
                         "--optimizer", "sgd", "--rate", "0.01", "--out", self.path("model-%d" % workers))
            self.assertEqual(result["examples"], steps * SHARDS * BATCH)
            self.assertEqual(result["staleness_max"], 0)
            models.append(tensors(result["model"]))
        many, one = models
        self.assertEqual(many["weights", "keys"], one["weights", "keys"])
        for name in (("weights", "rows"), ("bias", "rows")):
            self.assertLessEqual(max(abs(a - b) for a, b in zip(many[name], one[name])), 1e-6)
        self.assertGreater(max(map(abs, one["weights", "rows"])), 0.1)


if __name__ == "__main__":
    unittest.main()
