#!/usr/bin/env python3
"""Schedulers that are killed while they keep the best model so far: the next one ends with that of the same pass."""
import os
import random
import shutil
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S, last_json
from kept_jobs import KeptJobs
from programs import PROGRAM, times

BEST = ("--epochs", "40", "--batch", "256", "--keep", "best")
PATIENT = ("--epochs", "400", "--batch", "256", "--keep", "best", "--patience", "30")
SAME = ("model_digest", "best_epoch", "kept_epoch", "valid_loss", "train_loss", "examples", "steps")


class KeptBestTest(KeptJobs):
    def setUp(self):
        super().setUp()
        self.out = self.state + ".model"

    def models(self):
        return sorted(name for name in os.listdir(self.state) if name.startswith("best-"))

    def digest(self, model):
        done = subprocess.run([PROGRAM, "model", "digest", model], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return done.stdout.strip()

    def assert_ends_as(self, calm, scheduler, nodes):
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        result = last_json(out)
        for what in SAME:
            self.assertEqual(result[what], calm[what], what)
        self.assertEqual(len(result["history"]), len(calm["history"]))
        self.assertEqual(self.digest(self.out), calm["model_digest"])
        self.assertEqual(self.models(), [])
        for node in nodes:
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0, node.communicate())

    def kill(self, process):
        process.kill()
        process.communicate()

    # Some of them while they write one, or just have.
    def test_the_best_pass_is_the_same_whoever_takes_the_job_up(self):
        calm = self.undisturbed(BEST)
        chance = random.Random(5)
        command = self.scheduler_command("--out", self.out, work=BEST)
        scheduler = self.start(*command)
        nodes = self.start_nodes()
        for passes in range(2, 2 + 3 * times(5), 3):
            self.await_reports(passes)
            time.sleep(chance.random() * 0.1)
            self.kill(scheduler)
            self.assertNotEqual(self.models(), [])
            scheduler = self.start(*command)
        self.assert_ends_as(calm, scheduler, nodes)

    def test_patience_ends_with_the_next_scheduler(self):
        calm = self.undisturbed(PATIENT)
        self.assertLess(calm["best_epoch"], len(calm["history"]))
        command = self.scheduler_command("--out", self.out, work=PATIENT)
        scheduler = self.start(*command)
        nodes = self.start_nodes()
        for passes in range(calm["best_epoch"] - 1, calm["best_epoch"] + 2):
            self.await_reports(passes)
            self.kill(scheduler)
            scheduler = self.start(*command)
        self.assert_ends_as(calm, scheduler, nodes)

    # Both ways of going on: a scheduler is followed by another one, then the whole job from its checkpoints.
    def test_with_checkpoints_it_lies_among_them(self):
        calm = self.undisturbed(BEST)
        kept = self.state + ".kept"
        flags = ("--out", self.out, "--checkpoint", kept, "--checkpoint-every", "30-steps", "--resume", "auto")
        command = self.scheduler_command(*flags, work=BEST)
        scheduler = self.start(*command)
        nodes = self.start_nodes()
        self.await_reports(3)
        self.kill(scheduler)
        self.assertEqual(self.models(), [])
        self.assertTrue(any(name.startswith("best-") for name in os.listdir(kept)))
        scheduler = self.start(*command)
        self.await_reports(6)
        for process in (scheduler, *nodes):
            self.kill(process)
        shutil.rmtree(self.state)
        scheduler = self.start(*command)
        nodes = self.start_nodes()
        self.await_reports(9)
        self.kill(scheduler)
        scheduler = self.start(*command)
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        for what in ("model_digest", "best_epoch", "kept_epoch", "valid_loss"):
            self.assertEqual(last_json(out)[what], calm[what], what)
        self.assertEqual(len(last_json(out)["history"]), len(calm["history"]))
        self.assertEqual(self.digest(self.out), calm["model_digest"])
        for node in nodes:
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0, node.communicate())

    def test_where_the_model_is_away_the_job_waits_for_it(self):
        calm = self.undisturbed(BEST)
        scheduler = self.start(*self.scheduler_command(work=BEST))
        nodes = self.start_nodes()
        self.await_reports(3)
        self.kill(scheduler)
        away = self.state + ".away"
        os.mkdir(away)
        for name in self.models():
            shutil.move(os.path.join(self.state, name), away)
        self.refused("the best model so far, of epoch ", work=BEST, code=8)
        for name in os.listdir(away):
            shutil.move(os.path.join(away, name), self.state)
        scheduler = self.start(*self.scheduler_command("--out", self.out, work=BEST))
        self.assert_ends_as(calm, scheduler, nodes)

    def test_an_etcd_has_no_place_for_it(self):
        self.state = "etcd://127.0.0.1:1/job"
        self.refused("needs --out DIR", work=BEST)


if __name__ == "__main__":
    unittest.main()
