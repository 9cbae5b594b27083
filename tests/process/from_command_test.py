#!/usr/bin/env python3
"""Rows that a command brings from a server: the bits of the same rows in files, and what a failure says."""
import collections
import gzip
import http.server
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from programs import PROGRAM, ProgramTest, alive, patience

FETCH = """%s -c 'import shutil, sys, urllib.request as u
with u.build_opener(u.ProxyHandler({})).open(sys.argv[1]) as body: shutil.copyfileobj(body, sys.stdout.buffer)' %%s""" % sys.executable


class Objects(http.server.BaseHTTPRequestHandler):
    held = {}
    follower = {}  # By path: what must have been asked for as often before it is answered.
    asked = collections.Counter()
    news = threading.Condition()

    def do_GET(self):
        with self.news:
            self.asked[self.path] += 1
            self.news.notify_all()
            follower, times = self.follower.get(self.path), self.asked[self.path]
            if follower and not self.news.wait_for(lambda: self.asked[follower] >= times, patience(30)):
                return self.send_error(503, "nobody asks for %s meanwhile" % follower)
        body = self.held.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *_):
        pass


class FromCommand(ProgramTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Objects)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.port = server.server_port
        chance = random.Random(1)
        self.names, self.files = [], []
        for name in ("a.svm.gz", "b.svm.gz"):
            rows = "".join("%d %s\n" % (i % 3 == 0, " ".join("%d:1" % chance.randrange(500) for _ in range(5)))
                           for i in range(3000))
            address, path = self.put(name, rows)
            self.names.append(address)
            self.files.append(path)

    def put(self, name, rows):
        """The object's address, and the same in a file."""
        Objects.held["/" + name] = gzip.compress(rows.encode())
        path = os.path.join(self.folder, name)
        with open(path, "wb") as out:
            out.write(Objects.held["/" + name])
        return "http://127.0.0.1:%d/%s" % (self.port, name), path

    def run_program(self, *words):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=patience(60),
                              stdin=subprocess.DEVNULL)
        return done.returncode, done.stdout, done.stderr

    def digest(self, *words):
        code, out, err = self.run_program("train", *words, "--valid-part", "10", "--epochs", "2", "--data-shards", "2",
                                          "--memory", "1G", "--json")
        self.assertEqual(code, 0, err)
        return json.loads(out.splitlines()[-1])["model_digest"]

    def test_training_has_the_bits_of_files(self):
        self.assertEqual(self.digest(*self.names, "--from-command", FETCH), self.digest(*self.files))

    def test_what_reads_rows_takes_it(self):
        model = os.path.join(self.folder, "model")
        code, _, err = self.run_program("train", *self.names, "--from-command", FETCH, "--out", model)
        self.assertEqual(code, 0, err)
        with open(os.path.join(model, "model.json"), encoding="utf-8") as text:
            self.assertNotIn("urllib", text.read())
        for words in (("data", "check"), ("data", "stats"), ("eval", "--model", model), ("predict", "--model", model)):
            theirs = self.run_program(*words, *self.names, "--from-command", FETCH)
            self.assertEqual(theirs[0], 0, theirs[2])
            if words[0] == "predict":
                self.assertEqual(theirs[1], self.run_program(*words, *self.files)[1])

    def test_shards_share_one_run_of_it_for_the_held_out_rows(self):
        log = os.path.join(self.folder, "log")
        code, _, err = self.run_program("train", *self.files, "--valid-part", "10", "--data-shards", "8", "--from-command",
                                        "echo x >>'%s'; cat %%s" % log)
        self.assertEqual(code, 0, err)
        with open(log, encoding="utf-8") as lines:
            self.assertLessEqual(len(lines.readlines()), 14, "7 looks at the begin of a file, of which some begin the next, and 2 passes over 2 files")

    def test_several_objects_come_at_once(self):
        model = os.path.join(self.folder, "model")
        self.assertEqual(self.run_program("train", *self.files, "--out", model)[0], 0)
        placed = [self.put("%d.svm.gz" % i, "".join("%d %d:1\n" % (row % 2, row % 7 + i) for row in range(400))) for i in range(7)]
        names, files = zip(*placed)
        for i in range(6):
            Objects.follower["/%d.svm.gz" % i] = "/%d.svm.gz" % (i + 1)
        self.addCleanup(Objects.follower.clear)
        theirs = self.run_program("predict", "--model", model, *names, "--from-command", FETCH)
        self.assertEqual(theirs[0], 0, theirs[2])
        self.assertEqual(theirs[1], self.run_program("predict", "--model", model, *files)[1])

    def test_no_command_outlives_the_program(self):
        log = os.path.join(self.folder, "log")
        for how in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            program = subprocess.Popen([PROGRAM, "data", "check", "a", "b", "c", "--from-command",
                                        "echo $$ >>%s; sleep 1000; : %%s" % log], stderr=subprocess.DEVNULL)
            pids = self.when(lambda: len(self.numbers(log)) == 3 and self.numbers(log))
            program.send_signal(how)
            program.wait(patience(30))
            self.when(lambda: not any(alive(pid) for pid in pids))
            os.remove(log)

    @staticmethod
    def numbers(path):
        try:
            with open(path, encoding="ascii") as lines:
                return [int(line) for line in lines]
        except FileNotFoundError:
            return []

    def when(self, condition):
        end = time.monotonic() + patience(30)
        while not (result := condition()) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(result)
        return result

    def test_a_name_within_quotes_is_refused(self):
        for command in ("cat '%s'", 'cat "s3/%s"', "sh -c 'cat %s'"):
            code, _, err = self.run_program("data", "check", self.files[0], "--from-command", command)
            self.assertEqual(code, 2, err)
            self.assertIn("saw %s within quotes", err)
        code, _, err = self.run_program("data", "check", self.files[0], "--from-command", "echo \"it's\" >&2; cat %s")
        self.assertEqual(code, 0, err)

    def test_a_missing_object_is_told(self):
        code, _, err = self.run_program("data", "check", self.names[0] + ".not", "--from-command", FETCH)
        self.assertNotEqual(code, 0)
        self.assertIn("a.svm.gz.not: the command ended with exit code 1, saying \"urllib.error.HTTPError: HTTP Error 404", err)

    def test_a_command_that_hangs_is_told_with_its_file(self):
        for words in (("train",), ("data", "check")):
            code, _, err = self.run_program(*words, self.names[0], "--from-command", "exec sleep 1000; : %s",
                                            "--command-timeout", "100ms")
            self.assertEqual(code, 6, err)
            self.assertIn("a.svm.gz: the command has written nothing for 0.1 s: exec sleep 1000; : 'http://", err)
            self.assertIn("--command-timeout", err)

    def test_no_job_of_processes_takes_it(self):
        code, _, err = self.run_program("train", *self.names, "--from-command", FETCH, "--processes", "1x1")
        self.assertEqual(code, 2, err)
        self.assertIn("cannot be combined with", err)


if __name__ == "__main__":
    unittest.main()
