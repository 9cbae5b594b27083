#!/usr/bin/env python3
"""Jobs whose processes are killed and stopped: the bits of an undisturbed one, or an end that says what is lost."""
import contextlib
import os
import re
import signal
import subprocess
import time
import unittest

from cluster_jobs import PATIENCE_S, ROWS, ClusterJobs, address_in, children_of, last_json
from programs import PROGRAM, alive, times


EPOCHS = "30"


def kill_if_alive(pid):
    """A job that was interrupted first may have ended within milliseconds."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class LostNodesTest(ClusterJobs):
    # Each worker is killed in one of the rounds, so the one that combines for all is.
    def test_a_killed_lead_changes_no_bit(self):
        calm = self.calm_digest("--epochs", EPOCHS, "--batch", "256")
        for combine, victim in [("machine", 0), ("tree:1", 0), ("machine", 1), ("machine", 2)][:times(4)]:
            job = self.start_long_job("--epochs", EPOCHS, "--batch", "256", "--combine", combine)
            os.kill(sorted(children_of(job.pid, "worker"))[victim], signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)

    def test_a_killed_worker_changes_no_bit(self):
        calm = self.calm_digest("--epochs", EPOCHS, "--batch", "256")
        for round_number in range(times(3)):
            job = self.start_long_job("--epochs", EPOCHS, "--batch", "256")
            self.await_epoch(job, 1 + 8 * round_number)
            os.kill(children_of(job.pid, "worker")[round_number], signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)
            self.assertEqual(last_json(out)["examples"], int(EPOCHS) * ROWS)
            said = re.findall(r"^worker-\d \(.*\) .*; its \d data shards go to worker-\d.*$", err, re.M)
            self.assertEqual(len(said), 1, err)

    def test_a_killed_worker_loses_no_row_without_lockstep(self):
        for sync in ("ssp:2", "async"):
            job = self.start_long_job("--epochs", EPOCHS, "--batch", "256", "--sync", sync)
            os.kill(children_of(job.pid, "worker")[1], signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["examples"], int(EPOCHS) * ROWS)
            if sync == "ssp:2":
                self.assertEqual(last_json(out)["staleness_max"], 2)

    def test_a_stopped_worker_is_replaced_and_fenced(self):
        calm = self.calm_digest("--epochs", EPOCHS, "--batch", "256")
        job = self.start_long_job("--epochs", EPOCHS, "--batch", "256", "--timeout", "8s")
        victim = children_of(job.pid, "worker")[0]
        os.kill(victim, signal.SIGSTOP)
        epoch = self.words_of(job).count("epoch ")
        self.await_epoch(job, epoch + 3)  # In lockstep, others have its shards then.
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGCONT)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertRegex(err, r"(?m)^worker-\d \(.*process %d\) was silent too long; its \d data shards go to worker-\d" % victim)
        self.assertEqual(last_json(out)["model_digest"], calm)

    def test_a_killed_server_ends_the_job_naming_what_is_lost(self):
        job = self.start_long_job("--replicas", "1", "--epochs", "1000", "--batch", "256", "--timeout", "20s")
        nodes = children_of(job.pid, "worker") + children_of(job.pid, "server")
        os.kill(children_of(job.pid, "server")[0], signal.SIGKILL)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 5, err)
        self.assertRegex(err, r"server-\d")
        self.assertRegex(err, r"lost key ranges: .*weights \[\d+,\d+\) of 256")
        for first, end in re.findall(r"\[(\d+),(\d+)\) of", err):
            self.assertLess(int(first), int(end), err)
        self.assertIn("was ended by signal 9 (Killed)", err)
        self.assertIn("start the job again", err)
        self.assertEqual(err.count("lost key ranges"), 1, err)
        self.assertIn("error", last_json(out))
        self.assert_gone(nodes)

    # Alone, and with a worker, whose shards begin again with rows that the lost server had shown.
    def test_a_killed_server_whose_ranges_have_copies_changes_no_bit(self):
        calm = self.calm_digest("--epochs", EPOCHS, "--batch", "256")
        for round_number, workers in enumerate((0, 1, 0, 1)[:times(4)]):
            job = self.start_long_job("--epochs", EPOCHS, "--batch", "256")
            self.await_epoch(job, 1 + 8 * round_number)
            os.kill(children_of(job.pid, "server")[round_number % 2], signal.SIGKILL)
            for victim in children_of(job.pid, "worker")[:workers]:
                os.kill(victim, signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)
            self.assertEqual(last_json(out)["examples"], int(EPOCHS) * ROWS)
            self.assertRegex(err, r"(?m)^server-\d \(.*\) .*; its \d+ key ranges go on at server-\d$")

    # More than have a range, where all of them came at a time.
    def test_servers_killed_one_after_the_other_change_no_bit(self):
        epochs = str(times(200))
        calm = self.calm_digest("--epochs", epochs, "--batch", "256")
        job = self.start_long_job("--servers", "4", "--epochs", epochs, "--batch", "256", "--replicas", "2")
        victims = children_of(job.pid, "server")
        for victim in victims[:2]:
            made_again = self.words_of(job).count("made again in")
            os.kill(victim, signal.SIGKILL)
            while self.words_of(job).count("made again in") == made_again:
                self.assertIsNone(job.poll(), self.words_of(job))
                time.sleep(0.005)
        os.kill(victims[2], signal.SIGKILL)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(last_json(out)["model_digest"], calm)
        self.assertEqual(last_json(out)["examples"], int(epochs) * ROWS)
        self.assertRegex(err, r"(?m)^copies of \d+ key ranges of server-\d made again in \d+ ms at server-\d(, server-\d)*$")
        self.assertEqual(err.count("key ranges go on at"), 3, err)

    def test_a_stopped_server_whose_ranges_have_copies_is_replaced_and_fenced(self):
        calm = self.calm_digest("--epochs", EPOCHS, "--batch", "256")
        job = self.start_long_job("--epochs", EPOCHS, "--batch", "256", "--replicas", "2", "--timeout", "8s")
        victim = children_of(job.pid, "server")[0]
        os.kill(victim, signal.SIGSTOP)
        epoch = self.words_of(job).count("epoch ")
        self.await_epoch(job, epoch + 3)  # In lockstep, another has its ranges then.
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGCONT)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertRegex(err, r"(?m)^server-\d \(.*\) was silent too long; its \d+ key ranges go on at server-\d$")
        self.assertEqual(last_json(out)["model_digest"], calm)

    def test_a_killed_server_whose_ranges_have_copies_loses_no_row_without_lockstep(self):
        for sync in ("ssp:2", "async"):
            job = self.start_long_job("--epochs", EPOCHS, "--batch", "256", "--sync", sync, "--replicas", "2")
            os.kill(children_of(job.pid, "server")[1], signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["examples"], int(EPOCHS) * ROWS)

    # What a shard had learnt is its own worker's alone, if only of dense tables.
    def test_a_killed_rank_ends_the_job_naming_it(self):
        for exchange in ("auto", "dense:auto"):
            with self.subTest(exchange=exchange):
                job = self.start_job("--processes", "--workers", "3", "--exchange", exchange, "--epochs", "1000", "--batch", "256")
                self.await_epoch(job, 1)
                workers = children_of(job.pid, "worker")
                os.kill(workers[1], signal.SIGKILL)
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 5, err)
                # Whoever notices first, a rank in its exchange or the starter.
                self.assertRegex(err, r"PEER_LOST: worker-\d: (all-[\w-]+ #\d+ of .*: rank \d is lost: its process has ended"
                                 r"|the worker of data shard \d is lost, and with it what that shard had learnt)")
                self.assertIn("node worker (process %d) was ended by signal 9 (Killed)" % workers[1], err)
                self.assertIn("start the job again", err)
                self.assertEqual(last_json(out)["error"]["code"], "PEER_LOST")
                self.assert_gone(workers)

    # Their starter knows at once, whatever their connections tell later.
    def test_the_death_of_a_worker_is_known_before_its_silence(self):
        calm = self.calm_digest("--epochs", EPOCHS, "--batch", "256")
        for how, said in ((signal.SIGKILL, "was ended by signal 9 (Killed)"), (signal.SIGTERM, "ended with exit code 130")):
            job = self.start_long_job("--epochs", EPOCHS, "--batch", "256", "--verbose")
            victim = children_of(job.pid, "worker")[0]
            os.kill(victim, how)
            if how == signal.SIGTERM:  # The first one it leaves to its starter.
                time.sleep(0.7)
                self.assertTrue(alive(victim))
                os.kill(victim, how)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)
            self.assertIn("node worker (process %d) %s" % (victim, said), err)
            self.assertNotIn("not connected for", err.split(said)[0])

    def test_a_process_killed_before_the_job_begins_is_replaced(self):
        calm = self.calm_digest()
        for role in ("worker", "server"):
            replaced = 0
            for _ in range(40):
                job = self.start_job("--processes", "--servers", "2", "--workers", "2", "--verbose")
                while not (victims := children_of(job.pid, role)) and job.poll() is None:
                    pass
                for victim in victims[:1]:
                    kill_if_alive(victim)
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 0, err)
                self.assertEqual(last_json(out)["model_digest"], calm)
                replaced += "before the job began; another takes its place" in err
                if replaced == 3:
                    break
            self.assertEqual(replaced, 3, "no %s was killed in time" % role)

    def test_a_node_by_hand_that_dies_before_the_job_begins_is_waited_for(self):
        for role, others in (("worker", ["server", "server", "worker"]), ("server", ["server", "worker", "worker"])):
            with self.subTest(role=role):
                self.check_waited_for(role, others)

    def check_waited_for(self, role, others):
        scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--servers", "2", "--workers", "2", self.train],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        address = address_in(scheduler.stderr.readline())

        def start(a_role):
            return subprocess.Popen([PROGRAM, "node", a_role, "--join", address], stderr=subprocess.DEVNULL)

        def await_line(line):
            for said in scheduler.stderr:
                if line in said:
                    return
            self.fail("the scheduler never said " + line)

        nodes = [start(other) for other in others[:2]]
        victim = start(role)
        await_line("waiting for worker-1")
        victim.kill()
        victim.wait()
        await_line("closed its connection before the job began; another may take its place")
        nodes += [start(role), start(others[2])]
        _, err = self.finish(scheduler)
        self.assertEqual([node.wait(PATIENCE_S) for node in nodes], [0] * len(nodes))
        self.assertEqual(scheduler.returncode, 0, err)

    def test_killing_the_parent_ends_every_node(self):
        job = self.start_long_job("--epochs", "1000")
        nodes = children_of(job.pid, "worker") + children_of(job.pid, "server")
        job.kill()
        self.finish(job)
        self.assert_gone(nodes)

    def test_interrupt_while_workers_die_saves_and_ends(self):
        model = os.path.join(self.folder.name, "bereaved")
        for round_number in range(times(6)):
            job = self.start_long_job("--epochs", "1000", "--batch", "256", "--timeout", "20s", "--out", model)
            self.await_epoch(job, 1 + round_number)
            victim = children_of(job.pid, "worker")[round_number % 3]
            hurt = [lambda: kill_if_alive(victim), lambda: job.send_signal(signal.SIGINT)]
            for do in hurt if round_number % 2 else reversed(hurt):
                do()
                time.sleep(0.002 * round_number)
            _, err = self.finish(job)
            self.assertEqual(job.returncode, 130, err)
            subprocess.run([PROGRAM, "eval", "--model", model, self.valid], capture_output=True, check=True)

    # Both copies have one size and one begin, and nobody but an heir reads what another worker has read.
    def test_an_heir_with_other_rows_ends_the_job(self):
        for flipped, code in ((0, 0), (ROWS // 10, 4)):  # So many that each shard has some.
            with self.subTest(flipped=flipped):
                copies = [self.train, self.copy_of_train("other.svm", flipped)]
                scheduler = self.start_node("scheduler", "--listen", "127.0.0.1:0", "--workers", "2", "--epochs", "300")
                self.await_words(scheduler, "listens on")
                address = address_in(self.words_of(scheduler))
                nodes = [self.start_node("server", "--join", address)]
                for copy in copies:
                    nodes.append(self.start_node("worker", "--join", address, "--", copy))
                self.await_epoch(scheduler, 2)
                nodes[-1].kill()
                nodes.pop().wait(PATIENCE_S)
                _, err = self.finish(scheduler)
                self.assertEqual(scheduler.returncode, code, err)
                self.assertEqual("stands something else than what was read there before" in err, code == 4, err)
                self.assertEqual([node.wait(PATIENCE_S) for node in nodes], [code] * 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
