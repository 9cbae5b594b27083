#!/usr/bin/env python3
"""Jobs that --processes --state has begun: their processes outlive the command, and the same command takes them up."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from checkpoint_names import complete_in
from cluster_jobs import PATIENCE_S, address_in, last_json
from kept_jobs import WORK, KeptJobs
from programs import PROGRAM, alive, patience


class KeptProcessesTest(KeptJobs):
    def setUp(self):
        super().setUp()
        self.started = set()
        self.addCleanup(self.end_started)

    def flags(self, *more):
        return ("--processes", "--servers", "2", "--workers", "2", "--state", self.state, *WORK, "--valid", self.valid, *more)

    def begin(self, *more):
        job = self.start_job(*self.flags(*more))
        self.await_words(job, "scheduler listens on ")
        self.joined = address_in(self.words_of(job))
        return job

    def kill(self, job):
        job.kill()
        job.communicate()

    def end_started(self):
        for pid in self.started:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def await_passes(self, least):
        """Those who are there then, by name."""
        status = self.await_reports(least)
        nodes = {"%s-%d" % (node["role"], node["index"]): node["pid"] for node in status["nodes"] if node["role"] in ("server", "worker")}
        self.started |= set(nodes.values())
        return nodes

    def refuse(self, why, *flags, code=2):
        done = subprocess.run(self.command(*flags), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(why, done.stderr + done.stdout)

    def assert_ends_as_undisturbed(self, job):
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        for what in ("model_digest", "examples", "steps", "train_loss", "valid_loss"):
            self.assertEqual(last_json(out)[what], self.calm[what], what)
        self.assert_gone(self.started)
        return last_json(out), err

    def test_the_same_command_takes_the_job_up(self):
        job = self.begin()
        nodes = self.await_passes(2)
        address = self.joined
        for passes in (8, 16):
            self.kill(job)
            for pid in nodes.values():
                self.assertTrue(alive(pid))
            with socket.socket() as stranger, self.assertRaises(OSError, msg="a port that anybody could get"):
                stranger.bind(("127.0.0.1", int(address.rsplit(":", 1)[1])))
            job = self.begin()
            self.assertEqual(self.joined, address)
            self.assertEqual(self.await_passes(passes), nodes)
        job.send_signal(signal.SIGSTOP)  # So that it is not over yet.
        self.refuse("another process keeps its state there", *self.flags())
        job.send_signal(signal.SIGCONT)
        _, err = self.assert_ends_as_undisturbed(job)
        self.assertIn("the scheduler has taken the job up as its state has it: 2 servers, 2 workers", err)
        self.refuse("the job that is kept there is over", *self.flags(), code=1)

    def test_who_dies_while_the_command_is_away_is_lost(self):
        job = self.begin("--replicas", "2")
        nodes = self.await_passes(2)
        self.kill(job)
        for name in ("server-1", "worker-0"):
            os.kill(nodes[name], signal.SIGKILL)
        begun = time.monotonic()
        job = self.begin("--replicas", "2")
        self.await_words(job, "server-1 (")
        self.assertLess(time.monotonic() - begun, 5, "half of the silence")
        result, err = self.assert_ends_as_undisturbed(job)
        self.assertEqual([lost["server"] for lost in result["failovers"]], [1])
        self.assertRegex(err, r"(?m)^server-1 \(.*\) ended while no scheduler was there; its \d+ key ranges go on at server-0$")

    def test_where_all_are_gone_it_goes_on_from_a_checkpoint(self):
        kept = self.state + ".kept"
        checkpoints = ("--checkpoint", kept, "--checkpoint-every", "20-steps")
        job = self.begin(*checkpoints, "--resume", "auto")
        nodes = self.await_passes(2)
        deadline = time.monotonic() + PATIENCE_S
        while not complete_in(kept):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        self.kill(job)
        self.end_started()
        self.assert_gone(nodes.values())
        self.refuse("all processes of the job that is kept there are gone", *self.flags(*checkpoints), code=1)
        job = self.begin(*checkpoints, "--resume", "auto")
        self.await_passes(3)
        self.kill(job)
        job = self.begin(*checkpoints, "--resume", "auto")  # And this one is taken up where it is.
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertNotIn("goes on from", err)
        self.assertEqual(last_json(out)["model_digest"], self.calm["model_digest"])
        self.assert_gone(self.started)

    # Whoever has taken the job up is no parent of its processes, and ends it all the same.
    def test_a_signal_to_all_at_once_ends_it_with_a_checkpoint(self):
        kept = self.state + ".kept"
        checkpoints = ("--epochs", "100000", "--checkpoint", kept, "--checkpoint-every", "1h")
        job = self.begin(*checkpoints)
        self.await_passes(2)  # Processes of a job that has not begun end with their command.
        self.kill(job)
        job = self.begin(*checkpoints)
        nodes = self.await_passes(2)
        for pid in (*nodes.values(), job.pid):
            os.kill(pid, signal.SIGTERM)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 130, err)
        self.assertIn("is in the checkpoint %s/step-" % kept, last_json(out)["error"]["message"])
        self.assertEqual(len(complete_in(kept)), 1)
        self.assert_gone(self.started)

    # Where files may grow to 3 KiB, as on a full disk.
    def test_a_state_that_cannot_be_kept_is_told_of_and_ends_when_asked(self):
        limited = ("bash", "-c", 'ulimit -f 3; exec "$0" "$@"')
        for checkpoint in ((), ("--checkpoint", self.state + ".kept")):
            with self.subTest(checkpoint=checkpoint):
                shutil.rmtree(self.state, ignore_errors=True)
                with tempfile.NamedTemporaryFile(dir=self.folder.name, delete=False) as words:
                    job = self.end_with_test(subprocess.Popen([*limited, *self.command(*self.flags("--epochs", "100000", *checkpoint))],
                                                              stdout=subprocess.PIPE, stderr=words, text=True))
                job.words = words.name
                said = "warning: the scheduler's state cannot be kept, so that what changes waits: "
                self.await_words(job, said)
                self.joined = address_in(self.words_of(job))
                time.sleep(2)  # Several tries.
                begun = time.monotonic()
                job.send_signal(signal.SIGTERM)
                out, err = self.finish(job)
                self.assertLess(time.monotonic() - begun, patience(20))
                self.assertEqual(job.returncode, 130, err)
                self.assertEqual(err.count(said), 1 + err.count("the scheduler's state is kept again"), err)
                self.assertRegex(last_json(out)["error"]["message"], "the scheduler's state cannot be kept: .*%s/log" % self.state)

    def test_nobody_comes_again(self):
        job = self.begin("--timeout", "5")
        nodes = self.await_passes(2)
        self.kill(job)
        self.assert_gone(nodes.values())
        self.refuse("expected --checkpoint DIR --resume auto", *self.flags("--timeout", "5"), code=1)

    def test_where_it_cannot_be(self):
        self.refuse("--state is for a scheduler whose nodes are processes of their own", "--state", self.state)
        self.refuse("--processes are of this machine", "--processes", "--state", "etcd://127.0.0.1:1/job")
        scheduler = self.start(*self.scheduler_command())
        self.start_nodes()
        self.await_reports(2)
        self.kill(scheduler)
        self.refuse("%s/processes is not there, so the job was begun by thalweg node scheduler" % self.state, *self.flags())


if __name__ == "__main__":
    unittest.main()
