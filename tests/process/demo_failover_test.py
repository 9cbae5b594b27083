#!/usr/bin/env python3
"""scripts/demo-failover in small: it ends well, and says so when the models differ."""
import os
import subprocess
import tempfile
import unittest

from programs import PROGRAM, SOURCE, ProgramTest, patience

# Two kills, one right behind the other: the job must be longer than both.
ROWS, PAUSE = "20000", "0.2"


class DemoFailoverTest(ProgramTest):
    def run_demo(self, program):
        return subprocess.run([os.path.join(SOURCE, "scripts", "demo-failover"), ROWS, PAUSE], capture_output=True, text=True,
                              timeout=patience(200), check=False, env=dict(os.environ, THALWEG=program))

    def test_two_killed_servers_change_no_bit(self):
        done = self.run_demo(PROGRAM)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertRegex(done.stdout, r"(?m)^model_digest +([0-9a-f]{16}) +\1$")
        self.assertRegex(done.stdout, r"(?m)^sha256 of rows +([0-9a-f]{16}) +\1$")
        self.assertRegex(done.stdout, r"(?m)^valid_auc +(0\.\d+) +\1$")
        self.assertRegex(done.stdout, r"(?m)^examples +360000 +360000$")  # 18,000 in each of 20 passes.
        self.assertEqual(done.stderr.count("$ kill -9"), 2)
        self.assertRegex(done.stderr, r"key ranges go on at server-\d")

    # A program that trains another model where servers are killed.
    def test_another_model_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            liar = os.path.join(folder, "thalweg")
            with open(liar, "w", encoding="ascii") as script:
                script.write('#!/bin/sh\ncase "$*" in *"--run-dir hurt"*) set -- "$@" --rate 0.2 ;; esac\nexec %s "$@"\n' % PROGRAM)
            os.chmod(liar, 0o755)
            done = self.run_demo(liar)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("error: the models differ", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
