#!/usr/bin/env python3
"""Schedulers that are killed and started again with the --state of the one before: the job goes on, its bits stay."""
import json
import os
import signal
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S, ClusterJobs, last_json
from programs import PROGRAM
from reserved_port import reserved_port

WORK = ("--epochs", "80", "--batch", "256", "--keep", "last")


class KeptSchedulerTest(ClusterJobs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run([PROGRAM, "train", cls.train, "--valid", cls.valid, "--json", *WORK], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        cls.calm = last_json(done.stdout)

    def setUp(self):
        kept, port = reserved_port()
        self.addCleanup(kept.close)
        self.address = "127.0.0.1:%d" % port
        self.state = os.path.join(self.folder.name, "state-%d" % port)

    def start(self, *arguments):
        started = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def scheduler_command(self, *flags, work=WORK):
        return ["node", "scheduler", "--listen", self.address, "--state", self.state, "--servers", "2", "--workers", "2",
                "--json", *work, *flags, "--valid", self.valid, self.train]

    def start_nodes(self):
        servers = [self.start("node", "server", "--join", self.address) for _ in range(2)]
        return servers + [self.start("node", "worker", "--join", self.address, "--", self.train) for _ in range(2)]

    def ask(self, command):
        done = subprocess.run([PROGRAM, command, "--join", self.address, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def await_reports(self, least):
        """Until each data shard has told of pass `least` or a later one."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = self.ask("status")
            if status and status["staleness"]["slowest"]["pass"] >= least:
                return status
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.02)

    def test_a_killed_scheduler_is_taken_up_and_no_bit_changes(self):
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        nodes = self.start_nodes()
        epochs = []
        for passes in (2, 12, 24):
            epochs.append(self.await_reports(passes)["epoch"])
            scheduler.kill()
            scheduler.wait()
            time.sleep(0.3)  # The others go on meanwhile.
            for node in nodes:
                self.assertIsNone(node.poll())
            scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        status = self.await_reports(25)
        self.assertGreaterEqual(status["epoch"], max(epochs))
        self.assertEqual({node["state"] for node in status["nodes"]}, {"alive"})
        self.assertEqual([event["event"] for event in self.ask("events")["events"]][:2], ["resumed", "joined"])
        lost_one = next(node["index"] for node in status["nodes"] if node["pid"] == nodes[0].pid)
        nodes[0].send_signal(signal.SIGKILL)  # And it still sees to those who are lost.
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        self.assertIn("the scheduler has taken the job up as its state has it: 2 servers, 2 workers", err)
        result = last_json(out)
        for what in ("model_digest", "examples", "steps", "train_loss", "valid_loss"):
            self.assertEqual(result[what], self.calm[what], what)
        self.assertEqual([lost["server"] for lost in result["failovers"]], [lost_one])
        for node in nodes[1:]:
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0, node.communicate())

    def test_a_scheduler_that_does_not_come_again_ends_the_job(self):
        scheduler = self.start(*self.scheduler_command("--timeout", "3"))
        nodes = self.start_nodes()
        self.await_reports(2)
        scheduler.kill()
        for node in nodes:
            _, err = node.communicate(timeout=PATIENCE_S)
            self.assertEqual(node.returncode, 5, err)
            self.assertIn("scheduler", err)

    def refused(self, why, *flags, code=2, work=WORK):
        done = subprocess.run([PROGRAM, *self.scheduler_command(*flags, work=work)], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(why, done.stderr + done.stdout)

    def test_a_state_is_for_one_job_and_one_process(self):
        scheduler = self.start(*self.scheduler_command())
        nodes = self.start_nodes()
        self.await_reports(2)
        self.refused("another process keeps its state there")
        scheduler.kill()
        scheduler.wait()
        self.refused("expected those of this one", "--rate", "0.3")
        self.refused("--state cannot be combined with --checkpoint", "--checkpoint", self.state + ".ckpt")
        self.refused("--state cannot be combined with --keep best", work=("--epochs", "80", "--keep", "best"))
        scheduler = self.start(*self.scheduler_command())
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        self.assertEqual(last_json(out)["model_digest"], self.calm["model_digest"])
        for node in nodes:
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0)
        self.refused("the job that is kept there is over", code=1)

    def test_a_damaged_state_is_refused(self):
        scheduler = self.start(*self.scheduler_command())
        self.start_nodes()
        self.await_reports(3)
        scheduler.kill()
        scheduler.wait()
        log = os.path.join(self.state, "log")
        with open(log, "r+b") as file:
            file.seek(40)
            byte = file.read(1)
            file.seek(40)
            file.write(bytes([byte[0] ^ 1]))
        self.refused("log: damaged at byte ", code=8)


if __name__ == "__main__":
    unittest.main()
