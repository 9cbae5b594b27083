#!/usr/bin/env python3
"""What a live job's scheduler tells whoever asks it, of servers that are killed above all, and what others are told."""
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from cluster_jobs import PATIENCE_S, ClusterJobs, address_in, children_of, last_json
from programs import PROGRAM, patience, times

TIMEOUT = 6
# Of a killed server, whoever notices first: who started it, or who was connected with it.
HOW = r"(was ended by signal 9 \(Killed\)|closed its connection)"
COPIED = ("--processes", "--servers", "3", "--replicas", "2", "--workers", "2", "--batch", "256")


class StatusTest(ClusterJobs):
    def start_copied_job(self, *flags):
        """A job of three servers that is past its first epoch, and where its scheduler is."""
        job = self.start_job(*COPIED, *flags)
        self.await_epoch(job, 1)
        return job, address_in(self.words_of(job))

    def ask(self, command, address, *flags):
        done = subprocess.run([PROGRAM, command, "--join", address, *flags], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def status(self, address):
        return json.loads(self.ask("status", address, "--json"))

    def await_status(self, job, address, holds):
        deadline = time.monotonic() + PATIENCE_S
        while not holds(status := self.status(address)):
            self.assertIsNone(job.poll(), self.words_of(job))
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.02)
        return status

    def end(self, job):
        job.terminate()
        self.finish(job)

    def test_a_live_job_tells_who_is_there_and_how_far_it_is(self):
        record = os.path.join(self.folder.name, "record")
        job, address = self.start_copied_job("--epochs", "100000", "--run-dir", record)
        with open(os.path.join(record, "scheduler.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"address": address, "pid": job.pid})
        status = self.await_status(job, address, lambda now: now["staleness"]["fastest"]["pass"] > 1)
        nodes = status["nodes"]
        self.assertEqual([(node["role"], node["index"]) for node in nodes],
                         [("server", 0), ("server", 1), ("server", 2), ("worker", 0), ("worker", 1), ("observer", 0)])
        self.assertEqual({node["state"] for node in nodes}, {"alive"})
        for role in ("server", "worker"):
            self.assertEqual(sorted(node["pid"] for node in nodes if node["role"] == role),
                             sorted(children_of(job.pid, role)))
        self.assertEqual(nodes[-1]["pid"], job.pid)
        for node in nodes[:3]:
            self.assertRegex(node["address"], r"^127\.0\.0\.1:\d+$")
        self.assertEqual(status["ranges_in_sync"], status["ranges"])
        self.assertGreater(status["ranges"], 0)
        self.assertEqual((status["epoch"], status["replicas"], status["waits_for"]), (1, 2, None))
        self.assertEqual((status["failovers"], status["last_checkpoint"]), ([], None))
        table = self.ask("status", address)
        for name in ("server-2", "worker-1", "observer"):
            self.assertRegex(table, r"(?m)^%s +\d+ +alive " % name)
        self.assertRegex(table, r"(?m)^key ranges    (\d+) of \1 have all 2 copies, by map 1$")
        self.end(job)

    def test_a_killed_server_is_seen_to_be_lost_and_made_good(self):
        calm = self.calm_digest("--epochs", "30", "--batch", "256")
        job, address = self.start_copied_job("--epochs", "30")
        victim = self.status(address)["nodes"][1]
        os.kill(victim["pid"], signal.SIGKILL)
        status = self.await_status(job, address, lambda now: now["failovers"] and now["failovers"][0]["recovered_ms"])
        self.assertEqual([node["state"] for node in status["nodes"]][:3], ["alive", "lost", "alive"])
        status = self.await_status(job, address, lambda now: now["ranges_in_sync"] == now["ranges"])
        self.assertGreater(status["epoch"], 2)
        events = json.loads(self.ask("events", address, "--json"))["events"]
        told = [(event["event"], event["role"], event["index"]) for event in events]
        self.assertEqual(told[-5:], [("lost", "server", 1), ("promoted", "server", 0), ("promoted", "server", 2),
                                     ("recovered", "server", 1), ("copied", "server", 1)], events)
        self.assertEqual([what for what, _, _ in told[:-5]], ["joined"] * 6 + ["began"])
        self.assertRegex(events[-5]["cause"], r"^%s$" % HOW)
        self.assertEqual([event["seconds"] for event in events], sorted(event["seconds"] for event in events))
        self.assertRegex(self.ask("events", address), r"(?m)^ +\d+\.\d{3} s  lost +server-1 +%s$" % HOW)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        result = last_json(out)
        self.assertEqual(result["model_digest"], calm)
        self.assertEqual([sorted(lost) for lost in result["failovers"]], [["detected_ms", "recovered_ms", "server"]])
        self.assertEqual(result["failovers"], status["failovers"])
        self.assertEqual(result["failovers"][0]["server"], 1)
        self.assertRegex(err, r"(?m)^server-1 \(.*\) %s; its \d+ key ranges go on at server-0, server-2$" % HOW)
        self.assertRegex(err, r"(?m)^server-0, server-2 go on without server-1, \d+\.\d ms after it was taken for lost$")

    def test_a_job_in_which_nobody_was_lost_has_no_failovers(self):
        for flags in ((), COPIED):
            self.assertEqual(self.run_job(*flags)["failovers"], [])

    def test_servers_that_are_processes_keep_two_copies_unless_told_otherwise(self):
        alone = "each key range has one server, since this algorithm's updates depend on which push comes first"
        for servers, flags, copies in (("2", (), 2), ("1", (), 1), ("2", ("--replicas", "1"), 1), ("2", ("--algorithm", "async"), 2),
                                       ("2", ("--algorithm", "softsync:1"), 1)):
            with self.subTest(servers=servers, flags=flags):
                job = self.start_job("--processes", "--servers", servers, "--batch", "256", "--epochs", "100000", *flags)
                self.await_epoch(job, 1)
                self.assertEqual(self.status(address_in(self.words_of(job)))["replicas"], copies)
                self.assertEqual(alone in self.words_of(job), "softsync:1" in flags)
                self.end(job)
        refused = subprocess.run(self.command("--processes", "--servers", "2", "--replicas", "2", "--algorithm", "softsync:1"),
                                 capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("--replicas above 1 is for algorithms", refused.stderr)

    # Each asker is a stranger: none is a member afterwards, and none holds anything up.
    def test_being_asked_changes_nothing(self):
        calm = self.calm_digest("--epochs", "30", "--batch", "256")
        job, address = self.start_copied_job("--epochs", "30")

        def ask():
            while job.poll() is None:
                subprocess.run([PROGRAM, "status", "--join", address, "--timeout", "2s"], capture_output=True, check=False)

        askers = [threading.Thread(target=ask) for _ in range(times(4))]
        for asker in askers:
            asker.start()
        self.await_epoch(job, 20)
        events = json.loads(self.ask("events", address, "--json"))["events"]
        self.assertEqual([event["event"] for event in events], ["joined"] * 6 + ["began"])
        out, err = self.finish(job)
        for asker in askers:
            asker.join()
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(last_json(out)["model_digest"], calm)
        self.assertNotIn("lost", err)

    def refused(self, address, *flags, command="status"):
        """The one error of a question that is not answered."""
        done = subprocess.run([PROGRAM, command, "--join", address, "--timeout", "1s", *flags], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, TIMEOUT, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Athalweg: TIMEOUT: no answer from a scheduler at \S+ in 1\.0 s.*\n\Z")
        return done.stderr

    def test_before_the_job_begins_it_says_who_is_missing(self):
        job = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--servers", "2", "--workers", "1", self.train],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        address = address_in(job.stderr.readline())
        status = self.status(address)
        self.assertEqual((status["waits_for"], status["epoch"]), ("server-0, server-1, worker-0", 0))
        table = self.ask("status", address)
        self.assertRegex(table, r"(?m)^waits for     server-0, server-1, worker-0, to begin$")
        self.assertNotIn("pass 1", table)

    def test_who_has_another_secret_learns_nothing(self):
        path = os.path.join(self.folder.name, "other.secret")
        with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(os.urandom(16).hex())
        job, address = self.start_copied_job("--epochs", "100000")
        for command in ("status", "events"):
            for flags in (("--secret-file", path), ("--insecure-no-auth",)):
                self.assertIn("both must have the same one", self.refused(address, *flags, command=command))
        self.assertEqual({node["state"] for node in self.status(address)["nodes"]}, {"alive"})
        self.end(job)

    def refused_in_five_seconds(self, *words):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (TIMEOUT, ""), done.stderr)
        self.assertRegex(done.stderr, r"(?m)^thalweg: TIMEOUT: no answer from a scheduler at \S+ in 5\.0 s: .*: Connection refused$")

    def test_nobody_there_and_nobody_who_answers_are_one_error(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            address = "127.0.0.1:%d" % silent.getsockname()[1]
            self.assertIn("Connection refused", self.refused(address))
            done = subprocess.run([PROGRAM, "drain", "--server", "0", "--join", address, "--timeout", "3s"],
                                  capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            first, error = done.stderr.splitlines()
            self.assertRegex(first, r"^cannot connect to scheduler at \S+: Connection refused; trying again$")
            self.assertRegex(error, r"^thalweg: TIMEOUT: no answer from a scheduler at \S+ in 3\.0 s: .*: Connection refused$")
            self.refused_in_five_seconds("drain", "--server", "0", "--join", address)
            self.refused_in_five_seconds("scale", "--servers", "+1", "--join", address)
            silent.listen()
            self.refused(address)
        job, address = self.start_copied_job("--epochs", "100000")
        job.send_signal(signal.SIGSTOP)
        self.refused(address)
        job.send_signal(signal.SIGCONT)
        self.end(job)
        self.refused(address)

    # Shorter than one of them is asked for at most.
    def test_of_several_addresses_each_is_asked_in_time(self):
        job, address = self.start_copied_job("--epochs", "100000")
        with socket.socket() as dead:
            dead.bind(("127.0.0.1", 0))
            both = "127.0.0.1:%d,%s" % (dead.getsockname()[1], address)
            told = json.loads(self.ask("status", both, "--json", "--timeout", "%dms" % patience(450)))
        self.assertEqual(told["replicas"], 2)
        self.end(job)

    def test_wrong_questions_are_usage_errors(self):
        for words in (("status",), ("events",), ("status", "--join", "nowhere"), ("status", "--join", "127.0.0.1:x")):
            done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertTrue(re.search(r"--join|HOST:PORT|port", done.stderr), done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
