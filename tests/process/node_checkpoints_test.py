#!/usr/bin/env python3
"""Checkpoints of nodes that are started by hand are of the data that workers read; and what is left where the last one cannot be taken."""
import os
import subprocess
import unittest

from checkpoint_names import complete_in
from cluster_jobs import PATIENCE_S, ClusterJobs, address_in, last_json
from programs import PROGRAM


class NodeCheckpointsTest(ClusterJobs):
    limited = 0  # KiB of a file; 0: not.

    def command(self, *flags, train=None):
        command = super().command(*flags, train=train)
        return ["bash", "-c", 'ulimit -f %d; exec "$0" "$@"' % self.limited, *command] if self.limited else command

    def setUp(self):
        super().setUp()
        self.kept = os.path.join(self.folder.name, "kept-" + self.id().rsplit(".", 1)[1])
        self.other = self.copy_of_train("other.svm", times=2)

    def keep(self):
        return ("--checkpoint", self.kept, "--checkpoint-every", "7-steps")

    def start_scheduler(self, *words):
        """And where it listens."""
        scheduler = self.start_node("scheduler", "--listen", "127.0.0.1:0", "--batch", "256", *words)
        self.await_words(scheduler, "listens on")
        return scheduler, address_in(self.words_of(scheduler))

    def end_of(self, files, data, *flags):
        """Code and words of a job whose scheduler and worker are given these."""
        scheduler, address = self.start_scheduler(*flags, *files)
        nodes = [self.start_node("server", "--join", address), self.start_node("worker", "--join", address, "--", data)]
        code = scheduler.wait(PATIENCE_S)
        for node in nodes:
            self.assertEqual(node.wait(PATIENCE_S), code, self.words_of(node))
        return code, self.words_of(scheduler)

    def test_a_scheduler_with_other_files_than_its_workers_is_told(self):
        code, words = self.end_of([self.train], self.other)
        self.assertEqual(code, 4, words)
        self.assertRegex(words, r"other\.svm: not the files that this job reads, which its scheduler knows as .*train\.svm: ")

    def test_they_are_of_the_data_that_workers_read(self):
        code, words = self.end_of([], self.other, *self.keep())
        self.assertEqual(code, 0, words)
        self.assertTrue(complete_in(self.kept))
        code, words = self.end_of([], self.train, *self.keep(), "--epochs", "2", "--resume", "auto")
        self.assertEqual(code, 4, words)
        self.assertIn("train.svm: not the files that this job reads", words)
        refused = subprocess.run([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", *self.keep(), "--resume", "auto", self.train],
                                 capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(refused.returncode, 2, refused.stderr)
        self.assertIn("the data is other data", refused.stderr)
        code, words = self.end_of([], self.other, *self.keep(), "--epochs", "2", "--resume", "auto")
        self.assertEqual(code, 0, words)
        self.assertIn("goes on from", words)

    # As at the end of a service: the scheduler is not the first to hear of it.
    def test_a_signal_to_all_nodes_at_once_loses_nothing(self):
        epochs = ("--epochs", "100000")
        for saves in (self.keep(), ("--out", self.kept + ".model")):
            with self.subTest(saves=saves[0]):
                scheduler, address = self.start_scheduler("--servers", "2", "--workers", "2", "--replicas", "1", *epochs, *saves, self.train)
                nodes = [self.start_node("server", "--join", address) for _ in range(2)]
                nodes += [self.start_node("worker", "--join", address, "--", self.train) for _ in range(2)]
                self.await_words(scheduler, "epoch 2/")
                for node in (*nodes, scheduler):
                    node.terminate()
                self.assertEqual(scheduler.wait(PATIENCE_S), 130, self.words_of(scheduler))
                for node in nodes:
                    self.assertEqual(node.wait(PATIENCE_S), 130 if saves[0] == "--checkpoint" else 0, self.words_of(node))
                said = "what was learnt so far is in the checkpoint" if saves[0] == "--checkpoint" else "saved to"
                self.assertIn(said, self.words_of(scheduler))

    # A disk that has room for the model, but not for the state of its optimizer.
    def test_where_the_last_one_cannot_be_taken_the_model_is_saved(self):
        words = ("--epochs", "100000", "--batch", "256", "--servers", "1", "--checkpoint", self.kept)
        for out in ((), ("--out", self.kept + ".model")):
            with self.subTest(out=out):
                self.limited = 42
                job = self.start_job(*words, *out)
                self.await_epoch(job, 1)
                job.terminate()
                printed, said = self.finish(job)
                self.assertEqual(job.returncode, 130, said)
                told = said if out else last_json(printed)["error"]["message"]
                self.assertRegex(told, r"no (last )?checkpoint.*: server-0: cannot write .*; there is none")
                self.assertEqual(os.path.exists(self.kept + ".model"), bool(out), said)


if __name__ == "__main__":
    unittest.main()
