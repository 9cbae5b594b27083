#!/usr/bin/env python3
"""Nodes that join a job which runs: it goes on by them, and its bits stay."""
import json
import os
import re
import signal
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S, ClusterJobs, address_in, last_json
from programs import PROGRAM

WORK = ("--epochs", "120", "--batch", "256", "--data-shards", "4")


class JoinsTest(ClusterJobs):
    """What tests of both roles need."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run([PROGRAM, "train", cls.train, "--json", *WORK], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=True)
        cls.calm = last_json(done.stdout)

    def start_servers(self, servers, replicas, workers, *flags):
        """A job that is past its first epoch, and where its scheduler is."""
        job = self.start_job("--processes", "--servers", str(servers), "--replicas", str(replicas), "--workers", str(workers),
                             *(flags or WORK))
        self.await_epoch(job, 1)
        return job, address_in(self.words_of(job))

    def ask(self, command, address):
        done = subprocess.run([PROGRAM, command, "--join", address, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        return json.loads(done.stdout)

    def nodes(self, address, role):
        return {node["index"]: node for node in self.ask("status", address)["nodes"] if node["role"] == role}

    def await_state(self, address, role, index, state):
        deadline = time.monotonic() + PATIENCE_S
        while (now := self.nodes(address, role).get(index, {}).get("state")) != state:
            self.assertLess(time.monotonic(), deadline, now)
            time.sleep(0.02)

    def expect_calm(self, job):
        """It ends well, as if nobody had come or gone."""
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        end = last_json(out)
        for what in ("model_digest", "examples"):
            self.assertEqual(end[what], self.calm[what], what)
        return err


class SilenceTest(JoinsTest):
    """With a short --silence a node that stands still is lost soon, though no connection of it is closed."""

    def test_a_stopped_server_is_taken_for_lost_after_the_silence_that_is_asked_for(self):
        job, address = self.start_servers(2, 2, 1, *WORK, "--silence", "2s")
        pid = self.nodes(address, "server")[1]["pid"]
        os.kill(pid, signal.SIGSTOP)
        self.await_state(address, "server", 1, "lost")
        failovers = self.ask("status", address)["failovers"]
        self.assertEqual([lost["server"] for lost in failovers], [1])
        self.assertGreaterEqual(failovers[0]["detected_ms"], 2000)
        self.assertLess(failovers[0]["detected_ms"], 10000, "what it is without the option")
        self.expect_calm(job)
        self.assert_gone([pid])

    def test_a_stopped_worker_that_comes_back_says_that_it_was_lost(self):
        job, address = self.start_servers(1, 1, 1, *WORK, "--silence", "2s")
        late = self.start_node("worker", "--join", address)
        self.await_state(address, "worker", 1, "alive")
        late.send_signal(signal.SIGSTOP)
        self.await_state(address, "worker", 1, "lost")
        late.send_signal(signal.SIGCONT)
        self.assertEqual(late.wait(PATIENCE_S), 5, self.words_of(late))
        self.assertIn("PEER_LOST: worker-1 was silent too long and has been replaced", self.words_of(late))
        self.expect_calm(job)

    def test_bad_intervals_are_usage_errors(self):
        for flags in (("--silence", "50ms"), ("--silence", "61s"), ("--grace", "0"), ("--grace", "2h")):
            done = subprocess.run([PROGRAM, "train", self.train, "--processes", *flags], capture_output=True, text=True,
                                  timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(flags[0], done.stderr)


class WorkersTest(JoinsTest):
    # T30, the half of workers.
    def test_workers_that_join_get_data_shards_and_may_be_all_that_is_left(self):
        job, address = self.start_servers(2, 1, 1)
        late = []
        for index in (1, 2):
            late.append(self.start_node("worker", "--join", address))
            self.await_state(address, "worker", index, "alive")
            self.assertEqual(self.nodes(address, "worker")[index]["pid"], late[-1].pid)
        self.await_words(job, "worker-2 (")
        causes = [(event["index"], event["cause"]) for event in self.ask("events", address)["events"] if event["event"] == "reassigned"]
        self.assertEqual(causes, [(1, "has 2 data shards of worker-0"), (2, "has 1 data shard of worker-0")])
        os.kill(self.nodes(address, "worker")[0]["pid"], signal.SIGKILL)
        self.await_state(address, "worker", 0, "lost")
        err = self.expect_calm(job)
        self.assertRegex(err, r"(?m)^worker-1 \(.*\) joined; it has 2 data shards of worker-0$")
        self.assertRegex(err, r"(?m)^worker-2 \(.*\) joined; it has 1 data shard of worker-0$")
        self.assertRegex(err, r"(?m)^worker-0 \(.*; its 1 data shard goes to worker-2$")
        self.assertEqual([node.wait(PATIENCE_S) for node in late], [0, 0])

    # It has no data shard before its data is seen to be the job's.
    def test_a_worker_that_joins_with_other_data_is_turned_away_and_the_job_goes_on(self):
        job, address = self.start_servers(2, 2, 1)
        self.await_epoch(job, 2)
        nothing = os.path.join(self.folder.name, "nofile.svm")
        longer, other = self.copy_of_train("longer.svm", times=2), os.path.join(self.folder.name, "begin.svm")
        with open(self.train, "rb") as train, open(other, "wb") as copy:
            text = train.read()
            copy.write((b"0" if text[:1] == b"1" else b"1") + text[1:])
        cases = [((nothing,), "nofile.svm"), ((longer,), "longer.svm: not the files that this job reads"),
                 ((self.train, self.train), "and 1 more: not the files that this job reads"),
                 ((other,), "begin.svm: not the files that this job reads")]
        for files, said in cases:
            with self.subTest(said=said):
                late = subprocess.run([PROGRAM, "node", "worker", "--join", address, "--", *files], capture_output=True, text=True,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(late.returncode, 4, late.stderr)
                self.assertIn(said, late.stderr)
        err = self.expect_calm(job)
        self.assertEqual(len(re.findall(r"(?m)^worker-\d \(.*\) is turned away: .*; its \d data shards? go(es)? to worker-0$", err)),
                         len(cases), err)

    def test_where_workers_keep_replicas_one_that_joins_stands_by(self):
        job, address = self.start_servers(1, 1, 1, "--epochs", "100000", "--data-shards", "2", "--algorithm", "easgd")
        self.start_node("worker", "--join", address)
        self.await_state(address, "worker", 1, "alive")
        self.await_words(job, "joined; it stands by for the data shards of workers that are lost")
        self.assertNotIn("reassigned", [event["event"] for event in self.ask("events", address)["events"]])
        job.terminate()
        self.finish(job)


class ServersTest(JoinsTest):
    def scale(self, address, *flags, servers="+1", code=0):
        done = subprocess.run([PROGRAM, "scale", "--servers", servers, "--join", address, *flags], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr if code else done.stdout

    # T30, the half of servers: added, and then those that there were first leave.
    def test_a_job_goes_on_by_servers_that_came_while_it_ran(self):
        for replicas in (1, 2):
            with self.subTest(replicas=replicas):
                job, address = self.start_servers(2, replicas, 2)
                told = json.loads(self.scale(address, "--json", servers="+2"))
                self.assertEqual([one["server"] for one in told["servers"]], [2, 3])
                for one in told["servers"]:
                    self.assertRegex(one["part"], r"^it has \d+ key ranges( and copies of \d+)?, after \d+\.\d{3} s$")
                    self.assertEqual(self.nodes(address, "server")[one["server"]]["pid"], one["pid"])
                    self.assertEqual(self.nodes(address, "server")[one["server"]]["state"], "alive")
                status = self.ask("status", address)
                self.assertEqual(status["ranges_in_sync"], status["ranges"])
                self.assertEqual(status["failovers"], [])
                shared = [event["index"] for event in self.ask("events", address)["events"] if event["event"] == "shared"]
                self.assertEqual(sorted(shared), [2, 3])
                for server in (0, 1):
                    subprocess.run([PROGRAM, "drain", "--server", str(server), "--join", address], capture_output=True, check=True,
                                   timeout=PATIENCE_S)
                err = self.expect_calm(job)
                self.assertRegex(err, r"(?m)^server-2 \(.*\) joined; key ranges are to come to it$")
                self.assertRegex(err, r"(?m)^server-3 takes part; it has \d+ key ranges")
                for word in ("lost", "closed its connection"):
                    self.assertNotIn(word, err)
                self.assert_gone([one["pid"] for one in told["servers"]])

    def test_a_server_that_came_may_die_as_any_other(self):
        job, address = self.start_servers(2, 2, 2)
        self.assertRegex(self.scale(address), r"\Aserver-2 \(process \d+\) has joined; it has \d+ key ranges and copies of \d+, "
                                              r"after \d+\.\d{3} s\n\Z")
        os.kill(self.nodes(address, "server")[2]["pid"], signal.SIGKILL)
        self.await_words(job, "go on without server-2")
        self.expect_calm(job)

    def test_in_the_place_of_one_that_was_lost_a_server_keeps_copies(self):
        job, address = self.start_servers(2, 2, 1)
        os.kill(self.nodes(address, "server")[0]["pid"], signal.SIGKILL)
        self.await_state(address, "server", 0, "lost")
        late = self.start_node("server", "--join", address)
        self.await_state(address, "server", 2, "alive")
        status = self.ask("status", address)
        self.assertEqual(status["ranges_in_sync"], status["ranges"])
        os.kill(self.nodes(address, "server")[1]["pid"], signal.SIGKILL)
        self.expect_calm(job)
        self.assertEqual(late.wait(PATIENCE_S), 0)

    def test_who_cannot_join_is_refused_in_one_line(self):
        job, address = self.start_servers(1, 1, 1, "--epochs", "100000", "--algorithm", "softsync:1")
        err = self.scale(address, code=1)
        self.assertEqual(err.count("\n"), 1, err)
        self.assertIn("REFUSED: no server can join: which pushes make an update depends on who gets them", err)
        job.terminate()
        self.finish(job)
        for words in (("--servers", "+1"), ("--servers", "1", "--join", "127.0.0.1:7100"), ("--servers", "-1", "--join", "127.0.0.1:7100"),
                      ("--join", "127.0.0.1:7100"), ("--servers", "+65", "--join", "127.0.0.1:7100")):
            done = subprocess.run([PROGRAM, "scale", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("no answer from a scheduler", self.scale("127.0.0.1:1", "--timeout", "300ms", code=6))


if __name__ == "__main__":
    unittest.main(verbosity=2)
