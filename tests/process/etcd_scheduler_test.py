#!/usr/bin/env python3
"""Schedulers whose --state is in an etcd: they and it are killed and come again, the job goes on, its bits stay."""
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S
from etcd_server import Etcd
from kept_jobs import KeptJobs
from programs import PROGRAM


class EtcdSchedulerTest(KeptJobs):
    def setUp(self):
        super().setUp()
        self.etcd = Etcd(self)
        self.state = "etcd://%s/jobs/%s" % (self.etcd.address, self.id().rsplit(".", 1)[1])

    def test_a_killed_scheduler_is_taken_up_and_no_bit_changes(self):
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        self.assertIn("listens on", scheduler.stderr.readline())
        # Before there is any work: that may be done by the time that a second scheduler is refused.
        self.refused("leads the job whose state is there; --standby waits for its turn")
        nodes = self.start_nodes()
        self.await_reports(2)
        scheduler.kill()
        scheduler.wait()
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        self.await_reports(6)
        nodes[0].kill()  # And it still sees to those who are lost.
        result, err = self.assert_as_undisturbed(scheduler)
        self.assertIn("the scheduler has taken the job up as its state has it: 2 servers, 2 workers", err)
        self.assertEqual(len(result["failovers"]), 1)
        for node in nodes[1:]:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())
        self.refused("the job that is kept there is over", code=1)

    def test_nobody_is_lost_while_etcd_is_away(self):
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        nodes = self.start_nodes()
        self.await_reports(2)
        self.etcd.kill()
        time.sleep(1)
        self.assertEqual({node["state"] for node in self.ask("status")["nodes"]}, {"alive"})
        self.etcd.start()
        self.await_reports(6)
        self.etcd.pause()
        time.sleep(5)  # For longer than the lead's lease.
        self.etcd.go_on()
        _, err = self.assert_as_undisturbed(scheduler)
        self.assertIn("the scheduler's state cannot be kept, so that what changes waits", err)
        self.assertIn("the scheduler's state is kept again", err)
        for node in nodes:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_a_job_outlives_an_etcd_that_is_away_for_longer_than_its_timeout(self):
        scheduler = self.start(*self.scheduler_command("--replicas", "2", "--timeout", "3s"))
        nodes = self.start_nodes()
        self.await_reports(2)
        self.etcd.kill()
        time.sleep(6)
        for process in [scheduler, *nodes]:
            self.assertIsNone(process.poll())
        self.etcd.start()
        self.assert_as_undisturbed(scheduler)
        for node in nodes:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_a_state_that_has_gone_back_is_refused_and_a_later_one_is_taken_up(self):
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        nodes = self.start_nodes()
        self.await_reports(2)
        self.etcd.copy("older")
        self.await_reports(4)
        self.etcd.become("older", now="later")
        # The one that leads ends, and has told nobody anything since.
        _, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(scheduler.returncode, 0)
        self.assertIn("the scheduler's state has gone back, such as by an older backup", err)
        # Nor does another one go on from there.
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        _, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(scheduler.returncode, 0)
        self.assertIn("was told what the state of this job does not have", err)
        self.assertIn("Start the scheduler again on a state that is no older", err)
        for node in nodes:
            self.assertIsNone(node.poll())
        self.etcd.become("later")
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        self.assert_as_undisturbed(scheduler)
        for node in nodes:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_what_is_no_state_is_refused(self):
        self.state = "etcd://%s" % self.etcd.address
        self.refused("it has no prefix")
        self.state = "etcd://%s/x" % self.free_address()
        self.refused("Couldn't connect to server", code=1)
        self.refused("certificates are for etcds://", "--state-ca", "ca.pem")
        self.state = self.folder.name + "/a-directory"
        self.refused("--standby is for a state that several machines reach", "--standby")
        done = subprocess.run([PROGRAM, "node", "scheduler", "--listen", self.address, "--standby", self.train], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("go with --state etcd://HOST:PORT/PREFIX", done.stderr)


if __name__ == "__main__":
    unittest.main()
