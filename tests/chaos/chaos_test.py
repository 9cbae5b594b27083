#!/usr/bin/env python3
"""Real jobs that are hurt at random for a minute, and that what may go wrong with them is noticed."""
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest

from hurt_jobs import Broken, HistoryJob
from programs import SANITIZER, ProgramTest, patience

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS = 600 if SANITIZER else 1500
SILENCE_S = patience(5)
KINDS = ("sync", "async", "bounded:2", "train", "cut:async", "full", "kept")
# With a sanitizer, which has its turn every other day, two of them a turn.
TURN = int(os.environ.get("THALWEG_TEST_DAY") or time.time() // 86400) // 2 % 3
PAUSE_S = patience(0.4)  # Faults that come faster than a worker's heir begins let no step end.


class ChaosTest(ProgramTest):
    def start(self, mode, steps, **more):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        job = HistoryJob(os.path.join(folder.name, "job"), mode, steps, silence_s=SILENCE_S, **more)
        self.addCleanup(job.end)
        return job

    def test_a_minute_of_faults_loses_nothing(self):
        kinds = KINDS[TURN::3] if SANITIZER else KINDS
        done = subprocess.run([sys.executable, os.path.join(HERE, "chaos.py"), "--kinds", ",".join(kinds), "--jobs", str(len(kinds)),
                               "--kills", "100000", "--seed", "1", "--steps", str(STEPS), "--epochs", str(STEPS // 100), "--silence",
                               str(SILENCE_S), "--pause", str(PAUSE_S), "--verbose"], capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, "\n".join(reversed(done.stderr.splitlines()[-60:])))  # What went wrong comes first.
        told = json.loads(done.stdout)
        self.assertEqual(told["jobs"], len(kinds))
        self.assertGreater(told["kills"], 5, done.stderr)
        self.assertEqual(told["anomalies"], 0)
        if "full" in kinds and "left out: " not in done.stderr:
            self.assertGreater(told["disk_full"], 0)

    # A push that counts twice, which is one too many in one row.
    def test_a_push_that_counts_twice_is_found(self):
        for more, found in (((), ""), (("twice", "40"), "exactly-once: key ")):
            job = self.start("async", 100, more=more)
            out = job.finish()
            if not found:
                self.assertEqual(job.check(out, None)["anomalies"], 0)
                continue
            with self.assertRaisesRegex(Broken, found):
                job.check(out, None)

    def test_another_end_in_lockstep_is_found(self):
        job = self.start("sync", 100)
        out = job.finish()
        job.check(out, job.calm())
        with self.assertRaisesRegex(Broken, "rows end as digest [0-9a-f]{16}, undisturbed as other"):
            job.check(out, "other")

    # Where key ranges have no copies.
    def test_a_job_that_ends_is_found(self):
        job = self.start("sync", 1000000, replicas=1)
        # The job has begun, with the first map: one that is killed before that did not join, which is another error.
        while (status := job.status()) is None or status["epoch"] == 0:
            self.assertIsNone(job.scheduler.poll())
        job.kill(job.nodes["server"][0])
        with self.assertRaisesRegex(Broken, "lost key ranges"):
            job.finish()


if __name__ == "__main__":
    unittest.main(verbosity=2)
