"""Jobs of several processes of the program, for tests that start them, wait for what they say and hurt them."""
import functools
import json
import os
import random
import re
import subprocess
import tempfile
import time

from programs import PROGRAM, SANITIZER, ProgramTest, alive, patience

PATIENCE_S = patience(240)
ROWS = 2000 if SANITIZER else 20000
# At a rate near 0 all gradients are those of weights 0, so that weights count rows: a push that is lost or
# counts twice moves some by half the rate for each of its rows, all that depends on timing by far less.
COUNTED_RATE = 1e-9
COUNTED = ("--optimizer", "sgd", "--rate", str(COUNTED_RATE), "--keep-bad")


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


def address_in(words):
    """Where a node says that it listens."""
    return re.search(r"listens on (\S+);", words).group(1)


class ClusterJobs(ProgramTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.train = os.path.join(cls.folder.name, "train.svm")
        cls.valid = os.path.join(cls.folder.name, "valid.svm")
        write_rows(cls.train, ROWS, 1)
        write_rows(cls.valid, 2000, 2)

    def command(self, *flags, train=None):
        return [PROGRAM, "train", train or self.train, "--json", *flags]

    def run_job(self, *flags, train=None):
        done = subprocess.run(self.command(*flags, train=train), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return last_json(done.stdout)

    @classmethod
    @functools.cache
    def calm_digest(cls, *flags):
        """Of the model of a job that nothing disturbs."""
        done = subprocess.run([PROGRAM, "train", cls.train, "--json", *flags], capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return last_json(done.stdout)["model_digest"]

    def start_job(self, *flags, train=None, **more):
        """Its words go to a file, so that they can be waited for."""
        with tempfile.NamedTemporaryFile(dir=self.folder.name, delete=False) as words:
            job = subprocess.Popen(self.command(*flags, train=train), stdout=subprocess.PIPE, stderr=words, text=True,
                                   **more)
        job.words = words.name
        return self.end_with_test(job)

    @staticmethod
    def words_of(job):
        with open(job.words, encoding="utf-8") as words:
            return words.read()

    def start_node(self, *arguments):
        with tempfile.NamedTemporaryFile(dir=self.folder.name, delete=False) as words:
            node = subprocess.Popen([PROGRAM, "node", *arguments], stdout=subprocess.DEVNULL, stderr=words)
        node.words = words.name
        return self.end_with_test(node)

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

    def copy_of_train(self, name, flipped=0, times=1):
        """All rows so many times, and other labels in the last `flipped` of them."""
        copy = os.path.join(self.folder.name, name)
        with open(self.train, "rb") as rows, open(copy, "wb") as out:
            lines = rows.read().splitlines(keepends=True) * times
            same = len(lines) - flipped
            out.writelines(lines[:same] + [b"%d%s" % (1 - int(line[:1]), line[1:]) for line in lines[same:]])
        return copy

    @staticmethod
    def weights_of(model):
        text = model + "-text"
        subprocess.run([PROGRAM, "model", "export", model, "--format", "text", "-o", text, "-q"], check=True, timeout=PATIENCE_S)
        out = {}
        for name in os.listdir(text):
            with open(os.path.join(text, name), encoding="ascii") as rows:
                out.update(((name, line.split()[0]), float(line.split()[1])) for line in rows)
        return out

    def assert_counted_as(self, calm, model):
        """Of trainings with COUNTED."""
        found = self.weights_of(model)
        self.assertEqual(found.keys(), calm.keys())
        self.assertLess(max(abs(found[key] - calm[key]) for key in calm), COUNTED_RATE / 10)

    def assert_gone(self, pids):
        deadline = time.monotonic() + PATIENCE_S
        left = pids
        while left and time.monotonic() < deadline:
            left = [pid for pid in left if alive(pid)]
            time.sleep(0.05)
        self.assertEqual(left, [])
