#!/usr/bin/env python3
"""Servers that leave a live job by `thalweg drain`: its bits stay, nobody takes them for lost, and they end well."""
import json
import os
import signal
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S, ClusterJobs, address_in, children_of, last_json
from programs import PROGRAM

WORK = ("--epochs", "60", "--batch", "256")


class DrainTest(ClusterJobs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run([PROGRAM, "train", cls.train, "--json", *WORK], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=True)
        cls.calm = last_json(done.stdout)["model_digest"]

    def start_servers(self, servers, replicas, *flags):
        """A job that is past its first epoch, and where its scheduler is."""
        job = self.start_job("--processes", "--servers", str(servers), "--replicas", str(replicas), "--workers", "2",
                             *(flags or WORK))
        self.await_epoch(job, 1)
        return job, address_in(self.words_of(job))

    @staticmethod
    def drain_command(server, address, *flags):
        return [PROGRAM, "drain", "--server", str(server), "--join", address, *flags]

    def drain(self, server, address, *flags, code=0):
        done = subprocess.run(self.drain_command(server, address, *flags), capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    def refused(self, server, address, why, code=1):
        err = self.drain(server, address, code=code)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertIn(why, err)

    def ask(self, command, address):
        done = subprocess.run([PROGRAM, command, "--join", address, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        return json.loads(done.stdout)

    def state(self, address, server):
        return next(node["state"] for node in self.ask("status", address)["nodes"]
                    if (node["role"], node["index"]) == ("server", server))

    def await_state(self, address, server, state):
        deadline = time.monotonic() + PATIENCE_S
        while (now := self.state(address, server)) != state:
            self.assertLess(time.monotonic(), deadline, now)
            time.sleep(0.02)

    def expect_calm(self, job, failovers=()):
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        result = last_json(out)
        self.assertEqual(result["model_digest"], self.calm)
        self.assertEqual([lost["server"] for lost in result["failovers"]], list(failovers))
        return err

    def test_a_server_leaves_and_the_model_is_the_same(self):
        for replicas in (1, 2):
            with self.subTest(replicas=replicas):
                job, address = self.start_servers(3, replicas)
                pids = {node["index"]: node["pid"] for node in self.ask("status", address)["nodes"] if node["role"] == "server"}
                told = json.loads(self.drain(1, address, "--json"))
                self.assertEqual(sorted(told), ["copied", "ranges", "seconds", "server", "to"])
                self.assertEqual((told["server"], told["to"]), (1, [0, 2]))
                self.assertEqual(told["copied"], told["ranges"])
                self.assertGreater(told["ranges"], 0)
                self.assertGreater(told["seconds"], 0)
                self.assertEqual(self.state(address, 1), "left")
                status = self.ask("status", address)
                self.assertEqual((status["ranges_in_sync"], status["replicas"]), (status["ranges"], replicas))
                self.assertEqual(status["failovers"], [])
                events = self.ask("events", address)["events"]
                kinds = [event["event"] for event in events]
                self.assertEqual(set(kinds[kinds.index("began") + 1:]), {"draining", "promoted", "left"})
                self.assertEqual([(event["event"], event["index"]) for event in events if event["event"] in ("draining", "left")],
                                 [("draining", 1), ("left", 1)])
                self.assert_gone([pids[1]])
                err = self.expect_calm(job)
                self.assertRegex(err, r"(?m)^server-1 \(.*\) is to leave; its \d+ key ranges go to others first$")
                self.assertRegex(err, r"(?m)^server-1 \(.*\) has left; (\d+) of its \1 key ranges were copied at "
                                      r"server-0, server-2, in \d+\.\d{3} s$")
                for word in ("lost", "exit code", "closed its connection"):
                    self.assertNotIn(word, err)

    def test_it_says_so_to_people(self):
        job, address = self.start_servers(2, 1, "--epochs", "100000")
        self.assertRegex(self.drain(0, address), r"\Aserver-0 has left in \d+\.\d{3} s: (\d+) of its \1 key ranges were copied "
                                                 r"to server-1\n\Z")
        table = subprocess.run([PROGRAM, "status", "--join", address], capture_output=True, text=True, check=True).stdout
        self.assertRegex(table, r"(?m)^server-0 +\d+ +left ")
        job.terminate()
        self.finish(job)

    def test_servers_may_leave_until_as_many_are_left_as_there_are_copies(self):
        job, address = self.start_servers(4, 2)
        for server in (3, 0):
            self.drain(server, address)
        self.refused(1, address, "REFUSED: server-1 cannot leave: 1 server would be left for 2 copies of each key range, "
                                 "expected at least 2")
        self.expect_calm(job)

    def test_a_server_that_was_started_by_hand_ends_well(self):
        job = self.end_with_test(subprocess.Popen(
            [PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--servers", "2", "--replicas", "1", "--json", *WORK,
             self.train],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        address = address_in(job.stderr.readline())
        servers = [self.start_node("server", "--join", address) for _ in range(2)]
        worker = self.start_node("worker", "--join", address)
        while "epoch 1/" not in job.stderr.readline():
            self.assertIsNone(job.poll())
        pid = next(node["pid"] for node in self.ask("status", address)["nodes"] if node["role"] == "server")
        self.drain(0, address)
        leaver = next(server for server in servers if server.pid == pid)
        self.assertEqual(leaver.wait(PATIENCE_S), 0, self.words_of(leaver))
        err = self.expect_calm(job)
        self.assertEqual([node.wait(PATIENCE_S) for node in (*servers, worker)], [0, 0, 0])
        for words in (err, *map(self.words_of, (*servers, worker))):
            self.assertNotIn("lost", words)
            self.assertNotIn("cannot connect to server", words)

    def test_who_cannot_leave_is_refused_in_one_line(self):
        job, address = self.start_servers(2, 2, "--epochs", "100000")
        self.refused(0, address, "REFUSED: server-0 cannot leave: 1 server would be left for 2 copies")
        self.refused(2, address, "REFUSED: server-2 cannot leave: there is no such server, expected one of server-0 to server-1")
        self.assertEqual(self.drain(7, address, "--json", code=1).strip().count("\n"), 0)
        os.kill(children_of(job.pid, "server")[0], signal.SIGKILL)
        states = {0: "alive", 1: "alive"}
        deadline = time.monotonic() + PATIENCE_S
        while "lost" not in states.values():
            self.assertLess(time.monotonic(), deadline)
            states = {server: self.state(address, server) for server in states}
        lost = next(server for server, state in states.items() if state == "lost")
        self.refused(lost, address, "REFUSED: server-%d cannot leave: it was lost" % lost)
        self.refused(1 - lost, address, "it is the last server, expected another to take its key ranges")
        job.terminate()
        self.finish(job)

    def test_a_mode_without_copies_refuses(self):
        job, address = self.start_servers(2, 1, "--epochs", "100000", "--algorithm", "softsync:1")
        self.refused(0, address, "expected a job in sync, bounded or async mode")
        job.terminate()
        self.finish(job)

    def test_wrong_words_are_usage_errors(self):
        for words in (("--server", "1"), ("--join", "127.0.0.1:7100"), ("--server", "-1", "--join", "127.0.0.1:7100")):
            done = subprocess.run([PROGRAM, "drain", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no answer from a scheduler", self.drain(0, "127.0.0.1:1", "--timeout", "300ms", code=6))

    # Whoever is to get copies stands still, so that the server is leaving until that goes on.
    def test_a_wait_that_is_too_long_ends_and_the_server_leaves_all_the_same(self):
        job, address = self.start_servers(2, 1)
        pid = self.ask("status", address)["nodes"][1]["pid"]
        os.kill(pid, signal.SIGSTOP)
        err = self.drain(0, address, "--timeout", "500ms", code=6)
        self.assertRegex(err, r"\Athalweg: TIMEOUT: server-0 has not left in 0\.5 s: 0 of its \d+ key ranges are copied; "
                              r"it goes on leaving, see thalweg status\n\Z")
        self.assertEqual(self.state(address, 0), "leaving")
        self.refused(0, address, "server-0 cannot leave: it is leaving already, see thalweg status")
        self.refused(1, address, "server-1 cannot leave: server-0 is leaving, expected one server at a time")
        os.kill(pid, signal.SIGCONT)
        self.await_state(address, 0, "left")
        self.expect_calm(job)

    def test_a_server_that_dies_while_it_leaves_is_any_loss(self):
        job, address = self.start_servers(3, 2)
        pids = {node["index"]: node["pid"] for node in self.ask("status", address)["nodes"][:3]}
        os.kill(pids[2], signal.SIGSTOP)
        asker = self.end_with_test(subprocess.Popen(self.drain_command(1, address), stdout=subprocess.PIPE,
                                                    stderr=subprocess.PIPE, text=True))
        self.await_state(address, 1, "leaving")
        os.kill(pids[1], signal.SIGKILL)
        out, err = asker.communicate(timeout=PATIENCE_S)
        self.assertEqual((asker.returncode, out), (5, ""), err)
        self.assertIn("PEER_LOST: server-1 was lost before it had left", err)
        os.kill(pids[2], signal.SIGCONT)
        self.expect_calm(job, failovers=[1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
