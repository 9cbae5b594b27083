#!/usr/bin/env python3
"""Whole jobs as real processes: same bits however they are spread, and clean ends when they are interrupted."""
import array
import fcntl
import gzip
import os
import re
import resource
import shutil
import signal
import subprocess
import termios
import time
import unittest

from cluster_jobs import PATIENCE_S, ROWS, ClusterJobs, address_in, children_of, last_json
from programs import PROGRAM, SOURCE
from reserved_port import reserved_port

READ_ANEW = "1M"  # Memory that has no room to keep a pass's rows for the next one, of any shard of many rows.
MANY_ROWS = max(ROWS, 20000)


def state_of(process):
    with open("/proc/%d/stat" % process, encoding="ascii", errors="replace") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


class ClusterTest(ClusterJobs):
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
        self.assertEqual(last_json(piped.stdout)["examples"], ROWS)
        with open(self.train, "rb") as plain, gzip.open(self.train + ".gz", "wb") as packed:
            packed.write(plain.read())
        digests = set()
        for flags in [(), ("--workers", "1"), ("--processes",)]:
            done = subprocess.run([PROGRAM, "train", self.train + ".gz", "--json", *flags], capture_output=True,
                                  text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(last_json(done.stdout)["examples"], ROWS)
            digests.add(last_json(done.stdout)["model_digest"])
        self.assertEqual(len(digests), 1)

    def test_combined_pushes_change_no_bit_and_save_bytes(self):
        clicks = os.path.join(self.folder.name, "clicks.svm")
        subprocess.run([PROGRAM, "data", "synth", "--rows", str(ROWS), "-o", clicks, "--quiet"], check=True)
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

    def test_processes_stop_and_go_on_together(self):
        flags = ("--processes", "--servers", "2", "--workers", "3", "--epochs", "40", "--timeout", "2s")
        undisturbed = self.run_job(*flags)["model_digest"]
        job = self.start_job(*flags)
        self.await_epoch(job, 1)
        everyone = [job.pid, *children_of(job.pid, "server"), *children_of(job.pid, "worker")]
        self.assertEqual(len(everyone), 6)
        job.send_signal(signal.SIGTSTP)
        self.await_states(everyone, "T")
        time.sleep(4)  # Longer than nodes wait for each other.
        self.await_states(everyone, "T")
        job.send_signal(signal.SIGCONT)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(last_json(out)["model_digest"], undisturbed)

    def await_states(self, processes, state):
        """As proc(5) has them: T is stopped."""
        deadline = time.monotonic() + PATIENCE_S
        for process in processes:
            while state_of(process) != state:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)

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

    # The name of the second table's file, longer by 3 bytes than the first one's, is too long there.
    def test_what_is_said_of_a_model_is_of_the_attempt_that_saved_it(self):
        where, length = self.folder.name, 4056
        while len(where) + 220 < length:
            where = os.path.join(where, "d" * 200)
        os.makedirs(where)
        model = os.path.join(where, "m" * (length - len(where) - 1))
        done = subprocess.run(self.command("--out", model), capture_output=True, text=True, timeout=PATIENCE_S, check=False,
                              cwd=self.folder.name)
        self.assertEqual(done.returncode, 1, done.stderr)
        summary = last_json(done.stdout)
        self.assertIn("/weights.safetensors: File name too long; the model is saved at", summary["error"]["message"])
        digest = subprocess.run([PROGRAM, "model", "digest", summary["model"]], capture_output=True, text=True, check=True)
        self.assertEqual(digest.stdout.strip(), summary["model_digest"])
        self.assertEqual(summary["model_rows"], self.run_job()["model_rows"])

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

    def test_too_few_open_files_are_one_error_at_once(self):
        """Where nodes cannot call each other for want of descriptors they would wait until their patience is over."""
        flags = self.command("--processes", "--servers", "2", "--workers", "2")
        done = subprocess.run(["bash", "-c", 'ulimit -n 24; exec "$0" "$@"', *flags], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        error = last_json(done.stdout)["error"]
        self.assertEqual(error["code"], "IO")
        self.assertRegex(error["message"], r"^this process may have 24 files open \(ulimit -n\), expected \d+ at least")
        self.assertNotIn("waiting for", done.stderr)
        soft = subprocess.run(["bash", "-c", 'ulimit -Sn 24; exec "$0" "$@"', *flags], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(soft.returncode, 0, soft.stderr)

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
            job.stdin.write(rows.read() * (20000 // ROWS))  # More than is read at a time.
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
        line = job.stderr.readline()
        self.assertIn("waiting for server-0, worker-0, worker-1", line)
        nodes = [subprocess.Popen([PROGRAM, "node", "server", "--join", address_in(line)], stderr=subprocess.PIPE, text=True)
                 for _ in range(2)]
        while all(node.poll() is None for node in nodes):
            self.assertIsNone(job.poll())
            time.sleep(0.02)
        extra = next(node for node in nodes if node.poll() is not None)
        self.assertEqual(extra.returncode, 1)
        self.assertIn("REFUSED: no server can join: the job has all its servers, 1 of 1, expected more once it has begun",
                      extra.communicate()[1])
        job.send_signal(signal.SIGINT)
        _, err = self.finish(job)
        self.assertEqual(job.returncode, 130, err)
        self.assertIn("before all nodes had joined", err)
        for node in nodes:
            node.communicate(timeout=PATIENCE_S)

    def test_who_joins_and_who_is_turned_away_is_said(self):
        job = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--epochs", "100000", self.train],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        address = address_in(job.stderr.readline())
        nodes = [subprocess.Popen([PROGRAM, "node", role, "--join", address], stderr=subprocess.DEVNULL)
                 for role in ("server", "worker")]
        while "epoch 1/" not in job.stderr.readline():
            self.assertIsNone(job.poll())
        nodes.append(subprocess.Popen([PROGRAM, "node", "worker", "--join", address], stderr=subprocess.DEVNULL))
        line = ""
        while "worker-1" not in line:
            self.assertIsNone(job.poll())
            line = job.stderr.readline()
        self.assertRegex(line, r"^worker-1 \(.*process %d\) joined; it (stands by|has)" % nodes[-1].pid)
        job.send_signal(signal.SIGINT)
        _, err = self.finish(job)
        self.assertEqual(job.returncode, 130, err)
        for node in nodes:
            node.wait(PATIENCE_S)

    def test_columns_that_only_workers_see_must_be_named(self):
        rows = os.path.join(self.folder.name, "rows.csv")
        with open(rows, "w", encoding="ascii") as out:
            out.write("click,site\n" + "1,7\n0,a\n" * 50)
        members = os.path.join(self.folder.name, "rows.jsonl")
        with open(members, "w", encoding="ascii") as out:
            out.writelines(f'{{"click":{i % 2},"site_id":{i % 7},"row":{i}}}\n' for i in range(200))
        of_csv = "--columns that names each of them, as in click:label,site:cat"
        of_members = "--columns that says so, or otherwise: site_id:cat,row:-"
        for rows, flags, code, hint in (
                (rows, ["--columns", "click:label,site:cat"], 0, of_csv), (rows, ["--columns", "click:label"], 2, of_csv),
                (rows, [], 2, of_csv), (members, [], 2, of_members), (members, ["--columns", "site_id:cat,row:-"], 0, of_members),
                (members, ["--columns", "site_id:num/3,row:-"], 0, of_members)):
            with self.subTest(rows=rows, flags=flags):
                scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", *flags],
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                address = address_in(scheduler.stderr.readline())
                server = subprocess.Popen([PROGRAM, "node", "server", "--join", address], stderr=subprocess.DEVNULL)
                worker = subprocess.run([PROGRAM, "node", "worker", "--join", address, "--", rows], check=False,
                                        capture_output=True, text=True, timeout=PATIENCE_S)
                _, err = self.finish(scheduler)
                server.wait(PATIENCE_S)
                self.assertEqual((scheduler.returncode, worker.returncode), (code, code), err + worker.stderr)
                self.assertEqual(hint in err, code == 2, err)

    def test_workers_that_read_different_files_end_the_job(self):
        copy = os.path.join(self.folder.name, "copy.svm")
        shutil.copyfile(self.train, copy)
        for second, code in ((copy, 0), (self.valid, 4)):
            with self.subTest(second=second):
                scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--workers", "2"],
                                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                address = address_in(scheduler.stderr.readline())
                nodes = [subprocess.Popen([PROGRAM, "node", *arguments[:1], "--join", address, *arguments[1:]],
                                          stderr=subprocess.DEVNULL)
                         for arguments in (["server"], ["worker", "--", self.train], ["worker", "--", second])]
                _, err = self.finish(scheduler)
                self.assertEqual([node.wait(PATIENCE_S) for node in nodes], [code] * 3)
                self.assertEqual(scheduler.returncode, code, err)
                self.assertEqual("give every worker the same ones" in err, code != 0, err)

    def test_a_file_that_changes_during_training_ends_the_job(self):
        # Which of the bytes are looked at first depends on where the file is cut into blocks.
        other_bytes = r"changing\.svm, pass \d+: between .*, byte \d+ and .* stands something else"
        for line, error in ((b"spoilt", r"changing\.svm:%d:1: saw .* expected a label|%s" % (MANY_ROWS, other_bytes)),
                            (b"# not a row", r"changing\.svm: changed while it was used: \d+ rows|something else"),
                            (b"0 1:3 1:3 ", other_bytes)):
            with self.subTest(line=line):
                copy = self.copy_of_train("changing.svm", times=MANY_ROWS // ROWS)
                job = self.start_job("--epochs", "100000", "--memory", READ_ANEW, train=copy)
                self.await_epoch(job, 1)
                with open(copy, "r+b") as rows:
                    rows.seek(rows.read()[:-1].rfind(b"\n") + 1)
                    rows.write(line)
                out, err = self.finish(job)
                self.assertEqual(job.returncode, 4, err)
                self.assertRegex(last_json(out)["error"]["message"], error)

    def test_workers_that_unpack_other_rows_end_the_job(self):
        copies = []
        for name, flipped in (("one.svm", 0), ("two.svm", 1)):
            copies.append(os.path.join(self.folder.name, name + ".gz"))
            with open(self.copy_of_train(name, flipped), "rb") as plain, open(copies[-1], "wb") as packed:
                packed.write(gzip.compress(plain.read(), compresslevel=0, mtime=0))
        scheduler = self.start_node("scheduler", "--listen", "127.0.0.1:0", "--workers", "2")
        self.await_words(scheduler, "listens on")
        address = address_in(self.words_of(scheduler))
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


if __name__ == "__main__":
    unittest.main(verbosity=2)
