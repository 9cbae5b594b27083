#!/usr/bin/env python3
"""Schedulers whose --state is in an etcd: they and it are killed and come again, the job goes on, its bits stay."""
import signal
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S
from etcd_server import Etcd, Way
from kept_jobs import WORK, KeptJobs
from programs import PROGRAM

# Workers go on while nobody leads, and are to have work left.
LONG_WORK = ("--epochs", "240", "--batch", "256", "--keep", "last")


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

    def events(self):
        return [one["event"] for one in (self.ask("events") or {"events": []})["events"]]

    def await_event(self, event):
        deadline = time.monotonic() + PATIENCE_S
        while event not in self.events():
            self.assertLess(time.monotonic(), deadline, event)
            time.sleep(0.1)

    def start_with_standby(self, work=WORK, leaders_state=None):
        """The one that leads, the one that waits, and the nodes, which know of both."""
        state, self.state = self.state, leaders_state or self.state
        other = self.free_address()
        self.joined = "%s,%s" % (other, self.address)
        leader = self.start(*self.scheduler_command("--replicas", "2", work=work))
        nodes = self.start_nodes()
        self.await_reports(2)
        self.state = state
        standby = self.start(*self.scheduler_command("--replicas", "2", "--standby", address=other, work=work))
        line = standby.stderr.readline()
        self.assertIn("waiting for its turn: the scheduler at %s leads the job" % self.address, line)
        return leader, standby, nodes

    def test_a_standby_takes_up_the_job_of_a_killed_scheduler(self):
        leader, standby, nodes = self.start_with_standby()
        leader.kill()
        nodes[0].kill()
        result, err = self.assert_as_undisturbed(standby)
        self.assertIn("the scheduler has taken the job up as its state has it: 2 servers, 2 workers", err)
        self.assertEqual(len(result["failovers"]), 1)
        for node in nodes[1:]:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_a_scheduler_that_wakes_after_its_standby_took_over_changes_nothing(self):
        self.calm = self.undisturbed(LONG_WORK)
        leader, standby, nodes = self.start_with_standby(LONG_WORK)
        leader.send_signal(signal.SIGSTOP)
        status = self.await_reports(3)
        self.await_event("resumed")
        leader.send_signal(signal.SIGCONT)
        _, err = leader.communicate(timeout=60)
        self.assertIn("another scheduler has taken this job up from its state", err)
        self.assertNotEqual(leader.returncode, 0)
        self.assertGreaterEqual(self.await_reports(4)["epoch"], status["epoch"])
        self.assert_as_undisturbed(standby)
        for node in nodes:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_a_scheduler_whose_lease_ends_early_stops_once_another_one_leads(self):
        self.calm = self.undisturbed(LONG_WORK)
        leader, standby, nodes = self.start_with_standby(LONG_WORK)
        # It takes the lead again where it is faster than its standby.
        deadline = time.monotonic() + PATIENCE_S
        while "resumed" not in self.events():
            self.assertLess(time.monotonic(), deadline)
            self.etcd.end_leases()
            time.sleep(0.3)
        _, err = leader.communicate(timeout=60)
        self.assertNotEqual(leader.returncode, 0)
        self.assertIn("another scheduler has taken this job up from its state", err)
        self.assert_as_undisturbed(standby)
        for node in nodes:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_nodes_leave_a_scheduler_that_alone_cannot_reach_etcd(self):
        self.calm = self.undisturbed(LONG_WORK)
        way = Way(self, self.etcd.address)
        leader, standby, nodes = self.start_with_standby(LONG_WORK, self.state.replace(self.etcd.address, way.address))
        way.cut()
        status = self.await_reports(3)
        self.await_event("resumed")
        self.assertGreaterEqual(self.await_reports(4)["epoch"], status["epoch"])
        self.assert_as_undisturbed(standby)
        way.mend()  # What it had sent to etcd comes there now.
        leader.communicate(timeout=PATIENCE_S)
        self.assertNotEqual(leader.returncode, 0)
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
