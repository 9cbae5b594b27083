#!/usr/bin/env python3
"""Nodes that join a job which runs: it goes on by them, and its bits stay."""
import json
import os
import signal
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S, ClusterJobs, address_in, last_json
from programs import PROGRAM

WORK = ("--epochs", "60", "--batch", "256", "--data-shards", "4")


class JoinsTest(ClusterJobs):
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
        for what in ("model_digest", "examples", "train_loss"):
            self.assertEqual(end[what], self.calm[what], what)
        return err

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

    def test_where_workers_keep_replicas_one_that_joins_stands_by(self):
        job, address = self.start_servers(1, 1, 1, "--epochs", "100000", "--data-shards", "2", "--algorithm", "easgd")
        self.start_node("worker", "--join", address)
        self.await_state(address, "worker", 1, "alive")
        self.await_words(job, "joined; it stands by for the data shards of workers that are lost")
        self.assertNotIn("reassigned", [event["event"] for event in self.ask("events", address)["events"]])
        job.terminate()
        self.finish(job)


if __name__ == "__main__":
    unittest.main(verbosity=2)
