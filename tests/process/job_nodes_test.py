#!/usr/bin/env python3
"""An application's own program as scheduler, servers and workers: the bits of one process, and ends that name why."""
import os
import re
import signal
import subprocess
import unittest

from programs import PROGRAM, SOURCE, ProgramTest, patience
from reserved_port import reserved_port

NODE = os.environ["THALWEG_TEST_JOB_NODE"]
EXAMPLE = os.environ.get("THALWEG_TEST_CLUSTER_LR", "")
PATIENCE_S = patience(100)


def start(*words, **more):
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)


def in_one_process(*words):
    done = subprocess.run([NODE, "local", "-", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    return done.stdout.splitlines()[1:]


class Job:
    """A scheduler, and the processes that join it."""

    def __init__(self, *words):
        self.processes = {"scheduler": start(NODE, "scheduler", "127.0.0.1:0", *words)}
        self.address = self.processes["scheduler"].stdout.readline().strip()

    def add(self, name, *words):
        self.processes[name] = start(*[self.address if word == "ADDRESS" else word for word in words])

    def node(self, name, *words):
        self.add(name, NODE, name.split("-")[0], "ADDRESS", *words)

    def finish(self):
        """Exit code, output and words of each process."""
        ends = {}
        for name, process in self.processes.items():
            out, err = process.communicate(timeout=PATIENCE_S)
            ends[name] = (process.returncode, out, err)
        return ends


class JobNodesTest(ProgramTest):
    def assert_rows(self, job, expected, victim="", died_by=signal.SIGKILL):
        ends = job.finish()
        for name, (code, _, err) in ends.items():
            self.assertEqual(code, -died_by if name == victim else 0, name + ": " + err)
        self.assertEqual(ends["scheduler"][1].splitlines(), expected)
        return ends

    def assert_all_say(self, job, pattern, victim=""):
        for name, (code, _, err) in job.finish().items():
            if name == victim:
                self.assertEqual(code, -signal.SIGKILL, err)
            else:
                self.assertEqual(code, 1, name + ": " + err)
                self.assertRegex(err, r"(?m)^ended: .*" + pattern, name)

    def test_a_job_of_processes_has_the_bits_of_one_in_process(self):
        for words in [(), ("rule",)]:
            expected = in_one_process(*words)
            self.assertEqual(len(expected), 50)
            job = Job(*words)
            for i in range(3):
                job.node("worker-%d" % i)
            for i in range(2):
                job.node("server-%d" % i, *words)
            self.assert_rows(job, expected)

    def test_a_worker_killed_in_mid_training_changes_no_bit(self):
        job = Job("rule")
        for i in range(2):
            job.node("server-%d" % i, "rule")
        job.node("worker-0")
        job.node("worker-1", "die-at", "15")
        job.node("worker-2")
        ends = self.assert_rows(job, in_one_process("rule"), "worker-1")
        self.assertRegex(ends["scheduler"][2], r"lost worker-\d")

    def test_a_worker_that_throws_dies_and_changes_no_bit(self):
        job = Job()
        for i in range(2):
            job.node("server-%d" % i)
        job.node("worker-0")
        job.node("worker-1", "throw-at", "15")
        job.node("worker-2")
        ends = self.assert_rows(job, in_one_process(), "worker-1", signal.SIGABRT)
        self.assertIn("thrown", ends["worker-1"][2])

    def test_a_step_of_three_times_the_patience_loses_nobody(self):
        words = ("shards", "3", "timeout", "%d" % patience(4))  # Who is silent for half of that is lost.
        job = Job(*words)
        for i in range(2):
            job.node("server-%d" % i)
        for i in range(3):
            job.node("worker-%d" % i, "compute-at", "5", "%d" % patience(6))
        ends = self.assert_rows(job, in_one_process(*words))
        self.assertNotIn("lost", ends["scheduler"][2])

    def test_a_job_ends_although_a_program_computes_on(self):
        job = Job()
        for i in range(2):
            job.node("server-%d" % i)
        job.node("worker-0", "compute-at", "5", "1000")
        job.node("worker-1", "compute-at", "5", "2", "fail-at", "5")  # By when the other one computes.
        job.node("worker-2")
        busy = job.processes["worker-0"]
        try:
            for name, process in job.processes.items():
                if process is busy:
                    continue
                _, err = process.communicate(timeout=PATIENCE_S)
                self.assertEqual(process.returncode, 1, name + ": " + err)
                self.assertRegex(err, r"(?m)^ended: .*worker-\d: no row 17 in shard \d", name)
            self.assertIsNone(busy.poll())
        finally:
            busy.kill()
            busy.communicate(timeout=PATIENCE_S)

    # Of two servers that are processes each has a copy of the other's key ranges.
    def test_a_killed_server_changes_no_bit(self):
        job = Job("rule")
        job.node("server-0", "rule", "die-at", "700")
        job.node("server-1", "rule")
        for i in range(3):
            job.node("worker-%d" % i)
        ends = self.assert_rows(job, in_one_process("rule"), "server-0")
        self.assertRegex(ends["scheduler"][2], r"server-\d .*key ranges go on at server-\d")

    def test_a_killed_server_without_copies_ends_every_process_with_its_name(self):
        job = Job("rule", "replicas", "1")
        job.node("server-0", "rule", "die-at", "700")
        job.node("server-1", "rule")
        for i in range(3):
            job.node("worker-%d" % i)
        self.assert_all_say(job, r"server-\d \(127\.0\.0\.1:\d+\) .*; lost key ranges: rows \[\d+,\d+\) of 256",
                            "server-0")

    def test_a_failing_program_ends_every_process_with_its_message(self):
        job = Job()
        for i in range(2):
            job.node("server-%d" % i)
        job.node("worker-0", "fail-at", "20")
        job.node("worker-1")
        job.node("worker-2")
        self.assert_all_say(job, r"worker-\d: no row 17 in shard \d")

    def test_a_killed_scheduler_ends_every_process(self):
        job = Job("rule")
        for i in range(2):
            job.node("server-%d" % i, "rule")
        job.node("worker-0")
        job.node("worker-1", "die-at", "15")
        job.node("worker-2")
        job.processes["worker-1"].wait(PATIENCE_S)  # The others cannot end before somebody has its shards.
        job.processes["scheduler"].kill()
        for name, (code, _, err) in job.finish().items():
            if name not in ("scheduler", "worker-1"):
                self.assertEqual(code, 1, err)
                self.assertIn("ended: scheduler is gone", err, name)

    def test_the_products_server_serves_an_applications_job(self):
        job = Job()
        for i in range(2):
            job.add("server-%d" % i, PROGRAM, "node", "server", "--join", "ADDRESS")
        for i in range(3):
            job.node("worker-%d" % i)
        self.assert_rows(job, in_one_process())

    def test_the_products_server_names_the_rule_that_it_lacks(self):
        job = Job("rule")
        job.add("server-0", PROGRAM, "node", "server", "--join", "ADDRESS")
        job.node("server-1", "rule")
        for i in range(3):
            job.node("worker-%d" % i)
        for name, (code, _, err) in job.finish().items():
            self.assertNotEqual(code, 0, name)
            self.assertRegex(err, r"no custom rule 'decayed'.*run_server\(\)", name)

    @unittest.skipUnless(EXAMPLE, "the examples are not built")
    def test_the_page_about_the_library_is_true(self):
        with open(os.path.join(SOURCE, "docs", "library.md"), encoding="utf-8") as page:
            blocks = re.findall(r"```sh terminal=(\d)\n(.*?)```", page.read(), re.S)
        self.assertEqual([number for number, _ in blocks], ["1", "2", "3", "4"])
        kept, port = reserved_port()
        self.addCleanup(kept.close)
        address = "127.0.0.1:%d" % port
        terminals = []
        for number, script in blocks:
            if number == "4":
                break
            script = re.sub(r"(?m)(scheduler|server|worker)(?= |$)", r"\1 " + address, script) + "\nwait\n"
            terminals.append(start("bash", "-ec", script, cwd=os.path.dirname(EXAMPLE)))
        said = []
        for terminal in terminals:
            out, err = terminal.communicate(timeout=PATIENCE_S)
            self.assertEqual(terminal.returncode, 0, err)
            said.append(out)
        alone = subprocess.run(["bash", "-ec", blocks[3][1]], cwd=os.path.dirname(EXAMPLE), capture_output=True, text=True,
                               timeout=PATIENCE_S, check=True)
        self.assertRegex(said[0], r"^weights of even features \d")
        self.assertEqual(said[0], alone.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
