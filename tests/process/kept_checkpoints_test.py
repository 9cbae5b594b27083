#!/usr/bin/env python3
"""Jobs with a state and checkpoints: the one outlives their scheduler, from the others they go on where they have failed."""
import os
import random
import subprocess
import time
import unittest

from checkpoint_names import complete_in
from cluster_jobs import COUNTED, PATIENCE_S
from etcd_server import Etcd
from kept_jobs import KeptJobs
from programs import PROGRAM


class KeptCheckpointsTest(KeptJobs):
    def setUp(self):
        super().setUp()
        self.kept = self.state + ".kept"
        self.flags = ("--checkpoint", self.kept, "--checkpoint-every", "20-steps", "--resume", "auto")

    def job(self, *flags, **more):
        return self.scheduler_command(*self.flags, *flags, **more)

    def await_checkpoint(self, later_than):
        deadline = time.monotonic() + PATIENCE_S
        while max(complete_in(self.kept), default=(0, 0)) <= later_than:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.005)
        return max(complete_in(self.kept))

    def assert_whole(self):
        done = subprocess.run([PROGRAM, "ckpt", "verify", self.kept], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(len(os.listdir(self.kept)), len(complete_in(self.kept)), os.listdir(self.kept))

    def end_well(self, nodes):
        for node in nodes:
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0, node.communicate())

    # Some of them with a checkpoint under way, and with one that is stored and not yet in its place.
    def test_checkpoints_go_on_with_the_next_scheduler(self):
        chance = random.Random(7)
        scheduler = self.start(*self.job("--checkpoint-whole-every", "3"))
        nodes = self.start_nodes()
        newest = (0, 0)
        for _ in range(4):
            newest = self.await_checkpoint(newest)
            time.sleep(chance.random() * 0.1)
            scheduler.kill()
            scheduler.wait()
            newest = max(complete_in(self.kept))
            scheduler = self.start(*self.job("--checkpoint-whole-every", "3"))
        self.assertGreater(self.await_checkpoint(newest), newest)
        self.assertNotEqual(self.ask("status")["last_checkpoint"], "")
        self.assert_as_undisturbed(scheduler)
        self.end_well(nodes)
        self.assert_whole()
        self.refused("the job that is kept there is over", *self.flags, "--checkpoint-whole-every", "3", code=1)

    def test_a_job_that_has_failed_goes_on_from_its_checkpoint(self):
        self.fail_and_go_on()

    def test_a_job_that_has_failed_in_an_etcd_goes_on_from_its_checkpoint(self):
        self.state = "etcd://%s/jobs/kept" % Etcd(self).address
        self.fail_and_go_on()

    # Whatever has happened, it is the same command that goes on.
    def fail_and_go_on(self):
        command = self.job("--replicas", "1")
        scheduler = self.start(*command)
        nodes = self.start_nodes()
        self.await_checkpoint((3, 0))
        nodes[0].kill()
        _, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 5, err)
        self.assertIn("go on from %s" % self.kept, err)
        for node in nodes:
            node.wait(timeout=PATIENCE_S)
        failed_at = max(complete_in(self.kept))
        self.refused("the job that is kept there is over", "--checkpoint", self.kept, "--replicas", "1", code=1)

        scheduler = self.start(*command)
        nodes = self.start_nodes()
        newest = self.await_checkpoint(failed_at)
        scheduler.kill()
        _, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertIn("the job that --state has kept is over; another one takes its place there", err)
        self.assertIn("goes on from %s" % self.kept, err)
        scheduler = self.start(*command)  # This time it is the job that goes on, not one of its checkpoints.
        self.assertGreater(self.await_checkpoint(newest), newest)
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        self.assertNotIn("goes on from", err)
        self.assertIn('"model_digest":"%s"' % self.calm["model_digest"], out.replace(": ", ":"))
        self.end_well(nodes)
        self.assert_whole()

    # The scheduler is killed before the job fails, and after another has begun from the newest checkpoint.
    def test_each_push_of_free_steps_counts_once(self):
        work = ("--epochs", "40", "--batch", "256", "--keep", "last", *COUNTED)
        self.run_job(*work, "--out", self.state + ".calm", "--valid", self.valid)
        calm = self.weights_of(self.state + ".calm")
        out = self.state + ".model"
        command = self.job("--replicas", "1", "--algorithm", "async", "--out", out, work=work)
        failed_at = (0, 0)
        for victim in (1, 0, None):
            scheduler = self.start(*command)
            nodes = self.start_nodes()
            newest = self.await_checkpoint(failed_at)
            scheduler.kill()
            scheduler.wait()
            scheduler = self.start(*command)
            self.await_checkpoint(newest)
            if victim is None:
                break
            nodes[victim].kill()
            _, err = scheduler.communicate(timeout=PATIENCE_S)
            self.assertEqual(scheduler.returncode, 5, err)
            for node in nodes:
                node.wait(timeout=PATIENCE_S)
            failed_at = max(complete_in(self.kept))
        _, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        self.end_well(nodes)
        self.assert_counted_as(calm, out)
        self.assert_whole()

    def test_checkpoints_of_another_training_are_refused(self):
        os.makedirs(os.path.join(self.kept, "step-1.0"))
        self.refused("there are checkpoints of another training", "--checkpoint", self.kept)


if __name__ == "__main__":
    unittest.main()
