#!/usr/bin/env python3
"""Schedulers that are killed and started again with the --state of the one before: the job goes on, its bits stay."""
import os
import signal
import time
import unittest

from cluster_jobs import PATIENCE_S, ROWS, last_json
from kept_jobs import WORK, KeptJobs
from programs import SANITIZER


class KeptSchedulerTest(KeptJobs):
    def test_a_killed_scheduler_is_taken_up_and_no_bit_changes(self):
        scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        nodes = self.start_nodes()
        epochs, began = [], time.monotonic()
        for passes in (2, 12, 24):
            epochs.append(self.await_reports(passes)["epoch"])
            scheduler.kill()
            scheduler.wait()
            time.sleep(0.3)  # The others go on meanwhile.
            for node in nodes:
                self.assertIsNone(node.poll())
            scheduler = self.start(*self.scheduler_command("--replicas", "2"))
        self.await_reports(25)
        status = self.await_all_alive()
        self.assertGreaterEqual(status["epoch"], max(epochs))
        self.assertEqual([event["event"] for event in self.ask("events")["events"]][:2], ["resumed", "joined"])
        lost_one = next(node["index"] for node in status["nodes"] if node["pid"] == nodes[0].pid)
        nodes[0].send_signal(signal.SIGKILL)  # And it still sees to those who are lost.
        took_s = time.monotonic() - began
        result, err = self.assert_as_undisturbed(scheduler)
        self.assertIn("the scheduler has taken the job up as its state has it: 2 servers, 2 workers", err)
        self.assertGreater(result["seconds"], took_s)  # Of the job, whoever had it.
        self.assertAlmostEqual(result["examples_per_second"], result["examples"] / result["seconds"], delta=1)
        self.assertEqual([lost["server"] for lost in result["failovers"]], [lost_one])
        for node in nodes[1:]:
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0, node.communicate())

    # Far sooner than by their silence.
    def test_who_died_while_no_scheduler_was_there_is_missed_at_once(self):
        flags = ("--replicas", "2", "--timeout", "600", "--silence", "300")
        scheduler = self.start(*self.scheduler_command(*flags))
        nodes = self.start_nodes()
        server = next(node["index"] for node in self.await_reports(2)["nodes"] if node["pid"] == nodes[0].pid)
        for gone in (scheduler, nodes[0], nodes[2], nodes[3]):
            gone.kill()
            gone.wait()
        nodes[3] = self.start("node", "worker", "--join", self.joined, "--", self.train)  # It waits for the next one, too.
        began = time.monotonic()
        scheduler = self.start(*self.scheduler_command(*flags))
        result, err = self.assert_as_undisturbed(scheduler)
        self.assertLess(time.monotonic() - began, 200, err)
        self.assertEqual([lost["server"] for lost in result["failovers"]], [server])
        for node in (nodes[1], nodes[3]):
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0, node.communicate())

    # Each has less time than a worker that waits for one may take to find it.
    def test_schedulers_that_are_killed_soon_miss_a_worker(self):
        flags = ("--replicas", "2", "--timeout", "600", "--silence", "300")
        scheduler = self.start(*self.scheduler_command(*flags))
        nodes = self.start_nodes()
        self.await_reports(2)
        for gone in (scheduler, nodes[3]):
            gone.kill()
            gone.wait()
        states = []
        while states.count("lost") == 0:
            self.assertLess(len(states), 40)
            scheduler = self.start(*self.scheduler_command(*flags))
            time.sleep(0.7)
            status = self.ask("status")
            states.append(next((node["state"] for node in status["nodes"] if node["pid"] == nodes[3].pid), "") if status else "")
            scheduler.kill()
            scheduler.wait()
        scheduler = self.start(*self.scheduler_command(*flags))
        self.assert_as_undisturbed(scheduler)

    def test_steps_go_on_while_the_scheduler_is_stopped(self):
        rows = self.copy_of_train("long.svm", times=(40000 if SANITIZER else 200000) // ROWS)
        work = ("--epochs", "1", "--batch", "32")
        calm = self.run_job(*work, train=rows)
        scheduler = self.start("node", "scheduler", "--listen", self.address, "--state", self.state, "--servers", "2", "--workers", "2",
                               "--json", *work, rows)
        nodes = [self.start("node", "server", "--join", self.joined) for _ in range(2)]
        workers = [self.start("node", "worker", "--join", self.joined, "--", rows) for _ in range(2)]
        self.await_reports(1, step=8)
        scheduler.send_signal(signal.SIGSTOP)
        self.await_work(workers)
        scheduler.send_signal(signal.SIGCONT)
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        for what in ("model_digest", "examples", "steps", "train_loss"):
            self.assertEqual(last_json(out)[what], calm[what], what)
        for node in nodes + workers:
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

    def test_a_state_is_for_one_job_and_one_process(self):
        scheduler = self.start(*self.scheduler_command())
        nodes = self.start_nodes()
        self.await_reports(2)
        self.refused("another process keeps its state there")
        scheduler.kill()
        scheduler.wait()
        other = "USAGE: --state: this training is not that of the job that is kept there: "
        self.refused(other + "--rate is 0.3, there 0.1\n", "--rate", "0.3")
        of_a_job = "USAGE: --state: the state is of a job "
        self.refused(of_a_job + "with 2 copies of each key range, expected one with 1", "--replicas", "1")
        self.refused(of_a_job + "with 2 workers, expected one with 3", "--workers", "3")
        self.refused(of_a_job + "whose pushes are combined by nobody, expected machine", "--combine", "machine")
        self.refused(other + "--keep is best, there last\n", work=(*WORK[:4], "--keep", "best"))
        scheduler = self.start(*self.scheduler_command())
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        self.assertEqual(last_json(out)["model_digest"], self.calm["model_digest"])
        for node in nodes:
            self.assertEqual(node.wait(timeout=PATIENCE_S), 0)
        self.assertNotIn("taken the job up", self.refused("the job that is kept there is over", code=1))

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
