#!/usr/bin/env python3
"""A job's secret: who has it takes part, who has not is told nothing, and it shows nowhere."""
import os
import re
import socket
import struct
import subprocess
import unittest

from cluster_jobs import PATIENCE_S, ClusterJobs, address_in, children_of, last_json
from handshake import GREETING, FRAMES, MAGIC, NONCE_BYTES, VERSION, Refused, dial, read_secret
from programs import PROGRAM

WORKER, SERVER, SCHEDULER = 2, 1, 0
USAGE = 2


def ports_of(pid):
    """Where a process listens."""
    inodes = set()
    for entry in os.listdir("/proc/%d/fd" % pid):
        try:
            found = re.fullmatch(r"socket:\[(\d+)\]", os.readlink("/proc/%d/fd/%s" % (pid, entry)))
        except OSError:
            continue
        if found:
            inodes.add(found.group(1))
    with open("/proc/%d/net/tcp" % pid, encoding="ascii") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    return [int(row[1].split(":")[1], 16) for row in rows if row[3] == "0A" and row[9] in inodes]


def handed_secret(pid):
    """The secret as the process inherited it."""
    for entry in os.listdir("/proc/%d/fd" % pid):
        path = "/proc/%d/fd/%s" % (pid, entry)
        if "memfd:secret" in os.readlink(path):
            return read_secret(path)
    raise AssertionError("process %d has inherited no secret" % pid)


def shown_by(pid):
    """What other programs of the user, and their logs, see of a process."""
    with open("/proc/%d/cmdline" % pid, "rb") as words, open("/proc/%d/environ" % pid, "rb") as variables:
        return words.read() + variables.read()


class SecretTest(ClusterJobs):
    def dial_as_stranger(self, port, guess):
        hello = struct.pack("<BIBIQHQ", WORKER, 0, SERVER, 0, 0, 3, 77)
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as stranger:
            with self.assertRaises(Refused) as refused:
                dial(stranger, guess, hello)
        return refused.exception.told

    def test_processes_inherit_a_secret_that_shows_nowhere(self):
        job = self.start_long_job("--epochs", "100000", "--combine", "machine")
        nodes = children_of(job.pid, "server") + children_of(job.pid, "worker")
        self.assertEqual(len(nodes), 5)
        secrets = {handed_secret(pid) for pid in nodes}
        self.assertEqual(len(secrets), 1)
        secret = secrets.pop()
        for pid in [job.pid] + nodes:
            for form in (secret, secret.hex().encode(), secret.hex().upper().encode()):
                self.assertNotIn(form, shown_by(pid))
            ports = ports_of(pid)
            self.assertEqual(len(ports), 1)
            for guess in (bytes(16), os.urandom(16), secret[::-1]):
                self.assertEqual(self.dial_as_stranger(ports[0], guess), b"")  # After its challenge.
            with socket.create_connection(("127.0.0.1", ports[0]), timeout=PATIENCE_S) as stranger:
                stranger.sendall(GREETING.pack(MAGIC, VERSION, FRAMES, bytes(16)))
                stranger.shutdown(socket.SHUT_WR)
                told = b"".join(iter(lambda: stranger.recv(4096), b""))  # pylint: disable=cell-var-from-loop
            self.assertEqual(len(told), NONCE_BYTES)
        job.terminate()
        _, err = self.finish(job)
        self.assertNotIn(secret.hex(), err)

    def run_nodes(self, *flags, server=(), worker=()):
        """A job of three nodes with a file of their own for each; what the scheduler ended with."""
        scheduler = subprocess.Popen([PROGRAM, "node", "scheduler", "--listen", "127.0.0.1:0", "--json", *flags, self.train],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.end_with_test(scheduler)
        address = address_in(scheduler.stderr.readline())
        for role, words in (("server", server), ("worker", worker)):
            self.start_node(role, "--join", address, *words)
        return scheduler

    def test_the_scheduler_makes_the_file_that_the_others_read(self):
        path = os.path.join(self.folder.name, "made.secret")
        flags = ("--secret-file", path)
        scheduler = self.run_nodes(*flags, server=flags, worker=flags)
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        self.assertEqual(last_json(out)["model_digest"], self.calm_digest())
        self.assertEqual(os.stat(path).st_mode & 0o7777, 0o600)
        self.assertEqual(len(read_secret(path)), 16)
        self.assertNotIn(read_secret(path).hex(), out + err)

    def test_who_has_another_secret_is_told_so_and_not_let_in(self):
        paths = [os.path.join(self.folder.name, name) for name in ("right.secret", "wrong.secret")]
        for path in paths:
            with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="ascii") as file:
                file.write(os.urandom(16).hex())
        right, wrong = [("--secret-file", path) for path in paths]
        scheduler = self.run_nodes(*right, server=right)
        port = ports_of(scheduler.pid)[0]
        address = "127.0.0.1:%d" % port
        for flags in (wrong, ()):
            stranger = subprocess.run([PROGRAM, "node", "worker", "--join", address, *flags, "--timeout", "2", "--", self.train],
                                      capture_output=True, text=True, timeout=PATIENCE_S, check=False)
            self.assertEqual(stranger.returncode, 6, stranger.stderr)
            self.assertIn("both must have the same one", stranger.stderr)
        self.start_node("worker", "--join", address, *right)
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        self.assertIn("it does not know the secret", err)
        self.assertEqual(last_json(out)["model_digest"], self.calm_digest())

    def test_a_file_that_is_no_secret_is_one_error(self):
        path = os.path.join(self.folder.name, "bad.secret")
        cases = [("0123456789abcdef" * 2, 0o644, "others than its owner can use this secret, its mode is 0644"),
                 ("0123456789abcdef" * 2, 0o660, "others than its owner"),
                 ("0123456789abcdef", 0o600, "32 hexadecimal digits and nothing else; found 16 digits"),
                 ("zz23456789abcdef" * 2, 0o600, "found other characters"), ("", 0o600, "found 0 digits")]
        for text, mode, why in cases:
            with open(path, "w", encoding="ascii") as file:
                file.write(text)
            os.chmod(path, mode)
            for role in ("scheduler", "server", "worker"):
                words = ["--listen", "127.0.0.1:0", self.train] if role == "scheduler" else ["--join", "127.0.0.1:9"]
                node = subprocess.run([PROGRAM, "node", role, "--secret-file", path, *words], capture_output=True,
                                      text=True, timeout=PATIENCE_S, check=False)
                self.assertEqual(node.returncode, USAGE, node.stderr)
                self.assertEqual(len(node.stderr.splitlines()), 1, node.stderr)
                self.assertIn(why, node.stderr)
                self.assertIn(path, node.stderr)
        missing = subprocess.run([PROGRAM, "node", "worker", "--secret-file", path + ".none", "--join", "127.0.0.1:9"],
                                 capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(missing.returncode, 1, missing.stderr)
        self.assertIn("cannot open the secret: No such file or directory", missing.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
