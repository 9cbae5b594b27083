#!/usr/bin/env python3
"""Jobs that keep checkpoints, are killed as a whole, ended by signals or refused by the disk, and go on with the same bits."""
import os
import random
import re
import shutil
import signal
import subprocess
import time
import unittest

from checkpoint_names import complete_in
from cluster_jobs import COUNTED, PATIENCE_S, ClusterJobs, children_of, last_json
from programs import PROGRAM

WORK = ("--epochs", "12", "--batch", "256")


class CheckpointsTest(ClusterJobs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        done = subprocess.run([PROGRAM, "train", cls.train, "--json", *WORK], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=True)
        cls.calm = last_json(done.stdout)["model_digest"]

    def setUp(self):
        super().setUp()
        self.kept = os.path.join(self.folder.name, "kept-" + self.id().rsplit(".", 1)[1])

    def keep(self, *every):
        return ("--checkpoint", self.kept, "--checkpoint-every", *(every or ("7-steps",)))

    def ckpt(self, *words):
        return subprocess.run([PROGRAM, "ckpt", *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)

    def kill_all(self, job):
        nodes = children_of(job.pid, "server") + children_of(job.pid, "worker")
        for pid in (job.pid, *nodes):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        job.communicate(timeout=PATIENCE_S)
        self.assert_gone(nodes)

    def await_checkpoints(self, job, more_than):
        deadline = time.monotonic() + PATIENCE_S
        while len(complete_in(self.kept)) <= more_than and job.poll() is None:
            self.assertLess(time.monotonic(), deadline, self.words_of(job))
            time.sleep(0.005)

    def test_everything_killed_at_random_moments_changes_no_bit(self):
        chance = random.Random(70)
        cast = [(), ("--processes", "--servers", "2", "--workers", "2"), ("--processes", "--servers", "3", "--workers", "1", "--replicas", "2"),
                ("--processes", "--servers", "1", "--workers", "3")]
        killed = 0
        while killed < 20:
            shutil.rmtree(self.kept, ignore_errors=True)
            for life in range(4):
                changes = ("--checkpoint-whole-every", str((1, 5)[killed % 2]))
                job = self.start_job(*WORK, *self.keep(), *changes, "--resume", "auto", *cast[chance.randrange(4)])
                self.await_checkpoints(job, 0)
                time.sleep(chance.random() * 0.5)
                if job.poll() is not None or life == 3:
                    break
                self.kill_all(job)
                killed += 1
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], self.calm)

    def test_each_push_counts_once_where_pushes_count_as_they_come(self):
        model = os.path.join(self.folder.name, "counted")
        work = ("--epochs", "6", "--batch", "256", *COUNTED)
        self.run_job(*work, "--out", model)
        calm = self.weights_of(model)
        chance = random.Random(71)
        for number, mode in enumerate(("async", "ssp:2", "async")):
            shutil.rmtree(self.kept, ignore_errors=True)
            for life in range(5):
                cast = ("--processes", "--servers", str(2 + (number + life) % 3), "--workers", str(1 + life % 3), "--replicas", str(1 + life % 2),
                        "--checkpoint-whole-every", "6")
                mine = "%s-%d-%d" % (model, number, life)
                job = self.start_job(*work, "--algorithm", mode, *self.keep(), "--resume", "auto", *cast, "--out", mine)
                self.await_checkpoints(job, 0)
                time.sleep(chance.random() * 0.3)
                if job.poll() is not None or life == 4:
                    break
                self.kill_all(job)
            _, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            if life > 0:
                self.assertIn("goes on from %s/step-" % self.kept, err)
            self.assert_counted_as(calm, mine)

    # What these modes learn depends on timing; that they go on, and on how many rows, does not.
    def test_other_modes_go_on_too(self):
        for mode in ("softsync:2", "backup:1", "max-wait:20ms"):
            with self.subTest(mode=mode):
                shutil.rmtree(self.kept, ignore_errors=True)
                work = ("--epochs", "4", "--batch", "256", "--algorithm", mode, *self.keep(), "--processes", "--workers", "2")
                job = self.start_job(*work, "--servers", "2")
                self.await_checkpoints(job, 0)
                if job.poll() is None:
                    self.kill_all(job)
                job = self.start_job(*work, "--servers", "3", "--resume", "auto")
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 0, err)
                self.assertIn("goes on from %s/step-" % self.kept, err)
                self.assertLess(last_json(out)["train_loss"], 0.69)
                self.assertEqual(self.ckpt("verify", self.kept).returncode, 0)

    def test_sigterm_takes_one_and_names_the_command_that_goes_on(self):
        for flags in ((), ("--processes", "--servers", "2", "--workers", "2")):
            with self.subTest(flags=flags):
                shutil.rmtree(self.kept, ignore_errors=True)
                job = self.start_job("--epochs", "100000", "--batch", "256", *self.keep("1h"), *flags)
                self.await_epoch(job, 1)
                job.send_signal(signal.SIGTERM)
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 130, err)
                error = last_json(out)["error"]
                self.assertRegex(error["message"], r"interrupted; what was learnt so far is in the checkpoint %s/step-\d+\.\d+" % self.kept)
                self.assertIn("--resume auto", error["hint"])
                self.assertEqual(len(complete_in(self.kept)), 1)
                command = error["hint"].split(" by ", 1)[1].split()
                done = subprocess.run([*command, "--epochs", str(complete_in(self.kept)[0][0] + 1)], capture_output=True, text=True,
                                      timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertIn("goes on from %s/step-" % self.kept, done.stderr)

    # As the end of a service, a container or a batch job sends them: the nodes leave it to their parent.
    def test_a_signal_to_all_processes_at_once_takes_one_too(self):
        for how in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(how=how):
                shutil.rmtree(self.kept, ignore_errors=True)
                job = self.start_job("--epochs", "100000", "--batch", "256", *self.keep("1h"), "--processes", "--servers", "2", "--workers", "2")
                self.await_epoch(job, 1)
                nodes = children_of(job.pid, "server") + children_of(job.pid, "worker")
                self.assertEqual(len(nodes), 4)
                for pid in (*nodes, job.pid):
                    os.kill(pid, how)
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 130, err)
                self.assertIn("interrupted; what was learnt so far is in the checkpoint", last_json(out)["error"]["message"])
                self.assertEqual(len(complete_in(self.kept)), 1)
                self.assertEqual(self.ckpt("verify", self.kept).returncode, 0)
                self.assert_gone(nodes)

    def test_a_lost_server_names_the_newest_checkpoint(self):
        job = self.start_job("--epochs", "100000", "--batch", "256", "--processes", "--servers", "2", "--workers", "2", "--replicas", "1",
                             *self.keep())
        self.await_checkpoints(job, 0)
        os.kill(children_of(job.pid, "server")[0], signal.SIGKILL)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 5, err)
        self.assertRegex(last_json(out)["error"]["hint"], r"go on from %s/step-\S+ by .*--resume auto" % self.kept)

    def test_what_differs_is_refused_by_name(self):
        self.run_job(*WORK, *self.keep())
        step = "step-%d.%d" % complete_in(self.kept)[-1]
        other = self.copy_of_train("other.svm", flipped=0)
        with open(other, "ab") as rows:
            rows.write(b"1 5:1\n")
        for flags, train, said in (
                (("--epochs", "13", "--batch", "512"), self.train, "--batch is 512, there 256\n"),
                (("--epochs", "13", "--batch", "256", "--model", "fm"), self.train, "--model is fm, there lr"),
                (("--epochs", "13", "--batch", "256", "--data-shards", "4"), self.train, "--data-shards is 4, there 8"),
                (("--epochs", "13", "--batch", "256"), other, "the data is other data")):
            job = self.start_job(*flags, "--resume", os.path.join(self.kept, step), train=train)
            _, err = self.finish(job)
            self.assertEqual(job.returncode, 2, err)
            self.assertIn(said, err)
        job = self.start_job(*WORK, *self.keep())
        _, err = self.finish(job)
        self.assertEqual(job.returncode, 2, err)
        self.assertIn("there are checkpoints of another training", err)
        for mode in (("--algorithm", "downpour"), ("--algorithm", "local:4")):
            job = self.start_job(*WORK, *mode, "--checkpoint", self.kept + "-2")
            _, err = self.finish(job)
            self.assertEqual(job.returncode, 2, err)
            self.assertIn("keep some of it to themselves", err)
        job = self.start_job("--epochs", "13", "--batch", "256", "--algorithm", "async", "--resume", os.path.join(self.kept, step))
        _, err = self.finish(job)
        self.assertEqual(job.returncode, 2, err)
        self.assertIn("--algorithm is async, there sync", err)

    def test_a_second_training_is_refused_while_the_first_one_lives(self):
        endless = ("--epochs", "100000", "--batch", "256")
        scheduler = ("node", "scheduler", "--listen", "127.0.0.1:0", "--insecure-no-auth")
        cast = ("--processes", "--servers", "2", "--workers", "2")
        for first in ((), cast):
            with self.subTest(first=first):
                shutil.rmtree(self.kept, ignore_errors=True)
                job = self.start_job(*endless, *self.keep(), *first)
                self.await_checkpoints(job, 0)
                for second in (("train",), ("train", *cast), scheduler):
                    done = subprocess.run([PROGRAM, *second, self.train, *endless, *self.keep(), "--resume", "auto"], capture_output=True,
                                          text=True, timeout=PATIENCE_S, check=False)
                    self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
                    self.assertIn("thalweg: USAGE: --checkpoint %s: another training keeps its checkpoints there: %s/.lock is in use by process %d\n"
                                  % (self.kept, self.kept, job.pid), done.stderr)
                listed = last_json(self.ckpt("ls", "--json", self.kept).stdout)["checkpoints"]
                self.assertTrue(all("/step-" in one["path"] for one in listed), listed)
                for words in (("show", self.kept), ("prune", self.kept, "--keep", "100")):
                    self.assertEqual(self.ckpt(*words).returncode, 0, words)
                self.assertIsNone(job.poll())
                self.kill_all(job)
                self.run_job(*endless[2:], *self.keep(), "--epochs", str(complete_in(self.kept)[-1][0] + 1), "--resume", "auto")
                self.assertNotIn(".lock", os.listdir(self.kept))

    def test_more_passes_are_those_of_one_training(self):
        whole = self.run_job("--epochs", "5", "--batch", "256", "--valid", self.valid)
        self.run_job("--epochs", "3", "--batch", "256", "--valid", self.valid, *self.keep("30-steps"))
        longer = self.run_job("--epochs", "5", "--batch", "256", "--valid", self.valid, *self.keep("30-steps"), "--resume", "auto")
        self.assertEqual(longer["model_digest"], whole["model_digest"])
        self.assertEqual(longer["valid_auc"], whole["valid_auc"])
        self.assertEqual(longer["best_epoch"], whole["best_epoch"])

    # Of passes before and behind each kill, as one job without checkpoints tells of them.
    def test_the_best_pass_is_that_of_the_whole_training_after_kills(self):
        work = ("--epochs", "12", "--batch", "256", "--optimizer", "adam", "--rate", "0.02", "--valid", self.valid)
        whole = self.run_job(*work)
        self.assertIn(whole["best_epoch"], (3, 4))
        chance = random.Random(72)
        for cast in ((), ("--processes", "--servers", "2", "--workers", "2")):
            shutil.rmtree(self.kept, ignore_errors=True)
            for life in range(5):
                job = self.start_job(*work, *cast, *self.keep(), "--resume", "auto")
                self.await_checkpoints(job, 0)
                time.sleep(chance.random() * 0.5)
                if job.poll() is not None or life == 4:
                    break
                self.kill_all(job)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            result = last_json(out)
            for what in ("model_digest", "best_epoch", "kept_epoch", "valid_loss", "valid_auc"):
                self.assertEqual(result[what], whole[what], what)
            self.assertEqual([(one["epoch"], one["valid_logloss"]) for one in result["history"]],
                             [(one["epoch"], one["valid_logloss"]) for one in whole["history"]])

    def flip_a_bit(self, checkpoint, share):
        part = os.path.join(checkpoint, "server-0.part")
        with open(part, "r+b") as file:
            file.seek(int(os.path.getsize(part) * share))
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))

    def test_commands_name_a_newest_one_that_is_damaged(self):
        self.run_job(*WORK, *self.keep())
        older, newest = ["%s/step-%d.%d" % (self.kept, *step) for step in complete_in(self.kept)]
        said = last_json(self.ckpt("show", "--json", newest).stdout)
        self.assertRegex(said["library_version"], r"^\d+\.\d+\.\d+$")
        model, parts = os.path.join(self.folder.name, "of-damaged"), os.path.join(self.folder.name, "parts-of-damaged")
        commands = (("verify",), ("export", "-o", model), ("reshard", "--parts", "1", "-o", parts), ("show",))
        self.flip_a_bit(newest, 0.5)
        for name, *flags in commands[:3]:
            done = self.ckpt(name, self.kept, *flags)
            self.assertEqual(done.returncode, 8, done.stderr)
            self.assertIn("%s/server-0.part: damaged" % newest, done.stderr)
            self.assertIn("hint: the newest whole one is " + older, done.stderr)
        os.remove(os.path.join(newest, "server-0.part"))
        for name, *flags in commands:
            done = self.ckpt(name, self.kept, *flags)
            self.assertEqual((done.returncode, done.stdout), (8, ""), done.stderr)
            self.assertIn(newest, done.stderr)
            self.assertIn("hint: the newest whole one is " + older, done.stderr)
        self.assertFalse(os.path.exists(model))
        self.assertEqual(self.ckpt("export", older, "-o", model).returncode, 0)

    def test_pruning_leaves_the_newest_that_is_whole_by_each_byte(self):
        self.run_job(*WORK, *self.keep(), "--keep", "3")
        oldest, whole, newest = ["%s/step-%d.%d" % (self.kept, *step) for step in complete_in(self.kept)]
        self.flip_a_bit(newest, 0.5)
        done = self.ckpt("prune", self.kept, "--keep", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(last_json(done.stdout)["removed"], [oldest])
        self.assertEqual(len(last_json(done.stdout)["damaged"]), 1)
        self.assertIn("%s/server-0.part: damaged" % newest, done.stderr)
        self.assertEqual(self.ckpt("verify", whole).returncode, 0)

    def test_what_has_a_checkpoints_name_and_is_none_is_said_to_be_and_left(self):
        self.run_job(*WORK, *self.keep(), "--keep", "3")
        *_, older, newest = complete_in(self.kept)
        path, other = os.path.join(self.kept, "step-%d.%d" % older), os.path.join(self.kept, "step-90.1")
        os.rename(path, other)
        with open(os.path.join(self.kept, "step-99.1"), "w", encoding="ascii") as file:
            file.write("notes")
        said = "%s: its checkpoint.json is of step %d.%d, expected the directory's name to be step-%d.%d" % (other, *older, *older)
        for words in (("verify", other), ("verify", self.kept), ("show", other)):
            done = self.ckpt(*words)
            self.assertEqual((done.returncode, done.stdout), (8, ""), done.stderr)
            self.assertIn("thalweg: MODEL: " + said, done.stderr)
        *_, before, last = last_json(self.ckpt("ls", "--json", self.kept).stdout)["checkpoints"]
        self.assertEqual((before["complete"], before["step"]), (True, list(newest)))
        self.assertEqual((last["path"], last["complete"], last["step"], last["error"]), (other, False, list(older), said))
        done = self.ckpt("prune", self.kept, "--keep", "1")
        self.assertEqual((done.returncode, said in done.stderr), (0, True), done.stderr)
        self.assertEqual(sorted(os.listdir(self.kept)), sorted(["step-%d.%d" % newest, "step-90.1", "step-99.1"]))
        os.rename(other, path)
        self.assertEqual(self.ckpt("verify", path).returncode, 0)

    # Its bytes are looked at while they are loaded, after which the job begins again, unless others have joined it.
    def test_a_damaged_one_is_passed_over(self):
        self.run_job(*WORK, *self.keep())
        whole = self.kept + "-whole"
        shutil.copytree(self.kept, whole)
        for flags, share in (((), 0), ((), 0.5), ((), 0.999), (("--processes", "--servers", "2", "--workers", "2"), 0.5)):
            with self.subTest(flags=flags, share=share):
                shutil.rmtree(self.kept)
                shutil.copytree(whole, self.kept)
                older, newest = ["%s/step-%d.%d" % (self.kept, *step) for step in complete_in(self.kept)]
                self.flip_a_bit(newest, share)
                self.assertEqual(self.ckpt("verify", newest).returncode, 8)
                self.assertEqual(self.ckpt("verify", older).returncode, 0)
                job = self.start_job(*WORK, *flags, "--resume", newest)
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 8, err)
                self.assertRegex(last_json(out)["error"]["message"], "^--resume: %s/server-0.part: damaged: " % newest)
                job = self.start_job(*WORK, *flags, *self.keep(), "--resume", "auto")
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 0, err)
                self.assertRegex(err, "%s/server-0.part: damaged: .*; looking for an older checkpoint\n" % newest)
                self.assertIn("goes on from " + older, err)
                self.assertEqual(last_json(out)["model_digest"], self.calm)

    # Those of the job before count among the newest K, but for what has been passed over, and go as others come.
    def test_the_newest_stay_over_jobs_that_go_on(self):
        work = ("--batch", "256", "--keep", "3", "--resume", "auto")
        for flags in ((), ("--processes", "--servers", "2", "--workers", "2")):
            with self.subTest(flags=flags):
                shutil.rmtree(self.kept, ignore_errors=True)
                self.run_job("--epochs", "12", *work, *self.keep(), *flags)
                first, second, damaged = complete_in(self.kept)
                self.flip_a_bit("%s/step-%d.%d" % (self.kept, *damaged), 0.5)
                job = self.start_job("--epochs", "100000", *work, *self.keep("1h"), *flags)
                self.await_epoch(job, 14)
                job.send_signal(signal.SIGTERM)
                self.finish(job)
                self.assertEqual(complete_in(self.kept)[:-1], [first, second])
                last = complete_in(self.kept)[-1]
                self.run_job("--epochs", str(last[0] + 8), *work, *self.keep("50-steps"), *flags)
                names = complete_in(self.kept)
                self.assertEqual((len(names), names[0] >= last), (3, True), names)
                for step in names:
                    self.assertEqual(self.ckpt("verify", "%s/step-%d.%d" % (self.kept, *step)).returncode, 0)

    def test_where_all_are_damaged_training_begins_anew(self):
        self.run_job(*WORK, *self.keep())
        for step in complete_in(self.kept):
            self.flip_a_bit("%s/step-%d.%d" % (self.kept, *step), 0.5)
        job = self.start_job(*WORK, *self.keep(), "--resume", "auto")
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(err.count("looking for an older checkpoint"), 2)
        self.assertIn("no checkpoint in %s is whole: training begins anew" % self.kept, err)
        self.assertEqual(last_json(out)["model_digest"], self.calm)

    def test_whom_others_join_looks_at_all_of_it_first(self):
        self.run_job(*WORK, *self.keep())
        older, newest = ["%s/step-%d.%d" % (self.kept, *step) for step in complete_in(self.kept)]
        self.flip_a_bit(newest, 0.5)
        scheduler = [PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--insecure-no-auth", *WORK, self.train]
        done = subprocess.run([*scheduler, "--resume", newest], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertIn("--resume: %s/server-0.part: damaged: " % newest, done.stderr)
        job = subprocess.Popen([*scheduler, *self.keep(), "--resume", "auto"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        self.addCleanup(job.stderr.close)
        self.addCleanup(job.wait)
        self.addCleanup(job.kill)
        words = ""
        while "goes on from" not in words:
            line = job.stderr.readline()
            self.assertTrue(line, words)
            words += line
        self.assertIn("looking for an older checkpoint", words)
        self.assertIn("goes on from " + older, words)

    # Each row has a key of its own, so that from one checkpoint to the next few of all rows change.
    def test_what_has_not_changed_is_stored_once(self):
        data = os.path.join(self.folder.name, "own-keys.svm")
        with open(data, "w", encoding="ascii") as out:
            out.writelines("%d %d:1 %d:1\n" % (i % 3 == 0, 1 + i % 7, 10 + i) for i in range(40000))
        work, changes = ("--batch", "20", "--data-shards", "1"), ("--checkpoint-whole-every", "20")

        def train(*flags):
            job = self.start_job(*work, *flags, train=data)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            return last_json(out)["model_digest"]

        # Where a disk is slow, few are taken, and each has all rows.
        deadline = time.monotonic() + PATIENCE_S
        shown = None
        calm = train("--epochs", "3")
        while shown is None:
            self.assertLess(time.monotonic(), deadline, "no checkpoint has less than all rows")
            shutil.rmtree(self.kept, ignore_errors=True)
            train("--epochs", "2", *self.keep("40-steps"), *changes, "--keep", "4")
            listed = last_json(self.ckpt("ls", "--json", self.kept).stdout)["checkpoints"]
            self.assertTrue(all(one["complete"] for one in listed), listed)
            names = [os.path.basename(one["path"]) for one in listed]
            since = {name: one["since"] for name, one in zip(names, listed)}
            if names:
                self.assertLess({base for base in since.values() if base}, set(names))
            for path in [one["path"] for one in listed if one["since"]]:
                found = last_json(self.ckpt("show", "--json", path).stdout)
                if found["stored_rows"] < found["rows"]:
                    shown, name = found, os.path.basename(path)
        path, base = os.path.join(self.kept, name), os.path.join(self.kept, since[name])
        self.assertEqual(shown["since"], since[name])
        self.assertIn("changed since " + since[name], self.ckpt("ls", self.kept).stdout)
        self.assertIn("of the rows are here", self.ckpt("show", path).stdout)
        models = []
        for of in (path, os.path.join(self.folder.name, "own-keys-parts")):
            if of != path:
                self.assertEqual(self.ckpt("reshard", path, "--parts", "2", "-o", of).returncode, 0)
            model = os.path.join(self.folder.name, "own-keys-%d" % len(models))
            models.append(last_json(self.ckpt("export", of, "-o", model, "--json").stdout)["model_digest"])
        self.assertEqual(models[0], models[1])
        self.assertEqual(train("--epochs", "3", "--resume", path), calm)
        os.rename(base, base + "-aside")
        broken = self.ckpt("verify", path)
        self.assertEqual(broken.returncode, 8)
        self.assertIn("%s has the changes since %s: " % (name, since[name]), broken.stderr)
        self.assertIn("no such directory", broken.stderr)
        os.rename(base + "-aside", base)
        self.assertEqual(train("--epochs", "3", *self.keep("40-steps"), *changes, "--resume", "auto"), calm)
        self.assertEqual(self.ckpt("verify", self.kept).returncode, 0)

    def test_commands_list_show_prune_and_export(self):
        for _ in range(10):  # On a busy machine attempts may be too late for most of their steps.
            shutil.rmtree(self.kept, ignore_errors=True)
            self.run_job(*WORK, *self.keep("40-steps"), "--keep", "3")
            names = ["step-%d.%d" % step for step in complete_in(self.kept)]
            if len(names) == 3:
                break
        self.assertEqual(len(names), 3)
        listed = last_json(self.ckpt("ls", "--json", self.kept).stdout)["checkpoints"]
        self.assertEqual([os.path.basename(one["path"]) for one in listed], names)
        self.assertTrue(all(one["complete"] and one["rows"] > 0 for one in listed))
        newest = os.path.join(self.kept, names[-1])
        self.assertEqual(last_json(self.ckpt("show", "--json", newest).stdout)["job"]["batch_rows"], 256)
        model = os.path.join(self.folder.name, "exported")
        exported = self.ckpt("export", newest, "-o", model, "--json")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        digest = subprocess.run([PROGRAM, "model", "digest", model], capture_output=True, text=True, check=True).stdout.strip()
        self.assertEqual(digest, last_json(exported.stdout)["model_digest"])
        scores = subprocess.run([PROGRAM, "eval", "--model", model, self.valid, "--json"], capture_output=True, text=True, check=True)
        self.assertGreater(last_json(scores.stdout)["auc"], 0.6)
        for parts in ("1", "5"):
            other = os.path.join(self.folder.name, "parts-" + parts)
            made = self.ckpt("reshard", self.kept, "--parts", parts, "-o", other, "--json")
            self.assertEqual(made.returncode, 0, made.stderr)
            self.assertEqual(last_json(made.stdout)["path"], os.path.join(other, names[-1]))
            self.assertEqual(len(last_json(self.ckpt("show", "--json", other).stdout)["parts"]), int(parts))
            self.assertEqual(self.ckpt("verify", other).returncode, 0)
            again = self.ckpt("export", other, "-o", model + parts, "--json")
            self.assertEqual(last_json(again.stdout)["model_digest"], digest)
            resumed = self.run_job(*WORK, "--resume", os.path.join(other, names[-1]))
            self.assertEqual(resumed["model_digest"], self.calm)
        self.assertEqual(self.ckpt("reshard", self.kept, "--parts", "1", "-o", other).returncode, 2, "it is there already")
        self.assertEqual(self.ckpt("reshard", self.kept, "--parts", "2").returncode, 2)
        self.assertEqual(self.ckpt("prune", self.kept, "--keep", "1").returncode, 0)
        self.assertEqual(["step-%d.%d" % step for step in complete_in(self.kept)], names[-1:])

    # Where files may not grow beyond the manifest's size, as on a full disk.
    def test_a_disk_that_refuses_ends_nothing(self):
        self.run_job("--epochs", "2", "--batch", "256", *self.keep())
        before = complete_in(self.kept)
        flags = self.command("--epochs", "12", "--batch", "256", *self.keep(), "--resume", "auto")
        done = subprocess.run(["bash", "-c", 'ulimit -f 8; exec "$0" "$@"', *flags], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(last_json(done.stdout)["model_digest"], self.calm)
        said = re.findall(r"no checkpoint: .*", done.stderr)
        self.assertEqual(len(said), 1, done.stderr)
        self.assertRegex(said[0], r"server-\d: cannot write \d+ bytes at \d+ of %s/\.taking-\S+: .*; training goes on, and the newest is %s/step-"
                         % (self.kept, self.kept))
        self.assertEqual(complete_in(self.kept), before)
        self.assertEqual([name for name in os.listdir(self.kept) if name.startswith(".taking")], [])


if __name__ == "__main__":
    unittest.main()
