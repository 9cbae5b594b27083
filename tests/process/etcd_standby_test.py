#!/usr/bin/env python3
"""Schedulers that stand by: where the one that leads is killed, sleeps, or loses its lease in etcd, another one takes the job up."""
import signal
import time
import unittest

from cluster_jobs import PATIENCE_S
from etcd_server import Etcd, Way
from kept_jobs import WORK, KeptJobs

# Workers go on while nobody leads, and are to have work left.
LONG_WORK = ("--epochs", "240", "--batch", "256", "--keep", "last")


class EtcdStandbyTest(KeptJobs):
    def setUp(self):
        super().setUp()
        self.etcd = Etcd(self)
        self.state = "etcd://%s/jobs/%s" % (self.etcd.address, self.id().rsplit(".", 1)[1])

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

    def test_a_standby_of_another_job_is_refused_while_it_waits(self):
        leader, _, nodes = self.start_with_standby()
        self.refused("--rate is 0.3, there 0.1\n", "--replicas", "2", "--standby", "--rate", "0.3")
        self.refused("--state: the state is of a job with 2 servers, expected one with 3", "--replicas", "2", "--standby", "--servers", "3")
        self.assert_as_undisturbed(leader)
        for node in nodes:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_a_standby_that_cannot_read_the_state_waits_for_its_turn_again(self):
        state = self.state
        way = Way(self, self.etcd.address, breaks=True, at=state.split("/", 3)[3] + "/k/term")
        self.state = state.replace(self.etcd.address, way.address)
        leader, standby, nodes = self.start_with_standby(leaders_state=state)
        leader.kill()
        while "waiting for etcd: " not in (line := standby.stderr.readline()):
            self.assertNotEqual(line, "", "it ended")
        way.breaks = False
        _, err = self.assert_as_undisturbed(standby)
        self.assertIn("the scheduler has taken the job up as its state has it: 2 servers, 2 workers", err)
        for node in nodes:
            self.assertEqual(node.wait(timeout=60), 0, node.communicate())

    def test_a_scheduler_that_wakes_after_its_standby_took_over_changes_nothing(self):
        self.calm = self.undisturbed(LONG_WORK)
        leader, standby, nodes = self.start_with_standby(LONG_WORK)
        leader.send_signal(signal.SIGSTOP)
        status = self.await_reports(3)
        self.await_event("resumed")
        leader.send_signal(signal.SIGCONT)
        _, err = leader.communicate(timeout=60)
        self.assertIn("REFUSED: another scheduler has taken this job up from its state", err)
        self.assertEqual(leader.returncode, 1)  # Nobody interrupted it.
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
        self.assertIn("REFUSED: another scheduler has taken this job up from its state", err)
        self.assertEqual(leader.returncode, 1)
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
        ends = [node.wait(timeout=60) for node in nodes]
        # On a busy machine one may come to the standby when it has been replaced.
        self.assertGreaterEqual(ends.count(0), len(nodes) - 1, [node.communicate() for node in nodes])


if __name__ == "__main__":
    unittest.main()
