#!/usr/bin/env python3
"""Rows that a command brings from a server: the bits of the same rows in files, and what a failure says."""
import gzip
import http.server
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import unittest

from programs import PROGRAM, ProgramTest, patience

FETCH = """%s -c 'import shutil, sys, urllib.request as u
with u.build_opener(u.ProxyHandler({})).open(sys.argv[1]) as body: shutil.copyfileobj(body, sys.stdout.buffer)' %%s""" % sys.executable


class Objects(http.server.BaseHTTPRequestHandler):
    held = {}

    def do_GET(self):
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
        chance = random.Random(1)
        self.names, self.files = [], []
        for name in ("a.svm.gz", "b.svm.gz"):
            rows = "".join("%d %s\n" % (i % 3 == 0, " ".join("%d:1" % chance.randrange(500) for _ in range(5)))
                           for i in range(3000))
            Objects.held["/" + name] = gzip.compress(rows.encode())
            self.files.append(os.path.join(self.folder, name))
            with open(self.files[-1], "wb") as out:
                out.write(Objects.held["/" + name])
            self.names.append("http://127.0.0.1:%d/%s" % (server.server_port, name))

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
            self.assertLessEqual(len(lines.readlines()), 11, "7 looks at the begin of a file, and 2 passes over 2 files")

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
