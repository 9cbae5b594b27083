#!/usr/bin/env python3
"""A ring of versioned values as processes, which are killed and started again, and docs/quorum.md's guide."""
import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import time
import unittest

from programs import PROGRAM, SOURCE, ProgramTest, patience
from reserved_port import reserved_port

PATIENCE_S = patience(60)
USAGE, TIMEOUT = 2, 6


class QuorumTest(ProgramTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.secret = os.path.join(self.folder, "secret")

    def start_ring(self, count, *flags):
        kept = [reserved_port() for _ in range(count)]
        for held, _ in kept:
            self.addCleanup(held.close)
        self.addresses = ["127.0.0.1:%d" % port for _, port in kept]
        self.flags = ("--secret-file", self.secret, *flags)
        self.nodes = [None] * count
        for number in range(count):
            self.start(number)
        self.await_whole()  # What is killed before that may be all that has what was put.

    def start(self, number, *flags):
        words = os.path.join(self.folder, "node-%d" % number)
        with open(words, "w", encoding="utf-8") as log:
            node = subprocess.Popen([PROGRAM, "node", "quorum", "--ring", ",".join(self.addresses), "--listen",
                                     self.addresses[number], "--deadline", "500ms", *self.flags, *flags], stderr=log)
        self.end_with_test(node)
        node.words = words
        self.nodes[number] = node
        self.await_true(lambda: "listens on %s;" % self.addresses[number] in self.words_of(number))

    def words_of(self, number):
        self.assertIsNone(self.nodes[number].poll())
        with open(self.nodes[number].words, encoding="utf-8") as words:
            return words.read()

    def kill(self, number):
        self.nodes[number].send_signal(signal.SIGKILL)
        self.nodes[number].wait()

    def await_true(self, holds):
        deadline = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)
        return found

    def command(self, *words):
        return [PROGRAM, "quorum", *words, "--ring", ",".join(self.addresses), "--secret-file", self.secret]

    def ask(self, *words, json_out=True):
        done = subprocess.run(self.command(*words) + (["--json"] if json_out else []), capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout) if json_out else done.stdout

    def put(self, key, value, *flags):
        self.ask("put", str(key), value, *flags)

    def get(self, key):
        got = self.ask("get", str(key))
        return sorted(version["value"] for version in got["versions"]), got["context"]

    def status(self):
        return self.ask("status")["nodes"]

    def await_whole(self, keys=None):
        """All nodes answer, are alike and keep nothing for others."""
        def whole():
            nodes = self.status()
            return all(node["answers"] and node["complete"] and node["hints"] == 0 and not node["silent"] and
                       keys in (None, node["keys"]) for node in nodes) and nodes
        return self.await_true(whole)

    def refused(self, code, *words):
        done = subprocess.run(self.command(*words), capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertEqual(done.stdout, "")
        self.assertRegex(done.stderr, r"\Athalweg: .*\n(hint: .*\n)?\Z")
        return done.stderr

    def test_a_ring_that_is_named_otherwise_takes_nothing(self):
        self.start_ring(3)
        whole = self.addresses
        self.addresses = whole[:2]
        self.assertIn("the ring has 3 nodes, 2 were named", self.refused(USAGE, "put", "7", "milk"))
        self.addresses = whole
        self.assertEqual(self.get(7), ([], ""))

    def test_puts_that_knew_nothing_of_each_other_stay_side_by_side(self):
        self.start_ring(3)
        self.assertEqual(self.get(7), ([], ""))
        self.put(7, "milk")
        values, context = self.get(7)
        self.assertEqual(values, ["milk"])
        self.put(7, "milk, bread", "--context", context)
        self.put(7, "milk, eggs", "--context", context)
        values, both = self.get(7)
        self.assertEqual(values, ["milk, bread", "milk, eggs"])
        shown = self.ask("get", "7", json_out=False)
        self.assertRegex(shown, r"(?m)^value    milk, eggs$")
        self.assertRegex(shown, r"(?m)^context  %s$" % re.escape(both))
        self.assertIn("2 versions stand side by side", shown)
        self.put(7, "milk, bread, eggs", "--context", both)
        self.assertEqual(self.get(7)[0], ["milk, bread, eggs"])
        done = subprocess.run(self.command("put", "8", "-"), input=bytes([0, 255, 10]), capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ask("get", "8")["versions"], [{"hex": "00ff0a"}])
        self.nodes[0].terminate()
        self.assertEqual(self.nodes[0].wait(timeout=PATIENCE_S), 0)

    # T35: one of three is down; puts go on, and what it missed is handed over and dropped when it is back.
    def test_a_killed_node_gets_what_it_missed(self):
        self.start_ring(3)
        for key in range(10):
            self.put(key, "before")
        self.kill(1)
        for key in range(5, 15):
            values, context = self.get(key)
            self.assertEqual(values, ["before"] if key < 10 else [])
            self.put(key, "without", "--context", context)
        nodes = self.status()
        self.assertEqual([node["answers"] for node in nodes], [True, False, True])
        self.assertGreaterEqual(sum(node["hints"] for node in nodes if node["answers"]), 10)
        self.assertRegex(self.ask("status", json_out=False), r"(?m)^1 +127\.0\.0\.1:\d+ +away +Connection refused$")
        self.start(1)
        nodes = self.await_whole(keys=15)
        self.assertGreaterEqual(sum(node["hints_delivered"] for node in nodes), 10)
        self.assertGreaterEqual(nodes[1]["restored"] + nodes[1]["synced"], 5)
        self.await_true(lambda: "answers gets, with 15 keys" in self.words_of(1))
        self.kill(2)  # What is got now node 1 has, as two of the three must answer.
        for key in range(15):
            self.assertEqual(self.get(key)[0], ["before" if key < 5 else "without"])

    def states(self):
        return [("--state", os.path.join(self.folder, "state-%d" % number)) for number in range(3)]

    def test_all_nodes_are_killed_and_nothing_is_lost_that_was_logged(self):
        self.start_ring(3)
        for number, state in enumerate(self.states()):  # One at a time gets a log of what the others have.
            self.kill(number)
            self.start(number, *state)
            self.await_whole()
        for key in range(10):
            self.put(key, "logged")
        self.kill(2)
        values, context = self.get(3)
        self.assertEqual(values, ["logged"])
        self.put(3, "without", "--context", context)
        for number in (0, 1):
            self.kill(number)
        for number, state in enumerate(self.states()):
            self.start(number, *state)
            self.assertIn("answers gets, with 10 keys", self.words_of(number))
        self.await_whole(keys=10)
        for key in range(10):
            self.assertEqual(self.get(key)[0], ["without" if key == 3 else "logged"])
        taken = subprocess.run([PROGRAM, "node", "quorum", "--ring", ",".join(self.addresses), "--listen", self.addresses[0],
                                *self.flags, *self.states()[0]], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(taken.returncode, USAGE, taken.stderr)
        self.assertIn("another process has the node's log", taken.stderr)

    def test_a_node_that_cannot_write_its_log_ends_and_the_others_go_on(self):
        self.start_ring(3)
        self.kill(1)
        before, after = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, after))
        try:
            self.start(1, *self.states()[1])
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (before, after))
        self.await_whole()
        for key in range(10):
            self.put(key, "x" * 50_000)
        self.assertEqual(self.nodes[1].wait(timeout=PATIENCE_S), 1)
        with open(self.nodes[1].words, encoding="utf-8") as words:
            self.assertRegex(words.read().strip().splitlines()[-1], r"thalweg: IO: .*state-1/log.*: File too large")
        for key in range(10):
            self.assertEqual(self.get(key)[0], ["x" * 50_000])

    def test_too_few_nodes_are_one_error_that_names_the_others(self):
        self.start_ring(3)
        self.put(7, "a")
        self.kill(1)
        self.kill(2)
        for words in (("put", "7", "b"), ("get", "7")):
            error = self.refused(TIMEOUT, *words, "--timeout", "2s")
            self.assertRegex(error, r"thalweg: TIMEOUT: %s of key 7 " % words[0])
            for number in (1, 2):
                self.assertIn("server-%d is %s" % (number, self.addresses[number]), error)
            self.assertIn("1 of the 2 servers that it needs answered within 500 ms: server-0; no answer from", error)
        self.kill(0)
        self.assertIn("server-0, server-1, server-2 did not answer", self.refused(TIMEOUT, "get", "7", "--timeout", "1s"))
        self.assertRegex(self.refused(TIMEOUT, "status", "--timeout", "1s"), "no answer from any of the ring's 3 nodes .*: Connection refused\n")

    def test_a_sloppy_ring_takes_puts_while_one_home_lives(self):
        self.start_ring(5, "--sloppy")
        self.put(0, "a")
        self.kill(1)
        self.kill(3)
        for key in range(20):
            self.put(key, "sloppy", *(("--context", self.get(0)[1]) if key == 0 else ()))
        self.start(1)
        self.start(3)
        nodes = self.await_whole()
        self.assertEqual(sum(node["keys"] for node in nodes), 60)  # Each at three homes.
        for key in range(20):
            self.assertEqual(self.get(key)[0], ["sloppy"])

    def test_who_has_another_secret_is_told_so_and_not_let_in(self):
        self.start_ring(3)
        self.put(7, "a")
        wrong = os.path.join(self.folder, "wrong")
        with open(os.open(wrong, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write(os.urandom(16).hex())
        self.kill(2)
        right, self.secret = self.secret, wrong
        error = self.refused(TIMEOUT, "get", "7", "--timeout", "2s")
        self.assertIn("both must have the same one", error)
        self.flags = ("--secret-file", wrong)
        self.start(2)
        self.await_true(lambda: "both must have the same one" in self.words_of(2))
        self.secret = right
        self.assertEqual(self.get(7)[0], ["a"])
        self.assertFalse(self.status()[2]["answers"])
        self.assertIn("it does not know the secret", self.words_of(0))

    def status_and_warning(self):
        done = subprocess.run(self.command("status", "--json"), capture_output=True, text=True, timeout=PATIENCE_S, check=True)
        return done.stderr and (json.loads(done.stdout)["nodes"], done.stderr)

    def test_nodes_that_were_told_another_ring_are_named(self):
        self.start_ring(3)
        right = self.addresses
        reason = "all nodes of a ring are to be told the same nodes, in the same order, and the same counts"
        for number, replicas in ((2, "2"), (1, "3")):  # Other counts; and its neighbours' order is another one.
            self.kill(number)
            if replicas == "3":
                self.addresses = [right[0], right[2], right[1]]
            with open(os.path.join(self.folder, "other-%d" % number), "w", encoding="utf-8") as log:
                other = subprocess.Popen([PROGRAM, "node", "quorum", "--ring", ",".join(self.addresses), "--listen", right[number],
                                          "--replicas", replicas, *self.flags], stderr=log)
            self.end_with_test(other)
            self.addresses = right
            self.await_true(lambda: reason in self.words_of(0))
            if replicas == "2":
                ring = ",".join(right)
                said = [line for line in self.words_of(0).splitlines() if "another ring" in line]
                self.assertEqual(said, ["server-2 at %s was told another ring: N,R,W 2,2,2 of %s; this node: N,R,W 3,2,2 of %s; %s" %
                                        (right[2], ring, ring, reason)])
                shown = self.await_true(lambda: self.status_and_warning())
                rings = [node["ring"] for node in shown[0]]
                self.assertEqual((rings[0], rings[0] == rings[2]), (rings[1], False))
                self.assertRegex(shown[1], r"were told different rings, and do not hear each other: (0, 1 and 2|2 and 0, 1); all")
            else:
                self.await_true(lambda: self.status()[1].get("why") == "server-2 answers where server-1 was expected")
            other.kill()
            other.wait()
            self.start(number)
            self.await_whole()
        self.put(7, "milk")
        self.addresses = [right[1], right[2], right[0]]
        self.assertIn("answers where server-", self.refused(TIMEOUT, "get", "7", "--timeout", "1s"))

    def test_wrong_words_are_usage_errors(self):
        self.addresses = ["127.0.0.1:7201", "127.0.0.1:7202"]
        with open(os.open(self.secret, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
            file.write("ab" * 16)
        for words, why in ((("get", "x"), "is no key"), (("get", "18446744073709551615"), "is no key"), (("get",), "needs KEY"),
                           (("put", "7"), "needs KEY VALUE"), (("put", "7", "a", "--context", "nonsense"), "context 'nonsense'")):
            self.assertIn(why, self.refused(USAGE, *words))
        for ring, why in (("127.0.0.1:7201,127.0.0.1:7201", "twice"), ("127.0.0.1:7201,here", "has no port"), ("nowhere", "no such file")):
            done = subprocess.run([PROGRAM, "node", "quorum", "--ring", ring, "--listen", "127.0.0.1:7201"], capture_output=True,
                                  text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn(why, done.stderr)
        done = subprocess.run([PROGRAM, "node", "quorum", "--ring", "127.0.0.1:7201", "--listen", "127.0.0.1:7201", "--memory", "1"],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, USAGE, done.stderr)
        self.assertIn("--memory 1; expected at least 1M", done.stderr)
        for words in (("node", "quorum"), ("quorum", "get", "7"), ("quorum", "status"), ("bench", "quorum")):
            done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(done.returncode, USAGE, done.stderr)
            self.assertIn("needs --ring ADDR", done.stderr)

    def test_a_ring_in_a_file_is_measured_and_no_get_is_stale(self):
        self.start_ring(3)
        path = os.path.join(self.folder, "ring.txt")
        with open(path, "w", encoding="ascii") as file:
            file.write("# Three nodes.\n\n%s\n" % "\n".join(" %s " % address for address in self.addresses))
        done = subprocess.run([PROGRAM, "bench", "quorum", "--ring", path, "--secret-file", self.secret, "--clients", "4",
                               "--requests", "50", "--json"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        measured = json.loads(done.stdout)
        self.assertEqual(measured["stale_gets"], 0)
        self.assertGreater(min(measured["puts_per_second"], measured["gets_per_second"]), 0)
        self.assertEqual({node["keys"] for node in self.await_whole()}, {200})

    @unittest.skipUnless("THALWEG_TEST_VERSIONED_VALUES" in os.environ, "the examples are not built")
    def test_the_example_loses_nothing_that_two_of_it_add_at_once(self):
        self.start_ring(3)
        words = [os.environ["THALWEG_TEST_VERSIONED_VALUES"], ",".join(self.addresses), self.secret]
        both = [subprocess.Popen([*words, *("%s-%d" % (who, i) for i in range(20))], stdout=subprocess.PIPE, text=True)
                for who in ("one", "two")]
        for each in both:
            each.communicate(timeout=PATIENCE_S)
            self.assertEqual(each.returncode, 0)
        shown = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout
        self.assertEqual(sorted(shown.split()), sorted("%s-%d" % (who, i) for who in ("one", "two") for i in range(20)))

    def test_the_guide_shows_what_the_page_says(self):
        """All blocks of `sh` run in one shell; the block of `text` behind one is what it shows, `...` being anything."""
        with open(os.path.join(SOURCE, "docs", "quorum.md"), encoding="utf-8") as file:
            guide = re.search(r"^## A ring on this machine\n(.*?)^## ", file.read(), re.M | re.S).group(1)
        kept = {}
        for port in sorted(set(re.findall(r"127\.0\.0\.1:(\d+)", guide))):
            kept[port] = reserved_port()
            self.addCleanup(kept[port][0].close)
            guide = guide.replace(":" + port, ":%d" % kept[port][1])
        blocks = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", guide, re.M | re.S)
        self.assertGreaterEqual(sum(bool(shown) for _, shown in blocks), 4)
        between = "-- the next block --\n"
        begin = "set -euo pipefail\ntrap 'kill -9 $(jobs -p) 2>/dev/null || true' EXIT\n"
        script = ("echo %s" % between).join([begin] + [commands for commands, _ in blocks])
        os.symlink(PROGRAM, os.path.join(self.folder, "thalweg"))
        environment = dict(os.environ, PATH=self.folder + os.pathsep + os.environ["PATH"])
        done = subprocess.run(["bash", "-c", script], cwd=self.folder, text=True, capture_output=True, timeout=PATIENCE_S,
                              check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for (commands, expected), shown in zip(blocks, done.stdout.split(between)[1:]):
            if expected:
                pattern = re.escape(expected).replace(re.escape("..."), ".+")
                self.assertRegex(shown, r"\A%s\Z" % pattern, commands)


if __name__ == "__main__":
    unittest.main(verbosity=2)
