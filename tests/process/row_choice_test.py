#!/usr/bin/env python3
"""Which rows and features are learnt, and in which order, does not depend on who trains: threads or processes."""
import json
import os
import random
import subprocess
import tempfile
import unittest

from programs import PROGRAM, ProgramTest, patience


class RowChoice(ProgramTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "clicks.svm")
        chance = random.Random(5)
        rows = sorted("%d %s\n" % (chance.random() < 0.2, " ".join("%d:1" % (chance.random() ** 3 * 3000) for _ in range(6)))
                      for _ in range(12000))
        with open(self.file, "w", encoding="utf-8") as out:
            out.writelines(rows)

    def train(self, *words):
        done = subprocess.run([PROGRAM, "train", self.file, "--valid-part", "10", "--epochs", "2", "--memory", "2G",
                               "--json", *words], capture_output=True, text=True, timeout=patience(120),
                              stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def test_processes_have_the_bits_of_threads(self):
        plain, said = self.train("--keep-bad")
        self.assertIn("rows are sorted", said)
        for words in (("--shuffle", "rows"), ("--shuffle", "blocks", "--keep-bad"),
                      ("--shuffle", "rows", "--min-count", "4", "--pos-weight", "3", "--negative-sample", "0.5")):
            with self.subTest(words=words):
                one, said = self.train(*words)
                self.assertNotIn("rows are sorted", said)
                self.assertNotEqual(one["model_digest"], plain["model_digest"])
                several, _ = self.train(*words, "--processes", "--servers", "2", "--workers", "3")
                self.assertEqual(several["model_digest"], one["model_digest"])
                self.assertEqual(several["examples"], one["examples"])
        self.assertLess(one["model_rows"], plain["model_rows"])
        self.assertLess(one["examples"], 0.7 * plain["examples"])
        self.assertLess(abs(one["valid_calibration"] - 1), 0.4, "the odds that are learnt are six times as large")

    def test_standard_input_is_shuffled_and_not_counted(self):
        for words, code in ((("--shuffle", "rows"), 0), (("--min-count", "2"), 2)):
            with open(self.file, "rb") as rows:
                done = subprocess.run([PROGRAM, "train", "-", *words, "--keep-bad"], stdin=rows, capture_output=True,
                                      text=True, timeout=patience(60))
            self.assertEqual(done.returncode, code, done.stderr)


if __name__ == "__main__":
    unittest.main()
