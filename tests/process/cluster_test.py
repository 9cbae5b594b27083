#!/usr/bin/env python3
"""Whole jobs as real processes: same bits however they are spread, and clean ends however they are hurt."""
import array
import contextlib
import fcntl
import gzip
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import termios
import time
import unittest

from reserved_port import reserved_port

PROGRAM = os.environ["THALWEG_TEST_PROGRAM"]
SOURCE = os.environ["THALWEG_TEST_SOURCE"]
PATIENCE_S = 120


def kill_if_alive(pid):
    """A job that was interrupted first may have ended within milliseconds."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def write_rows(path, rows, seed):
    """Sparse rows with a planted logistic rule, so that there is something to learn."""
    chance = random.Random(seed)
    with open(path, "w", encoding="ascii") as out:
        for _ in range(rows):
            ids = sorted(chance.sample(range(1, 2000), 12))
            score = sum(((i * 2654435761) % 1000) / 500 - 1 for i in ids)
            label = 1 if chance.random() < 1 / (1 + 2.718281828 ** -score) else 0
            out.write("%d %s\n" % (label, " ".join("%d:1" % i for i in ids)))


def last_json(text):
    return json.loads(text.strip().splitlines()[-1])


def children_of(pid, word):
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open("/proc/%s/stat" % entry, encoding="ascii", errors="replace") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            with open("/proc/%s/cmdline" % entry, "rb") as line:
                words = line.read().split(b"\0")
        except (OSError, ValueError, IndexError):
            continue
        if parent == pid and word.encode() in words:
            found.append(int(entry))
    return found


class ClusterTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.train = os.path.join(cls.folder.name, "train.svm")
        cls.valid = os.path.join(cls.folder.name, "valid.svm")
        write_rows(cls.train, 20000, 1)
        write_rows(cls.valid, 2000, 2)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def command(self, *flags, train=None):
        return [PROGRAM, "train", train or self.train, "--json", *flags]

    def run_job(self, *flags):
        done = subprocess.run(self.command(*flags), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return last_json(done.stdout)

    def start_job(self, *flags, train=None, **more):
        """Its words go to a file, so that they can be waited for."""
        with tempfile.NamedTemporaryFile(dir=self.folder.name, delete=False) as words:
            job = subprocess.Popen(self.command(*flags, train=train), stdout=subprocess.PIPE, stderr=words, text=True,
                                   **more)
        job.words = words.name
        return job

    @staticmethod
    def words_of(job):
        with open(job.words, encoding="utf-8") as words:
            return words.read()

    def start_node(self, *arguments):
        with tempfile.NamedTemporaryFile(dir=self.folder.name, delete=False) as words:
            node = subprocess.Popen([PROGRAM, "node", *arguments], stdout=subprocess.DEVNULL, stderr=words)
        node.words = words.name
        return node

    def await_epoch(self, job, number):
        self.await_words(job, "epoch %d/" % number)

    def await_words(self, job, words):
        deadline = time.monotonic() + PATIENCE_S
        while words not in self.words_of(job):
            self.assertIsNone(job.poll(), self.words_of(job))
            self.assertLess(time.monotonic(), deadline, self.words_of(job))
            time.sleep(0.01)

    def start_long_job(self, *flags):
        """Processes that are past their first epoch."""
        job = self.start_job("--processes", "--servers", "2", "--workers", "3", *flags)
        self.await_epoch(job, 1)
        return job

    def finish(self, job):
        out, err = job.communicate(timeout=PATIENCE_S)
        return out, err if err is not None else self.words_of(job)

    def test_bits_do_not_depend_on_how_the_job_is_spread(self):
        digests = {self.run_job(*flags)["model_digest"]
                   for flags in [("--servers", "1", "--workers", "1"), ("--servers", "3", "--workers", "2"),
                                 ("--threads", "4", "--workers", "5"), ("--processes",),
                                 ("--processes", "--servers", "2", "--workers", "3")]}
        self.assertEqual(len(digests), 1)

    def test_pipes_and_packed_files_are_read_whole(self):
        with open(self.train, "rb") as rows:
            piped = subprocess.run([PROGRAM, "train", "-", "--json"], stdin=rows, capture_output=True, text=True,
                                   timeout=PATIENCE_S, check=False)
        self.assertEqual(piped.returncode, 0, piped.stderr)
        self.assertEqual(last_json(piped.stdout)["examples"], 20000)
        with open(self.train, "rb") as plain, gzip.open(self.train + ".gz", "wb") as packed:
            packed.write(plain.read())
        digests = set()
        for flags in [(), ("--workers", "1"), ("--processes",)]:
            done = subprocess.run([PROGRAM, "train", self.train + ".gz", "--json", *flags], capture_output=True,
                                  text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(last_json(done.stdout)["examples"], 20000)
            digests.add(last_json(done.stdout)["model_digest"])
        self.assertEqual(len(digests), 1)

    def test_combined_pushes_change_no_bit_and_save_bytes(self):
        clicks = os.path.join(self.folder.name, "clicks.svm")
        subprocess.run([PROGRAM, "data", "synth", "--rows", "20000", "-o", clicks, "--quiet"], check=True)
        results = {}
        for spread in [("--workers", "4"), ("--workers", "4", "--servers", "2", "--processes")]:
            for combine in ["none", "machine", "tree:2"]:
                done = subprocess.run([PROGRAM, "train", clicks, "--json", "--combine", combine, *spread],
                                      capture_output=True, text=True, timeout=PATIENCE_S, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                results.setdefault(combine, []).append(last_json(done.stdout))
        self.assertEqual(len({r["model_digest"] for ran in results.values() for r in ran}), 1)
        single = max(r["pushed_bytes"] for r in results["none"])
        for combine in ["machine", "tree:2"]:
            for ran in results[combine]:
                self.assertLess(ran["pushed_bytes"], 0.8 * single)

    # Each worker is killed in one of the rounds, so the one that combines for all is.
    def test_a_killed_lead_changes_no_bit(self):
        calm = self.run_job("--epochs", "60", "--batch", "256")["model_digest"]
        for combine, victim in [("machine", 0), ("machine", 1), ("machine", 2), ("tree:1", 0)]:
            job = self.start_long_job("--epochs", "60", "--batch", "256", "--combine", combine)
            os.kill(sorted(children_of(job.pid, "worker"))[victim], signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)

    def test_a_killed_worker_changes_no_bit(self):
        calm = self.run_job("--epochs", "60", "--batch", "256")["model_digest"]
        for round_number in range(3):
            job = self.start_long_job("--epochs", "60", "--batch", "256")
            self.await_epoch(job, 1 + 8 * round_number)
            os.kill(children_of(job.pid, "worker")[round_number], signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)
            self.assertEqual(last_json(out)["examples"], 60 * 20000)
            said = re.findall(r"^worker-\d \(.*\) .*; its \d data shards go to worker-\d.*$", err, re.M)
            self.assertEqual(len(said), 1, err)

    def test_a_killed_worker_loses_no_row_without_lockstep(self):
        for sync in ("ssp:2", "async"):
            job = self.start_long_job("--epochs", "60", "--batch", "256", "--sync", sync)
            os.kill(children_of(job.pid, "worker")[1], signal.SIGKILL)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["examples"], 60 * 20000)
            if sync == "ssp:2":
                self.assertEqual(last_json(out)["staleness_max"], 2)

    def test_a_stopped_worker_is_replaced_and_fenced(self):
        calm = self.run_job("--epochs", "60", "--batch", "256")["model_digest"]
        job = self.start_long_job("--epochs", "60", "--batch", "256", "--timeout", "8s")
        victim = children_of(job.pid, "worker")[0]
        os.kill(victim, signal.SIGSTOP)
        epoch = self.words_of(job).count("epoch ")
        self.await_epoch(job, epoch + 3)  # In lockstep, others have its shards then.
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGCONT)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(last_json(out)["model_digest"], calm)

    def test_a_killed_server_ends_the_job_naming_what_is_lost(self):
        job = self.start_long_job("--epochs", "1000", "--batch", "256", "--timeout", "20s")
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

    # Their starter knows at once, whatever their connections tell later.
    def test_the_death_of_a_worker_is_known_before_its_silence(self):
        calm = self.run_job("--epochs", "60", "--batch", "256")["model_digest"]
        for how, said in ((signal.SIGKILL, "was ended by signal 9 (Killed)"), (signal.SIGTERM, "ended with exit code 130")):
            job = self.start_long_job("--epochs", "60", "--batch", "256", "--verbose")
            victim = children_of(job.pid, "worker")[0]
            os.kill(victim, how)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)
            self.assertIn("node worker (process %d) %s" % (victim, said), err)
            self.assertNotIn("not connected for", err.split(said)[0])

    def test_a_worker_killed_before_the_job_begins_is_replaced(self):
        calm = self.run_job()["model_digest"]
        replaced = 0
        for _ in range(40):
            job = self.start_job("--processes", "--servers", "2", "--workers", "2", "--verbose")
            while not (victims := children_of(job.pid, "worker")) and job.poll() is None:
                pass
            for victim in victims[:1]:
                kill_if_alive(victim)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 0, err)
            self.assertEqual(last_json(out)["model_digest"], calm)
            replaced += "before the job began; another takes its place" in err
            if replaced == 3:
                return
        self.fail("no worker was killed in time")

    def test_a_worker_by_hand_that_dies_before_the_job_begins_is_waited_for(self):
        scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--workers", "2", self.train],
                                     stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        address = re.search(r"listens on (\S+);", scheduler.stderr.readline()).group(1)

        def start(role):
            return subprocess.Popen([PROGRAM, "node", role, "--join", address], stderr=subprocess.DEVNULL)

        def await_line(line):
            for said in scheduler.stderr:
                if said.strip().endswith(line):
                    return
            self.fail("the scheduler never said " + line)

        nodes = [start("server")]
        victim = start("worker")
        await_line("waiting for worker-1")
        victim.kill()
        victim.wait()
        await_line("waiting for worker-0, worker-1")
        nodes += [start("worker"), start("worker")]
        _, err = self.finish(scheduler)
        self.assertEqual([node.wait(PATIENCE_S) for node in nodes], [0] * 3)
        self.assertEqual(scheduler.returncode, 0, err)

    def test_killing_the_parent_ends_every_node(self):
        job = self.start_long_job("--epochs", "1000")
        nodes = children_of(job.pid, "worker") + children_of(job.pid, "server")
        job.kill()
        self.finish(job)
        self.assert_gone(nodes)

    def test_interrupt_saves_and_ends(self):
        for how, flags in [(signal.SIGINT, ()), (signal.SIGINT, ("--processes",)), (signal.SIGHUP, ())]:
            model = os.path.join(self.folder.name, "interrupted-%d-%d" % (how, len(flags)))
            job = self.start_job("--epochs", "1000", "--out", model, *flags)
            self.await_epoch(job, 1)
            job.send_signal(how)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 130, err)
            self.assertEqual(len(out.splitlines()), 1)
            summary = last_json(out)
            self.assertEqual((summary["interrupted"], summary["error"]["code"]), (True, "ABORTED"))
            self.assertIn("is saved", summary["error"]["message"])
            digest = subprocess.run([PROGRAM, "model", "digest", model], capture_output=True, text=True, check=True)
            self.assertEqual(digest.stdout.strip(), summary["model_digest"])

    # Its destination was free when it began.
    def test_a_model_that_cannot_be_saved_where_it_was_asked_for_is_saved_elsewhere(self):
        for flags in ((), ("--processes",)):
            model = os.path.join(self.folder.name, "taken-%d" % len(flags))
            job = self.start_job("--epochs", "100000", "--out", model, *flags)
            self.await_epoch(job, 1)
            os.mkdir(model)
            with open(os.path.join(model, "notes"), "w", encoding="ascii") as notes:
                notes.write("no model")
            job.send_signal(signal.SIGINT)
            out, err = self.finish(job)
            self.assertEqual(job.returncode, 1, err)
            summary = last_json(out)
            self.assertEqual(summary["error"]["code"], "IO")
            self.assertRegex(summary["error"]["message"], "%s: a directory that is no model is in the way; the model is "
                                                          "saved at %s instead" % (model, summary["model"]))
            self.assertTrue(summary["model"].startswith(model + ".recovered-"), summary)
            digest = subprocess.run([PROGRAM, "model", "digest", summary["model"]], capture_output=True, text=True,
                                    check=True)
            self.assertEqual(digest.stdout.strip(), summary["model_digest"])
            self.assertEqual(os.listdir(model), ["notes"])

    def test_a_limit_on_the_size_of_files_is_an_error_like_a_full_disk(self):
        model = os.path.join(self.folder.name, "limited")
        scores = os.path.join(self.folder.name, "limited.txt")
        limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        done = subprocess.run(self.command("--out", model), capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False, preexec_fn=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        error = last_json(done.stdout)["error"]
        self.assertEqual(error["code"], "IO")
        self.assertRegex(error["message"], r"cannot write \d+ bytes at \d+ of \S+limited\S+: File too large")
        self.assertIn("nor could the model be saved elsewhere", error["message"])
        self.assertEqual([name for name in os.listdir(self.folder.name) if name.startswith("limited")], [])
        self.run_job("--out", model)
        done = subprocess.run([PROGRAM, "predict", "--model", model, self.train, "-o", scores], capture_output=True,
                              text=True, timeout=PATIENCE_S, check=False, preexec_fn=limit)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("limited.txt: cannot be written: File too large", done.stderr)

    def test_an_interrupt_without_out_does_not_claim_to_save(self):
        job = self.start_job("--epochs", "1000")
        self.await_epoch(job, 1)
        job.send_signal(signal.SIGINT)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 130, err)
        self.assertNotIn("saving", err)
        self.assertIn("nothing is saved", last_json(out)["error"]["message"])

    # A pipe that is open and empty can neither hold up the end nor, in a turn with the servers, the job.
    def test_interrupt_while_a_pipe_stalls_saves_and_ends(self):
        model = os.path.join(self.folder.name, "stalled")
        job = subprocess.Popen([PROGRAM, "train", "-", "--json", "--out", model], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        with open(self.train, "rb") as rows:
            job.stdin.write(rows.read())
        job.stdin.flush()
        unread = array.array("i", [1])
        deadline = time.monotonic() + PATIENCE_S
        while unread[0] > 0:
            fcntl.ioctl(job.stdin, termios.FIONREAD, unread)
            self.assertLess(time.monotonic(), deadline, "the rows were never read")
            time.sleep(0.01)
        time.sleep(0.5)  # Now it waits for more.
        job.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(timeout=PATIENCE_S), 130)
        with job.stdin, job.stdout, job.stderr:
            summary = last_json(job.stdout.read().decode())
        self.assertGreater(summary["examples"], 0)
        subprocess.run([PROGRAM, "eval", "--model", model, self.valid], capture_output=True, check=True)

    def test_interrupting_twice_ends_at_once(self):
        job = self.start_job("--epochs", "100000")
        self.await_epoch(job, 1)
        while job.poll() is None:
            job.send_signal(signal.SIGINT)
            time.sleep(0.002)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 130, err)
        self.assertEqual(len(out.splitlines()), 1)
        self.assertEqual(last_json(out)["error"]["code"], "ABORTED")

    def test_interrupt_while_workers_die_saves_and_ends(self):
        model = os.path.join(self.folder.name, "bereaved")
        for round_number in range(6):
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

    # Of a script, too: Ctrl-C goes to all that it has started, and the shell lets those in the background ignore it.
    def test_interrupt_of_a_script_saves_and_ends(self):
        model = os.path.join(self.folder.name, "scripted")
        kept, port = reserved_port()
        self.addCleanup(kept.close)
        script = """
            "$0" node server --join 127.0.0.1:%d &
            "$0" node worker --join 127.0.0.1:%d &
            "$0" node scheduler --listen 127.0.0.1:%d --epochs 1000 --out "$1" "$2"
            code=$?
            wait
            exit $code""" % (port, port, port)
        job = subprocess.Popen(["bash", "-c", script, PROGRAM, model, self.train], stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
        said = []
        while not said or "epoch 1/" not in said[-1]:
            said.append(job.stderr.readline())
            self.assertNotEqual(said[-1], "", said)
        os.killpg(job.pid, signal.SIGINT)
        _, err = job.communicate(timeout=PATIENCE_S)
        self.assertNotIn("PEER_LOST", err)
        subprocess.run([PROGRAM, "eval", "--model", model, self.valid], capture_output=True, check=True)

    def test_interrupt_before_all_have_joined_ends(self):
        job = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--workers", "2", self.train],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertIn("waiting for server-0, worker-0, worker-1", job.stderr.readline())
        job.send_signal(signal.SIGINT)
        _, err = self.finish(job)
        self.assertEqual(job.returncode, 130, err)
        self.assertIn("before all nodes had joined", err)

    def test_who_joins_and_who_is_turned_away_is_said(self):
        job = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--epochs", "100000", self.train],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = re.search(r"listens on (\S+);", job.stderr.readline()).group(1)
        nodes = [subprocess.Popen([PROGRAM, "node", role, "--join", address], stderr=subprocess.DEVNULL)
                 for role in ("server", "worker")]
        while "epoch 1/" not in job.stderr.readline():
            self.assertIsNone(job.poll())
        extra = subprocess.run([PROGRAM, "node", "server", "--join", address], capture_output=True, text=True,
                               timeout=PATIENCE_S, check=False)
        self.assertEqual(extra.returncode, 1)
        self.assertIn("REFUSED: the job has all its servers, 1 of 1; this one is not needed", extra.stderr)
        nodes.append(subprocess.Popen([PROGRAM, "node", "worker", "--join", address], stderr=subprocess.DEVNULL))
        line = ""
        while "worker-1" not in line:
            self.assertIsNone(job.poll())
            line = job.stderr.readline()
        self.assertRegex(line, r"^worker-1 \(.*process %d\) joined; it stands by" % nodes[-1].pid)
        job.send_signal(signal.SIGINT)
        _, err = self.finish(job)
        self.assertEqual(job.returncode, 130, err)
        self.assertNotIn("server-", err)
        for node in nodes:
            node.wait(PATIENCE_S)

    def test_columns_that_only_workers_see_must_be_named(self):
        rows = os.path.join(self.folder.name, "rows.csv")
        with open(rows, "w", encoding="ascii") as out:
            out.write("click,site\n" + "1,7\n0,a\n" * 50)
        for flags, code in ((["--columns", "click:label,site:cat"], 0), (["--columns", "click:label"], 2), ([], 2)):
            with self.subTest(flags=flags):
                scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", *flags],
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                address = re.search(r"listens on (\S+);", scheduler.stderr.readline()).group(1)
                server = subprocess.Popen([PROGRAM, "node", "server", "--join", address], stderr=subprocess.DEVNULL)
                worker = subprocess.run([PROGRAM, "node", "worker", "--join", address, "--", rows], check=False,
                                        capture_output=True, text=True, timeout=PATIENCE_S)
                _, err = self.finish(scheduler)
                server.wait(PATIENCE_S)
                self.assertEqual((scheduler.returncode, worker.returncode), (code, code), err + worker.stderr)
                self.assertEqual("--columns that names each of them, as in click:label,site:cat" in err, code == 2, err)

    def test_workers_that_read_different_files_end_the_job(self):
        copy = os.path.join(self.folder.name, "copy.svm")
        shutil.copyfile(self.train, copy)
        for second, code in ((copy, 0), (self.valid, 4)):
            with self.subTest(second=second):
                scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--workers", "2"],
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                address = re.search(r"listens on (\S+);", scheduler.stderr.readline()).group(1)
                nodes = [subprocess.Popen([PROGRAM, "node", *arguments[:1], "--join", address, *arguments[1:]],
                                          stderr=subprocess.DEVNULL)
                         for arguments in (["server"], ["worker", "--", self.train], ["worker", "--", second])]
                _, err = self.finish(scheduler)
                self.assertEqual([node.wait(PATIENCE_S) for node in nodes], [code] * 3)
                self.assertEqual(scheduler.returncode, code, err)
                self.assertEqual("give every worker the same ones" in err, code != 0, err)

    def copy_of_train(self, name, flipped=0):
        """With other labels in that many last rows."""
        copy = os.path.join(self.folder.name, name)
        with open(self.train, "rb") as rows, open(copy, "wb") as out:
            lines = rows.read().splitlines(keepends=True)
            same = len(lines) - flipped
            out.writelines(lines[:same] + [b"%d%s" % (1 - int(line[:1]), line[1:]) for line in lines[same:]])
        return copy

    def test_a_file_that_changes_during_training_ends_the_job(self):
        for line, error in ((b"spoilt", r"changing\.svm:20000:1: saw .* expected a label"),
                            (b"# not a row", r"changing\.svm: changed while it was used: \d+ rows|something else"),
                            (b"0 1:3 1:3 ", r"changing\.svm, pass \d+: between .*, byte \d+ and .* stands something else")):
            with self.subTest(line=line):
                copy = self.copy_of_train("changing.svm")
                job = self.start_job("--epochs", "100000", train=copy)
                self.await_epoch(job, 1)
                with open(copy, "r+b") as rows:
                    rows.seek(rows.read()[:-1].rfind(b"\n") + 1)
                    rows.write(line)
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 4, err)
                self.assertRegex(last_json(out)["error"]["message"], error)

    # Both copies have one size and one begin, and nobody but an heir reads what another worker has read.
    def test_an_heir_with_other_rows_ends_the_job(self):
        for flipped, code in ((0, 0), (2000, 4)):  # So many that each shard has some.
            with self.subTest(flipped=flipped):
                copies = [self.train, self.copy_of_train("other.svm", flipped)]
                scheduler = self.start_node("scheduler", "--listen", "127.0.0.1:0", "--workers", "2", "--epochs", "300")
                self.await_words(scheduler, "listens on")
                address = re.search(r"listens on (\S+);", self.words_of(scheduler)).group(1)
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

    def test_workers_that_unpack_other_rows_end_the_job(self):
        copies = []
        for name, flipped in (("one.svm", 0), ("two.svm", 1)):
            copies.append(os.path.join(self.folder.name, name + ".gz"))
            with open(self.copy_of_train(name, flipped), "rb") as plain, open(copies[-1], "wb") as packed:
                packed.write(gzip.compress(plain.read(), compresslevel=0, mtime=0))
        scheduler = self.start_node("scheduler", "--listen", "127.0.0.1:0", "--workers", "2")
        self.await_words(scheduler, "listens on")
        address = re.search(r"listens on (\S+);", self.words_of(scheduler)).group(1)
        nodes = [self.start_node("server", "--join", address)]
        for copy in copies:
            nodes.append(self.start_node("worker", "--join", address, "--", copy))
        _, err = self.finish(scheduler)
        self.assertEqual(scheduler.returncode, 4, err)
        self.assertRegex(err, r"\.svm\.gz: the worker of data shard \d+ unpacked another text")
        for node in nodes:
            node.wait(PATIENCE_S)

    def test_the_page_about_clusters_is_true(self):
        with open(os.path.join(SOURCE, "docs", "cluster.md"), encoding="utf-8") as page:
            blocks = dict(re.findall(r"```sh terminal=(\d)\n(.*?)```", page.read(), re.S))
        self.assertEqual(sorted(blocks), ["1", "2", "3", "4"])
        env = dict(os.environ, PATH=os.path.dirname(PROGRAM) + ":" + os.environ["PATH"])
        for order in ("123", "321"):
            kept, port = reserved_port()
            self.addCleanup(kept.close)
            terminals = {}
            for number in order:
                script = blocks[number].replace(":7100", ":%d" % port) + "\nwait\n"
                terminals[number] = subprocess.Popen(["bash", "-ec", script], cwd=self.folder.name, env=env,
                                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                time.sleep(0.2)
            for number, terminal in terminals.items():
                _, err = terminal.communicate(timeout=PATIENCE_S)
                self.assertEqual(terminal.returncode, 0, "terminal %s: %s" % (number, err))
            last = subprocess.run(["bash", "-ec", blocks["4"]], cwd=self.folder.name, env=env, capture_output=True,
                                  text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(last.returncode, 0, last.stderr)
            with open(os.path.join(self.folder.name, "scores.txt"), encoding="ascii") as scores:
                self.assertEqual(len(scores.read().splitlines()), 2000)
            self.assertEqual(last.stdout.split()[-1], self.run_job("--valid", self.valid)["model_digest"],
                             "the same job by thalweg train has the same bits")

    def assert_gone(self, pids):
        deadline = time.monotonic() + PATIENCE_S
        left = pids
        while left and time.monotonic() < deadline:
            left = [pid for pid in left if os.path.exists("/proc/%d" % pid) and not self.is_zombie(pid)]
            time.sleep(0.05)
        self.assertEqual(left, [])

    @staticmethod
    def is_zombie(pid):
        try:
            with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as stat:
                return stat.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            return True


if __name__ == "__main__":
    unittest.main(verbosity=2)
