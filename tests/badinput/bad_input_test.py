#!/usr/bin/env python3
"""Bad files, options and surroundings: each gets one error that names what and where, and its exit code."""
import gzip
import json
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

from programs import PROGRAM, SANITIZER, ProgramTest, patience

PATIENCE_S = patience(10)
OTHER, USAGE, CONFIG, DATA, NON_FINITE, MODEL = 1, 2, 3, 4, 7, 8
RSS_MAX_BYTES = (1200 if SANITIZER else 300) << 20  # A sanitizer has memory of its own.


def train_rows(count, seed=1):
    chance = random.Random(seed)
    lines = []
    for _ in range(count):
        ids = sorted(chance.sample(range(1, 500), 8))
        lines.append("%d %s\n" % (ids[0] % 2, " ".join("%d:1" % i for i in ids)))
    return "".join(lines).encode()


class BadInput(ProgramTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.good = self.file("good.svm", train_rows(200))

    def path(self, name):
        return os.path.join(self.folder, name)

    def file(self, name, content):
        with open(self.path(name), "wb") as out:
            out.write(content)
        return self.path(name)

    def run_program(self, *words, stdin=None, folder=None):
        """Exit code, standard output and error, and the largest resident size in bytes."""
        child = subprocess.Popen([PROGRAM, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 stdin=stdin or subprocess.DEVNULL, cwd=folder)
        late = threading.Timer(PATIENCE_S, child.kill)
        late.start()
        texts = {}
        readers = [threading.Thread(target=lambda n=n, f=f: texts.update({n: f.read().decode(errors="replace")}))
                   for n, f in (("out", child.stdout), ("err", child.stderr))]
        for reader in readers:
            reader.start()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        late.cancel()
        for reader in readers:
            reader.join()
        child.stdout.close()
        child.stderr.close()
        self.assertNotEqual(child.returncode, -9, "no end within %d s: %s" % (PATIENCE_S, words))
        return child.returncode, texts["out"], texts["err"], usage.ru_maxrss * 1024

    def assert_refused(self, code, pattern, *words, hint=None, folder=None, rss_max=RSS_MAX_BYTES):
        """One error, whose text matches `pattern`, for people and as JSON."""
        got, out, err, rss = self.run_program(*words, "--json", folder=folder)
        self.assertEqual(got, code, "%s\n%s" % (words, err))
        errors = [line for line in err.splitlines() if re.match(r"thalweg: [A-Z_]+: ", line)]
        self.assertEqual(len(errors), 1, err)
        self.assertRegex(errors[0], pattern)
        for trace in ("terminate", "Traceback", "CHECK", "core dumped", "Sanitizer"):
            self.assertNotIn(trace, err)
        error = json.loads(out.strip().splitlines()[-1])["error"]
        self.assertRegex(error["message"], pattern)
        if hint is not None:
            self.assertIn(hint, error["hint"])
        self.assertLess(rss, rss_max)


class BadFilesTest(BadInput):
    def assert_bad_file(self, name, content, pattern):
        self.assert_refused(DATA, pattern, "train", self.file(name, content))
        self.assert_refused(DATA, pattern, "data", "check", self.path(name))

    def test_missing(self):
        for words in (("train",), ("data", "check"), ("train", self.good, "--valid")):
            self.assert_refused(DATA, r"gone\.svm: cannot be opened: No such file", *words, self.path("gone.svm"))

    def test_empty(self):
        self.assert_bad_file("empty", b"", r"empty: is empty")

    def test_empty_among_others(self):
        empty = self.file("part-empty", b"")
        for words in (("train",), ("data", "check")):
            code, _, err, _ = self.run_program(*words, empty, self.good)
            self.assertEqual(code, 0, err)
            self.assertRegex(err, r"warning: .*part-empty has no rows")

    def test_held_out_rows_of_another_format(self):
        rows = self.file("valid.csv", b"label,x\n1,red\n0,blue\n")
        self.assert_refused(DATA, r"valid\.csv: looks like csv, expected libsvm as in .*: the same feature has",
                            "train", self.good, "--valid", rows)

    def test_unreadable(self):
        self.assert_refused(DATA, r": is a directory", "train", self.folder)
        self.assert_refused(DATA, r"/proc/self/mem: .*rror", "train", "/proc/self/mem")

    def test_binary(self):
        self.assert_bad_file("binary", b"1 1:1\n\x00\x01\x02\xff" * 100, r"binary:2:1: .*expected text")
        self.assert_bad_file("noise", random.Random(1).randbytes(4096), r"noise(:1:\d+)?: ")

    def test_truncated_gzip(self):
        packed = gzip.compress(train_rows(2000))
        for size in (1, 9, 40, len(packed) // 2, len(packed) - 1):
            self.assert_bad_file("cut.svm.gz", packed[:size], r"cut\.svm\.gz")

    def test_damaged_gzip(self):
        packed = bytearray(gzip.compress(train_rows(2000)))
        packed[len(packed) // 2] ^= 0x10
        self.assert_bad_file("hurt.svm.gz", bytes(packed), r"hurt\.svm\.gz")

    def test_a_line_of_1_gb(self):
        path = self.path("long.svm")
        with open(path, "wb") as out:
            out.write(b"1 1:1\n0 ")
            out.truncate(1 << 30)
        self.assert_refused(DATA, r"long\.svm:2:3: ", "train", path)
        source, sink = os.pipe()

        def pour():
            try:
                with os.fdopen(sink, "wb") as out:
                    out.write(b"1 1:1\n0 ")
                    for _ in range(1024):
                        out.write(b"1:1 " * (1 << 18))
            except BrokenPipeError:
                pass

        pouring = threading.Thread(target=pour)
        pouring.start()
        code, _, err, rss = self.run_program("train", "-", stdin=source)
        os.close(source)
        pouring.join()
        self.assertEqual(code, DATA, err)
        self.assertRegex(err, r"longer than \d+ bytes")
        self.assertLess(rss, RSS_MAX_BYTES)

    def test_label_out_of_domain(self):
        self.assert_refused(DATA, r"label:2:1: saw \"7\"", "train", self.file("label", b"1 1:1\n7 1:1\n"))

    def test_not_a_number(self):
        for value in (b"nan", b"inf", b"-inf", b"1e999", b"", b"x"):
            self.assert_bad_file("value", b"1 1:1\n0 1:" + value + b"\n", r"value:2:\d+: saw ")

    def test_a_value_that_is_missing_is_named(self):
        self.assert_bad_file("first", b"1 17:nan\n0 1:1\n", r'first:1:3: saw "17:nan", expected a finite value of feature 17')
        self.assert_bad_file("ffm", b"1 4:17:NaN\n", r'ffm:1:3: saw "4:17:NaN", expected a finite value of feature 17 in field 4')
        self.assert_bad_file("a.csv", b"label,price\n" + b"1,2\n" * 200 + b"0,inf\n",
                             r'a\.csv:202:3: saw "inf", expected a finite number \(column "price"')

    def test_json_over_several_lines_is_no_format(self):
        self.assert_bad_file("rows.json", b'[\n{"label": 1, "price": 2.5},\n{"label": 0, "price": 3}\n]\n',
                             r"rows\.json:1:1: saw JSON that goes over several lines; expected rows of libsvm, libffm, Criteo, VW, JSON lines or CSV")

    def test_bad_json_lines_and_vw(self):
        self.assert_bad_file("rows.jsonl", b'{"label": 1, "price": 2.5}\n{"label": 0, "price": NaN}\n',
                             r'rows\.jsonl:2:23: saw "NaN}", expected a string, a number')
        self.assert_bad_file("rows.vw", b"1 |f a b:2\n-1 |f a b:x\n", r'rows\.vw:2:9: saw "b:x", expected a finite value of feature b')

    def test_numbers_that_are_read_as_categories_are_warned_of(self):
        rows = b'label;price;many;part\n' + b'1;$3.50;"1,234";3,5\n0;4;5;6\n' * 20
        path = self.file("prices.csv", rows)
        for words in (("train",), ("data", "check"), ("data", "stats")):
            code, _, err, _ = self.run_program(*words, path)
            self.assertEqual(code, 0, err)
            for name, cell in (("price", r"\$3\.50"), ("many", "1,234"), ("part", "3,5")):
                self.assertEqual(len(re.findall(r'warning: \S+prices\.csv: each cell of column "%s" is a category, because '
                                                r'of "%s" in line 2; ' % (name, cell), err)), 1, err)
        code, _, err, _ = self.run_program("train", path, "--columns", "price:cat,many:cat,part:-")
        self.assertEqual(code, 0, err)
        self.assertNotIn("is a category", err)

    def test_wide_fields_meet_the_limit_of_memory(self):
        """60 KB of text by which each of 7,000 features gets a factor of 60,001 floats: 1.7 GB, before copies."""
        ids = iter(range(1, 100000))
        lines = ["%d %s" % (row % 2, " ".join("0:%d:1" % next(ids) for _ in range(28))) for row in range(250)]
        lines[100] += " 60000:1:1"
        wide = self.file("wide.ffm", "\n".join(lines).encode())
        words = ("train", wide, "--model", "ffm", "--rank", "1")
        asked = r"ffm has 60001 fields of rank 1, by field 60000 at \S*wide\.ffm:101"
        for more in ((), ("--processes", "--workers", "2")):
            self.assert_refused(DATA, r"wide\.ffm: a batch of \d+ rows has \d+ features of 60002 floats .* may take .*" + asked,
                                *words, *more, "--memory", "90M", hint="allow more by --memory")
        self.assert_refused(USAGE, r"60001 fields of rank 8; expected .*; there is field 60000 at \S*wide\.ffm:101",
                            "train", wide, "--model", "ffm")

    def test_tables_meet_the_limit_of_memory(self):
        ids = iter(range(1, 100000))
        lines = ["%d %s" % (row % 2, " ".join("%d:%d:1" % (row * 8, next(ids)) for _ in range(4))) for row in range(250)]
        path = self.file("many.ffm", "\n".join(lines).encode())
        words = ("train", path, "--model", "ffm", "--rank", "8", "--batch", "8")
        for more in ((), ("--sync", "async"), ("--processes", "--workers", "1")):
            self.assert_refused(DATA, r"many\.ffm: .*new rows of \d+ bytes, with optimizer state, do not fit into the .*; of all its tables, \d+ bytes are allowed.*"
                                r"ffm has 1993 fields of rank 8, by field 1992 at \S*many\.ffm:250",
                                *words, *more, "--memory", "100M", hint="allow more by --memory", rss_max=2 * RSS_MAX_BYTES)
        self.assert_refused(USAGE, r"--memory 10K; expected at least 1M", *words, "--memory", "10K")

    def test_index_overflow(self):
        for index in (b"18446744073709551615", b"18446744073709551616", b"9" * 40, b"-1"):
            self.assert_bad_file("index", b"1 1:1\n0 " + index + b":1\n", r"index:2:3: saw ")

    def test_mixed_formats(self):
        self.assert_bad_file("mixed", b"1 1:1 2:1\n0 1:2:3 1:3:1\n", r"mixed:2:\d+: saw ")
        self.assert_bad_file("commas", b"1 1:1 2:1\n0,1,2,3\n", r"commas:2:\d+: saw ")

    def test_foreign_bytes_do_not_command_the_terminal(self):
        cell = b"\x1b[2J\xc2\x9b2J\r\x07\xff"
        name = "evil\x1b[31m\n.svm"
        rows = self.file(name, train_rows(20) + b"1 1:" + cell + b"\n")
        columns = self.file("columns.csv", b"label,c\x1b[2J\n" + b"1,2\n0,3\n" * 20)
        model = self.path("mod\x1b]0;el")
        for words in (("train", rows), ("train", self.path("gone" + name)), ("data", "check", rows),
                      ("data", "stats", columns), ("train", columns, "--out", model, "--verbose"),
                      ("model", "inspect", model), ("predict", "--model", model, rows), ("tra\x1b[2Jin",)):
            for more in ((), ("--json",)):
                with self.subTest(words + more):
                    _, out, err, _ = self.run_program(*words, *more)
                    self.assertNotEqual(out + err, "")
                    self.assertNotRegex(out + err, "[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffd]")

    def test_bad_rows_are_counted(self):
        path = self.file("some.svm", train_rows(50) + b"9 1:1\n1 1:nan\n" + train_rows(50))
        code, out, err, _ = self.run_program("train", path, "--json", "--on-bad-row", "skip:2")
        self.assertEqual(code, 0, err)
        summary = json.loads(out.strip().splitlines()[-1])
        self.assertEqual((summary["skipped_rows"], summary["examples"]), (2, 100))
        self.assert_refused(DATA, r"some\.svm:\d+:\d+", "train", path, "--on-bad-row", "skip:1")


class BadOptionsTest(BadInput):
    def test_unknown_names(self):
        self.assert_refused(USAGE, r"'--epoch'", "train", self.good, "--epoch", "3", hint="--epochs")
        self.assert_refused(USAGE, r"'trian'", "trian", self.good, hint="train")
        config = self.file("thalweg.toml", b"[train]\nepoch = 3\n")
        self.assert_refused(CONFIG, r"thalweg\.toml:2:1: there is no option", "train", self.good, "--config", config,
                            hint="epochs")
        top = self.file("top.toml", b"epoch = 3\n")
        self.assert_refused(CONFIG, r"top\.toml:1:1: there is no option", "train", self.good, "--config", top,
                            hint="epochs")

    def test_names_that_other_programs_have(self):
        """Each is the same option, so that the models are."""
        digests = {json.loads(self.run_program("train", self.good, "--json", flag, "0.3", out, self.path("alias%d" % i))[1])
                   ["model_digest"] for i, (flag, out) in enumerate((
                       ("--rate", "--out"), ("--lr", "-o"), ("--learning-rate", "-o"), ("-l", "-o")))}
        self.assertEqual(len(digests), 1)
        for i in range(4):
            self.assertTrue(os.path.exists(self.path("alias%d/model.json" % i)))
        self.assert_refused(USAGE, r"'--learning_rate'", "train", self.good, "--learning_rate", "1", hint="--learning-rate")

    def test_a_node_without_its_scheduler(self):
        self.assert_refused(USAGE, r"thalweg node worker needs --join ADDR", "node", "worker", self.good, hint="--join 127")
        self.assert_refused(USAGE, r"thalweg node server needs --join ADDR", "node", "server", hint="--join 127")

    def test_bad_configurations(self):
        for content in (b"\x00", b"[", b"a = \n", b"\xff\xfe", b"[train]\nepochs = 'many'\n",
                        b"[train]\nepochs = 3\nepochs = 4\n", b"[" * 5000, b"a = " + b"[" * 5000):
            self.assert_refused(CONFIG, r"bad\.toml(:\d+:\d+)?: ", "train", self.good, "--config",
                                self.file("bad.toml", content))
        path = self.path("long.toml")
        with open(path, "wb") as out:
            out.truncate(1 << 30)
        self.assert_refused(CONFIG, r"long\.toml: ", "train", self.good, "--config", path)
        self.assert_refused(CONFIG, r"gone\.toml: ", "train", self.good, "--config", self.path("gone.toml"))

    def test_impossible_combinations(self):
        for words in (("--model", "lr", "--rank", "3"), ("--valid", self.good, "--valid-part", "3"), ("--sync", "ssp"),
                      ("--epochs", "0"), ("--epochs", "-1"), ("--epochs", "99999999999999999999"), ("--rate", "nan"),
                      ("--servers", "0"), ("--workers", "1e9"), ("--on-bad-row", "skip:x"), ("--batch", "many"),
                      ("--processes", "--threads", "2")):
            self.assert_refused(USAGE, r"--\w+", "train", self.good, *words)
        self.assert_refused(USAGE, r"file|FILE", "train")

    def test_port_in_use(self):
        with socket.create_server(("127.0.0.1", 0)) as held:
            port = held.getsockname()[1]
            self.assert_refused(OTHER, r"port %d is in use by .*%d" % (port, os.getpid()), "node", "scheduler",
                                "--listen", "127.0.0.1:%d" % port, self.good)
            self.assert_refused(OTHER, r"port %d is in use by .*%d" % (port, os.getpid()), "node", "server",
                                "--listen", "127.0.0.1:%d" % port, "--join", "127.0.0.1:1")

    def test_addresses(self):
        for address in ("nonsense", "127.0.0.1:99999", "127.0.0.1", ":", "[::1", "0.0.0.0:0"):
            self.assert_refused(USAGE, r"address|listen on", "node", "scheduler", "--listen", address, self.good)


class BadTrainingTest(BadInput):
    """Jobs whose numbers go wrong."""

    RAW = ("--columns", "price:num:raw,size:num:raw")

    def rows(self, name, large, label="%d"):
        """CSV with one cell that is `large`, in line 52."""
        lines = ["click,price,size\n"]
        for i in range(400):
            lines.append((label + ",%s,%d\n") % (i % 2, large if i == 50 else "1.5", i % 7))
        return self.file(name, "".join(lines).encode())

    def assert_not_finite(self, pattern, hint, *words):
        self.assert_refused(NON_FINITE, pattern, "train", *words, "--out", self.path("bad"), hint=hint)
        self.assertFalse(os.path.exists(self.path("bad")))

    def test_a_large_value_is_named_with_its_column_and_row(self):
        path = self.rows("large.csv", "3e38")
        for words in ((), ("--optimizer", "sgd", "--rate", "1"), ("--epochs", "3"), ("--processes", "--workers", "1")):
            self.assert_not_finite(r'the largest value is 3e\+38, column "price" at \S+large\.csv:52',
                                   'scale column "price" to values of about 1', path, *self.RAW, *words)
            code, _, err, _ = self.run_program("train", path, *words)
            self.assertEqual(code, 0, err)  # By the column's own scale.

    def test_a_large_label_is_named(self):
        path = self.rows("labels.csv", "1.5", label="%de30")
        self.assert_not_finite(r"the largest value is 1e\+30, the label at \S+labels\.csv:3", "scale the labels", path,
                               "--label-column", "click", "--loss", "squared")

    def test_a_rate_that_is_too_high_is_to_be_lowered(self):
        self.assert_not_finite(r"the largest value is 6, column \"size\" at \S+:8", "lower --rate",
                               self.rows("calm.csv", "1.5"), *self.RAW, "--optimizer", "sgd", "--rate", "1e20", "--epochs", "3")

    def test_workers_that_alone_have_the_data_name_its_largest_value(self):
        path = self.rows("large.csv", "3e38")
        scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--columns",
                                      "click:label,price:num,size:num"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = re.search(r"listens on (\S+);", scheduler.stderr.readline()).group(1)
        server = subprocess.Popen([PROGRAM, "node", "server", "--join", address], stderr=subprocess.DEVNULL)
        code, _, err, _ = self.run_program("node", "worker", "--join", address, "--", path)
        _, told = scheduler.communicate(timeout=60)
        self.assertEqual((code, scheduler.returncode, server.wait(60)), (NON_FINITE,) * 3, err + told)
        self.assertRegex(err, r'3e\+38, column "price" at \S+large\.csv:52\nhint: scale')
        self.assertIn("hint: the workers", told)

    def test_a_loss_that_has_diverged_is_no_success(self):
        path = self.rows("far.csv", "1e19")
        self.assert_not_finite(r"the train logloss of \S+ is more than 1000 times the 0\.693.*; the largest value is 1e\+19",
                               "scale", path, *self.RAW, "--optimizer", "sgd", "--rate", "1e-3", "--epochs", "2")
        # Held-out rows may be unlike those of the training.
        good, held = self.rows("good.csv", "1.5"), self.rows("held.csv", "1e30")
        code, out, err, _ = self.run_program("train", good, *self.RAW, "--valid", held, "--json", "--out", self.path("kept"))
        self.assertEqual(code, NON_FINITE, err)
        self.assertRegex(err, r"NON_FINITE: the held-out logloss of \S+ is more than 1000 times .*, and the model is not saved; the largest")
        self.assertEqual((err.count("not saved"), err.count("worse than")), (1, 0), err)
        self.assertFalse(os.path.exists(self.path("kept")))
        code, out, err, _ = self.run_program("train", good, *self.RAW, "--valid", held, "--json", "--out", self.path("kept"), "--keep-bad")
        self.assertEqual(code, NON_FINITE, err)
        self.assertRegex(err, r"NON_FINITE: the held-out logloss of \S+ is more than 1000 times")
        summary = json.loads(out.strip().splitlines()[-1])
        self.assertEqual((summary["error"]["code"], summary["model"]), ("NON_FINITE", self.path("kept")))
        self.assertTrue(os.path.exists(self.path("kept/model.json")))

    def test_a_model_of_a_short_pipe_is_not_judged_by_rows_before_they_were_learnt(self):
        rows = b"".join(b"%d %d:1\n" % (i % 20 == 0, i) for i in range(1000))
        words = [PROGRAM, "train", "-", "--optimizer", "adagrad", "--rate", "3", "--batch", "1000", "--data-shards", "1", "--out", self.path("piped")]
        done = subprocess.run(words, input=rows, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"is worse than that of no features", done.stderr)
        self.assertTrue(os.path.exists(self.path("piped/model.json")))

    def test_a_model_that_is_a_little_worse_than_none_is_said_to_be(self):
        worse = self.file("flipped.svm", b"".join(b"%d %d:1\n" % (i % 2, 1 + i % 2) for i in range(400)))
        other = self.file("other.svm", b"".join(b"%d %d:1\n" % (i % 2, 2 - i % 2) for i in range(400)))
        code, _, err, _ = self.run_program("train", worse, "--valid", other, "--rate", "1e-4")
        self.assertEqual(code, 0, err)
        # By less than chance.
        self.assertRegex(err, r"warning: the held-out logloss of 0\.69\d+ is worse than that of no features at all, 0\.69315, "
                              r"and the held-out auc of 0 is worse")

    def test_a_model_that_is_not_saved_is_told_of_once(self):
        worse = self.file("flipped.svm", b"".join(b"%d %d:1\n" % (i % 2, 1 + i % 2) for i in range(4000)))
        other = self.file("other.svm", b"".join(b"%d %d:1\n" % (i % 2, 2 - i % 2) for i in range(4000)))
        code, _, err, _ = self.run_program("train", worse, "--valid", other, "--out", self.path("worse"))
        self.assertEqual(code, 9, err)
        self.assertRegex(err, r"(?m)^thalweg: warning: the model is not saved: the held-out logloss of \S+ is worse than that of no features at "
                              r"all, 0\.69315, and the held-out auc of 0 is worse than .*; common causes: .*; --keep-bad saves it all the same$")
        self.assertEqual((err.count("not saved"), err.count("logloss of")), (1, 1), err)
        code, _, err, _ = self.run_program("train", worse, "--valid", other, "--out", self.path("worse"), "--sweep", "rate=0.1,0.2")
        self.assertRegex(err, r"(?m)^  rate=0\.1  held-out loss \S+, the best$")
        self.assertEqual((code, err.count("not saved"), err.count("kept")), (9, 1, 0), err)

    def test_what_is_not_saved_is_said(self):
        code, _, err, _ = self.run_program("train", self.good)
        self.assertEqual(code, 0, err)
        self.assertIn("; not saved, --out DIR keeps it\n", err)
        code, _, err, _ = self.run_program("train", self.good, "--out", self.path("kept"))
        self.assertNotIn("not saved", err)

    def test_a_pipe_says_how_it_differs_from_a_file(self):
        with open(self.good, "rb") as rows:
            code, _, err, _ = self.run_program("train", "-", stdin=rows)
        self.assertEqual(code, 0, err)
        self.assertRegex(err, r"(?m)^a pipe's size is not known, so a step takes 1024 rows, .*; --batch N gives both the same$")
        with open(self.good, "rb") as rows:
            code, _, err, _ = self.run_program("train", "-", "--batch", "256", stdin=rows)
        self.assertNotIn("a pipe's size", err)


class BadModelsTest(BadInput):
    def setUp(self):
        super().setUp()
        self.model = self.path("model")
        code, _, err, _ = self.run_program("train", self.good, "--out", self.model)
        self.assertEqual(code, 0, err)

    def assert_bad_model(self, pattern):
        for words in (("predict", "--model", self.model, self.good), ("eval", "--model", self.model, self.good),
                      ("model", "inspect", self.model), ("model", "digest", self.model)):
            self.assert_refused(MODEL, pattern, *words)

    def test_of_another_version(self):
        path = os.path.join(self.model, "model.json")
        with open(path, encoding="utf-8") as text:
            changed = re.sub(r'"format_version": \d+', '"format_version": 99', text.read())
        self.file("model/model.json", changed.encode())
        self.assert_bad_model(r"model.*version")

    def test_flipped_bytes(self):
        chance = random.Random(5)
        for name in sorted(os.listdir(self.model)):
            path = os.path.join(self.model, name)
            with open(path, "rb") as content:
                good = content.read()
            for at in {0, 7, 8, len(good) - 1, *(chance.randrange(len(good)) for _ in range(6))}:
                bad = bytearray(good)
                bad[at] ^= 1 << chance.randrange(8)
                self.file("model/" + name, bytes(bad))
                self.assert_refused(MODEL, re.escape(name), "predict", "--model", self.model, self.good)
            self.file("model/" + name, good[:len(good) // 2])
            self.assert_bad_model(re.escape(name))
            os.remove(path)
            self.assert_bad_model(re.escape(name))
            self.file("model/" + name, good)

    def test_no_model_at_all(self):
        shutil.rmtree(self.model)
        self.assert_bad_model(r"model")
        os.mkdir(self.model)
        self.assert_bad_model(r"model")

    def test_disk_full(self):
        self.assert_refused(OTHER, r"/dev/full: cannot be written: No space left", "predict", "--model", self.model,
                            self.good, "-o", "/dev/full")
        disk = self.path("disk")
        os.mkdir(disk)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk], capture_output=True,
                                 check=False)
        if mounted.returncode != 0:
            self.skipTest("no small disk: mount is not allowed here (%s)" % mounted.stderr.decode().strip())
        self.addCleanup(subprocess.run, ["umount", disk], check=True)
        many = self.file("many.svm", b"".join(b"%d %d:1\n" % (i % 2, i + 1) for i in range(20000)))
        elsewhere = self.path("elsewhere")
        os.mkdir(elsewhere)
        self.assert_refused(OTHER, r"disk/model.*No space left.*the model is saved at .*elsewhere/model\.recovered-",
                            "train", many, "--out", os.path.join(disk, "model"), folder=elsewhere)
        self.assertEqual(os.listdir(disk), [])
        saved, = os.listdir(elsewhere)
        self.assertEqual(self.run_program("eval", "--model", os.path.join(elsewhere, saved), many)[0], 0)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
