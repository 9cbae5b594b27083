#!/usr/bin/env python3
"""Hostile peers of a live job that know its secret, and strangers: their frames get typed answers or none, and change
nothing."""
import argparse
import itertools
import json
import os
import random
import re
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from handshake import Refused, call, dial, read_secret
from programs import PROGRAM, SANITIZER, ProgramTest, patience
from reserved_port import reserved_port

FRAME_TOOL = os.environ["THALWEG_TEST_FRAME_TOOL"]
PATIENCE_S = patience(180)
LONG_ENOUGH = ("--epochs", "8" if SANITIZER else "40", "--batch", "128")  # For strangers to come while it lasts.
HEADER = struct.Struct("<IHBBQIIHHHHIIIIIIQQQ")
(HELLO, JOIN, WELCOME, MAP, GET_MAP, PUSH, PUSH_REPLY, PULL, PULL_REPLY, WAITING, BARRIER, BARRIER_REPLY, REPORT,
 REPORT_REPLY, SCAN, SCAN_REPLY, MARKS, MARKS_REPLY, HEARTBEAT, STOP, ENDED) = range(1, 22)
STATUS, STATUS_REPLY, COPY, JOINED, VERSIONED = 26, 27, 30, 31, 34
GET, PUT, WRITE, HANDOFF, SYNC, STANDING = 0, 2, 7, 9, 13, 16  # Kinds of versioned messages.
OK, REFUSED, RETRY, STALE, NON_FINITE, ABORTED = 0, 5, 6, 7, 10, 12
SCHEDULER, SERVER, WORKER = range(3)
TEMPORARY = 1 << 31
WAYS = (False, True)  # By TCP, and locally.
NEXT_WAY = itertools.cycle(WAYS)
NO_COUNTERS = bytes(4)  # A heartbeat's body.


def u64s(*values):
    return struct.pack("<%dQ" % len(values), *values)


def floats(*values):
    return struct.pack("<%df" % len(values), *values)


def text(value):
    return struct.pack("<I", len(value)) + value


def versioned(kind, key=0, level=0, more=0, tail=bytes(16)):
    """As src/quorum/message.cc has it; the tail is a clock, a value, records and digests: none of each."""
    return struct.pack("<BQQQIIBB", kind, 1, key, 0, 0, 1, level, more) + tail


class FrameTool:
    def __init__(self):
        self.tool = subprocess.Popen([FRAME_TOOL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.wire_version = int(self.tool.stdout.readline())

    def frame(self, op, flags=0, cluster=0, map_epoch=0, request=1, table=0, ranges=(0, 0), code=0, shard=0,
              owner_epoch=0, step=(0, 0), block=0, first=b"", second=b""):
        words = (op, flags, cluster, map_epoch, request, table, *ranges, code, shard, owner_epoch, *step, block,
                 first.hex() or "-", second.hex() or "-")
        self.tool.stdin.write(" ".join(map(str, words)) + "\n")
        self.tool.stdin.flush()
        return bytes.fromhex(self.tool.stdout.readline())

    def close(self):
        self.tool.stdin.close()
        self.tool.stdout.close()
        self.tool.wait()


class Peer:
    """One connection of one who knows the job's secret, and has said hello."""

    def __init__(self, job, tool, port, me, to, cluster=0, incarnation=None):
        self.tool, self.to, self.cluster = tool, to, cluster
        self.incarnation = incarnation or random.getrandbits(63) | 1
        self.socket = call(port, PATIENCE_S, next(NEXT_WAY))
        self.request = 0
        try:
            answer = dial(self.socket, job.secret, self.hello_body(me))
            self.incarnation_there = struct.unpack_from("<BIBIQHQ", answer)[-1]
        except OSError:
            self.close()
            raise

    def hello_body(self, me):
        return struct.pack("<BIBIQHQ", *me, *self.to, self.cluster, self.tool.wire_version, self.incarnation)

    def hello(self, me):
        """Says that it has another name from now on."""
        self.socket.sendall(self.tool.frame(HELLO, cluster=self.cluster, first=self.hello_body(me)))

    def send(self, op, **fields):
        self.request += 1
        self.socket.sendall(self.tool.frame(op, cluster=self.cluster, request=self.request, **fields))
        return self.request

    def read(self, size):
        out = b""
        while len(out) < size:
            part = self.socket.recv(size - len(out))
            if not part:
                raise ConnectionError("closed")
            out += part
        return out

    def receive(self, op, request=None):
        """The next frame of this kind, or of these: its code, first and second."""
        ops = op if isinstance(op, tuple) else (op,)
        while True:
            head = HEADER.unpack(self.read(HEADER.size))
            first_size, second_size = head[15:17]
            first = self.read((first_size + 7) & ~7)[:first_size]
            second = self.read((second_size + 7) & ~7)[:second_size]
            if head[2] in ops and request in (None, head[6]):
                return head[10], first, second

    def ask(self, op, **fields):
        return self.receive(op + 1, self.send(op, **fields))

    def close(self):
        self.socket.close()


class Job:
    """A scheduler and servers on ports of their own; workers as asked for."""

    def __init__(self, folder, servers, workers, *flags):
        self.folder, self.nodes = folder, []
        self.secret_file = os.path.join(folder, "secret")
        self.scheduler = self.node("scheduler", "--listen", "127.0.0.1:0", "--servers", str(servers), "--json",
                                   "--workers", str(workers), "--silence", str(patience(10)), *flags)
        self.scheduler_port = self.port_of(self.scheduler)
        self.secret = read_secret(self.secret_file)
        join = ("--join", "127.0.0.1:%d" % self.scheduler_port)
        self.server_ports = [self.port_of(self.node("server", *join)) for _ in range(servers)]

    def node(self, role, *words):
        log = open(os.path.join(self.folder, "log-%d" % len(self.nodes)), "w+", encoding="utf-8")
        node = subprocess.Popen([PROGRAM, "node", role, "--secret-file", self.secret_file, *words], stdout=subprocess.PIPE, stderr=log, text=True)
        node.log = log
        self.nodes.append(node)
        return node

    @classmethod
    def port_of(cls, node):
        return int(cls.await_word(node, r"listens on 127\.0\.0\.1:(\d+)"))

    @staticmethod
    def await_word(node, pattern):
        """What the pattern's group matches in the node's log, once it does."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            with open(node.log.name, encoding="utf-8") as log:
                found = re.search(pattern, log.read())
            if found:
                return found.group(1)
            time.sleep(0.01)
        raise AssertionError("a node never said " + pattern)

    def end(self):
        """Each node's exit code and log, and what the scheduler wrote."""
        out, _ = self.scheduler.communicate(timeout=PATIENCE_S)
        logs = []
        for node in self.nodes:
            code = node.wait(timeout=PATIENCE_S)
            node.log.seek(0)
            logs.append((code, node.log.read()))
        return out, logs

    def kill(self):
        for node in self.nodes:
            if node.poll() is None:
                node.kill()
            node.wait()
            node.stdout.close()
            node.log.close()


class BadFrameTest(ProgramTest):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.train = os.path.join(self.folder, "train.svm")
        chance = random.Random(3)
        with open(self.train, "w", encoding="ascii") as out:
            for _ in range(20000):
                ids = sorted(chance.sample(range(1, 3000), 10))
                out.write("%d %s\n" % (ids[0] % 2, " ".join("%d:1" % i for i in ids)))
        self.tool = FrameTool()
        self.addCleanup(self.tool.close)

    def start(self, *words):
        job = Job(self.folder, *words)
        self.addCleanup(job.kill)
        return job

    def before_hello(self, port, good):
        """What is sent by those who never say who they are."""
        chance = random.Random(port)
        cuts = [good[:size] for size in (1, 3, 4, 6, 40, 79, 80, len(good) - 1)]
        changed = []
        for at in (0, 4, 6, 7, 26, 48, 52, 56, 64, 72, len(good) - 1):  # Magic to checksum, and the payload.
            bad = bytearray(good)
            bad[at] ^= 0xff
            changed.append(bytes(bad))
        huge = bytearray(good)
        huge[48:52] = b"\xff\xff\xff\xff"
        other = self.tool.frame(PUSH, first=u64s(1), second=floats(1))
        inputs = (*cuts, *changed, bytes(huge), other, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
                  b"", bytes(100), chance.randbytes(5000))
        for bytes_sent, locally in itertools.product(inputs, WAYS):
            with call(port, PATIENCE_S, locally) as peer:
                try:
                    peer.sendall(bytes_sent)
                    peer.shutdown(socket.SHUT_WR)
                    while peer.recv(4096):
                        pass
                except OSError:
                    pass

    def as_strangers(self, job, port, to):
        """Everybody's orders and requests, by those who have no right to give them."""
        huge = struct.pack("<I", 0xffffffff)
        map_bytes = struct.pack("<IBIBIqB", 1000, 0, 0, 0, 0, 10 ** 9, 1) + huge + bytes(64)
        for me in ((WORKER, TEMPORARY | 5), (WORKER, 7), (SERVER, 9), (WORKER, 1 << 20), (SCHEDULER, 3)):
            try:
                peer = Peer(job, self.tool, port, me, to)
                self.addCleanup(peer.close)
                for op, first in ((STOP, b"over"), (ENDED, b"bad"), (MAP, map_bytes), (WELCOME, bytes(13)),
                                  (WAITING, bytes(8) + huge), (HEARTBEAT, NO_COUNTERS), (GET_MAP, b""), (JOIN, huge * 3),
                                  (MARKS_REPLY, bytes(8)), (PUSH_REPLY, b""), (BARRIER_REPLY, b""), (SCAN_REPLY, b""),
                                  (STATUS, b""), (STATUS, huge * 300), (STATUS_REPLY, bytes(200)), (COPY, bytes(200)),
                                  (JOINED, huge), (JOINED, b"")):
                    for code in (OK, ABORTED):
                        peer.send(op, first=first, code=code, map_epoch=1)
                for shard in (0, 1, 65535, 0xffffffff):
                    for epoch in (0, 1, 2, 0xffffffff):
                        for op in (PUSH, PULL, BARRIER, REPORT, MARKS):
                            peer.send(op, table=1, ranges=(0, 1), shard=shard, map_epoch=epoch, step=(0xffffffff, 1),
                                      first=u64s(1), second=floats(9))
                peer.socket.shutdown(socket.SHUT_WR)
                while peer.socket.recv(65536):
                    pass
            except OSError:
                pass  # Closing on such a peer is an answer too.

    def without_the_secret(self, port, to):
        """The attack that once ended in another digest and exit code 0: a push of 1e30 under a worker's name."""
        push = self.tool.frame(PUSH, table=1, ranges=(0, 256), map_epoch=1, first=u64s(1), second=floats(1e30))
        hello = struct.pack("<BIBIQHQ", WORKER, 0, *to, 0, self.tool.wire_version, 77)
        for guess, locally in itertools.product((bytes(16), b"0123456789abcdef"), WAYS):
            with call(port, PATIENCE_S, locally) as stranger, self.assertRaises(Refused) as refused:
                try:
                    dial(stranger, guess, hello)
                    stranger.sendall(push)
                except BrokenPipeError as gone:
                    raise Refused(b"") from gone
            self.assertEqual(refused.exception.told, b"")  # After its challenge.
        with call(port, PATIENCE_S) as stranger:
            stranger.sendall(self.tool.frame(HELLO, first=hello) + push)
            try:
                self.assertEqual(stranger.recv(1000), b"")
            except ConnectionResetError:
                pass

    def test_strangers_do_not_disturb_an_honest_job(self):
        calm = subprocess.run([PROGRAM, "train", self.train, "--json", *LONG_ENOUGH], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        expected = json.loads(calm.stdout.strip().splitlines()[-1])["model_digest"]
        job = self.start(2, 2, *LONG_ENOUGH, self.train)
        hello = self.tool.frame(HELLO, first=struct.pack("<BIBIQHQ", WORKER, 5, SCHEDULER, 0, 0, self.tool.wire_version, 77))
        ports = [(job.scheduler_port, (SCHEDULER, 0))]
        ports += [(port, (SERVER, i)) for i, port in enumerate(job.server_ports)]
        for number in range(4 if SANITIZER else 8):
            if number == 2:
                for _ in range(2):
                    job.node("worker", "--join", "127.0.0.1:%d" % job.scheduler_port, "--", self.train)
            try:
                for port, to in ports:
                    self.before_hello(port, hello)
                    self.without_the_secret(port, to)
                    self.as_strangers(job, port, to)
            except ConnectionRefusedError:
                break  # The job is over.
        out, logs = job.end()
        for code, log in logs:
            self.assertEqual(code, 0, log)
        self.assertEqual(json.loads(out.strip().splitlines()[-1])["model_digest"], expected)
        self.assertGreaterEqual(number, 3, "the job was over before it was disturbed")

    def end_well(self, job, port):
        """Says that the job has ended well, as an observer of its own, as the job's, and as the job's very process."""
        peer = Peer(job, self.tool, port, (WORKER, TEMPORARY | 3), (SCHEDULER, 0))
        self.addCleanup(peer.close)
        peer.send(JOIN, first=bytes([WORKER, 1]) + text(b"") + text(b"hostile") + text(b"") + bytes(4))
        code, first, _ = peer.receive((WELCOME, STOP))
        if code == OK:
            peer.hello(struct.unpack_from("<BI", first))
            peer.send(HEARTBEAT, first=NO_COUNTERS)
            peer.send(ENDED, code=OK)
        for incarnation in (None, peer.incarnation_there):
            for index in ((1 << 20), (1 << 20) + 1):
                try:
                    liar = Peer(job, self.tool, port, (WORKER, index), (SCHEDULER, 0), incarnation=incarnation)
                    self.addCleanup(liar.close)
                    liar.send(ENDED, code=OK)
                except OSError:
                    pass  # The name is refused.
        return code

    def test_a_stranger_cannot_end_a_job_well(self):
        calm = subprocess.run([PROGRAM, "train", self.train, "--json", *LONG_ENOUGH], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        for attacked in ("before it begins", "once it has begun"):
            with self.subTest(attacked):
                model = os.path.join(self.folder, "model " + attacked)
                job = self.start(1, 1, *LONG_ENOUGH, "--out", model, self.train)
                worker = ("worker", "--join", "127.0.0.1:%d" % job.scheduler_port, "--", self.train)
                if attacked == "once it has begun":
                    job.node(*worker)
                    job.await_word(job.scheduler, r"(epoch 1/)")
                self.assertEqual(self.end_well(job, job.scheduler_port), REFUSED)
                if attacked == "before it begins":
                    job.node(*worker)
                out, logs = job.end()
                for code, log in logs:
                    self.assertEqual(code, 0, log)
                digest = json.loads(calm.stdout.strip().splitlines()[-1])["model_digest"]
                self.assertEqual(json.loads(out.strip().splitlines()[-1])["model_digest"], digest)
                saved = subprocess.run([PROGRAM, "model", "digest", model], capture_output=True, text=True, check=True)
                self.assertEqual(saved.stdout.strip(), digest)

    def join(self, job):
        """Takes part as the job's only worker: peers of scheduler and server, and the map."""
        scheduler = Peer(job, self.tool, job.scheduler_port, (WORKER, TEMPORARY | 1), (SCHEDULER, 0))
        scheduler.send(JOIN, first=bytes([WORKER, 0]) + text(b"") + text(b"hostile") + text(b"") + bytes(4))
        _, welcome, _ = scheduler.receive(WELCOME)
        role, index, scheduler.cluster = struct.unpack("<BIQ", welcome)
        self.assertEqual((role, index), (WORKER, 0))
        scheduler.hello((WORKER, 0))
        scheduler.send(HEARTBEAT, first=NO_COUNTERS)
        _, map_bytes, _ = scheduler.receive(MAP)
        server = Peer(job, self.tool, job.server_ports[0], (WORKER, 0), (SERVER, 0), scheduler.cluster)
        return scheduler, server, struct.unpack_from("<I", map_bytes)[0], map_bytes

    def test_the_owner_of_all_shards_is_not_trusted_either(self):
        job = self.start(1, 1, "--sync", "async", self.train)
        scheduler, server, epoch, map_bytes = self.join(job)
        weights = 0 if map_bytes.find(b"weights") < map_bytes.find(b"bias") else 1
        far = [1 << 40, 1 << 50, 1 << 60, (1 << 64) - 2]

        def push(keys=far, values=(1, 1, 1, 1), **fields):
            fields = {"table": weights, "ranges": (0, 256), "map_epoch": epoch, "first": u64s(*keys),
                      "second": floats(*values), **fields}
            return server.ask(PUSH, **fields)[0]

        def count():
            return server.ask(SCAN, flags=2, table=weights, ranges=(0, 256), map_epoch=epoch)

        def rows():
            return count()[1]

        deadline = time.monotonic() + PATIENCE_S
        while count()[0] == RETRY:  # The server has not been told of the map yet.
            self.assertLess(time.monotonic(), deadline, "the server never got the map")
            time.sleep(0.01)
        empty = rows()
        cases = {
            "unsorted keys": (push(far[::-1]), REFUSED),
            "a key twice": (push([far[0], far[0], *far[2:]]), REFUSED),
            "a key outside its ranges": (push(ranges=(0, 2)), REFUSED),
            "the reserved key": (push([*far[:3], (1 << 64) - 1]), REFUSED),
            "more keys than values": (push(values=(1,)), REFUSED),
            "more values than keys": (push(values=(1,) * 9), REFUSED),
            "no keys at all": (push(keys=[]), REFUSED),
            "half a key": (push(first=bytes(20)), REFUSED),
            "half a value": (push(second=bytes(15)), REFUSED),
            "doubles for floats": (push(second=struct.pack("<4d", 1, 1, 1, 1)), REFUSED),
            "not a number": (push(values=(1, float("nan"), 1, 1)), NON_FINITE),
            "infinity": (push(values=(1, 1, 1, float("inf"))), NON_FINITE),
            "no such table": (push(table=9), REFUSED),
            "the other table": (push(table=1 - weights), REFUSED),
            "an old map": (push(map_epoch=epoch - 1), STALE),
            "a map to come": (push(map_epoch=epoch + 5), RETRY),
            "a block of shards, which only sync mode has": (push(block=2), REFUSED),
            "a block of more shards than there are": (push(block=10), REFUSED),
            "no such shard": (push(shard=60000), REFUSED),
            "a former owner": (push(owner_epoch=1), ABORTED),
            "a step beyond the window": (push(step=(0, 64)), RETRY),
            "an epoch beyond the next": (push(step=(7, 0)), RETRY),
            "the last step there is": (push(step=(0xffffffff, 0xffffffff)), RETRY),
            "ranges beyond the table": (push(ranges=(0, 300)), REFUSED),
            "a scan of a range that is not": (
                server.ask(SCAN, table=weights, ranges=(3, 9), map_epoch=epoch)[0], REFUSED),
        }
        for what, (got, expected) in cases.items():
            self.assertEqual(got, expected, what)
        self.assertEqual(rows(), empty)
        for op in (MAP, WELCOME, STOP, ENDED, HEARTBEAT, BARRIER, JOIN, COPY, JOINED):
            server.send(op, first=map_bytes, code=ABORTED)
        self.assertEqual(push(), OK)
        self.assertEqual(rows(), u64s(4))
        denormal = floats(*(1e-42,) * 4)
        self.assertEqual(push(second=denormal, step=(0, 1)), OK)
        self.assertEqual(push(), OK)  # Below the low mark: a repeat, not applied again.
        self.assertEqual(rows(), u64s(4))
        for fields in ({"shard": 60000}, {"owner_epoch": 3}):
            for op in (BARRIER, REPORT):
                for map_epoch, expected in ((epoch, ABORTED), (epoch - 1, STALE)):
                    self.assertEqual(scheduler.ask(op, step=(0, 1), map_epoch=map_epoch, **fields)[0], expected)
        scheduler.send(ENDED, code=ABORTED, first=b"enough\x1b[2J\n\xc2\x9b" * 1000)
        out, logs = job.end()
        server.close()
        scheduler.close()
        for code, log in logs:
            self.assertEqual(code, 130, log)
            for trace in ("terminate", "CHECK", "Sanitizer"):
                self.assertNotIn(trace, log)
            self.assertNotRegex(log, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        self.assertLess(len(out), 2000)
        self.assertIn("worker-0: enough", json.loads(out.strip().splitlines()[-1])["error"]["message"])

    def start_ring(self, secret_file):
        """Three nodes of versioned values; their ports."""
        kept = [reserved_port() for _ in range(3)]
        ring = ",".join("127.0.0.1:%d" % port for _, port in kept)
        self.ring = ("--ring", ring, "--secret-file", secret_file)
        self.ring_nodes = []
        for number, (held, port) in enumerate(kept):
            self.addCleanup(held.close)
            with open(os.path.join(self.folder, "ring-%d" % number), "w+", encoding="utf-8") as log:
                node = subprocess.Popen([PROGRAM, "node", "quorum", *self.ring, "--number", str(number), "--deadline", "500ms"],
                                        stderr=log)
                node.log = log
            self.ring_nodes.append(self.end_with_test(node))
            Job.await_word(node, r"listens on 127\.0\.0\.1:(%d)" % port)
        return [port for _, port in kept]

    def quorum(self, *words, given=None):
        done = subprocess.run([PROGRAM, "quorum", *words, *self.ring, "--json"], input=given, capture_output=True,
                              timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_strangers_do_not_disturb_a_ring_of_versioned_values(self):
        secret_file = os.path.join(self.folder, "ring.secret")
        ports = self.start_ring(secret_file)
        holder = argparse.Namespace(secret=read_secret(secret_file))
        self.quorum("put", "7", "kept")
        hello = self.tool.frame(HELLO, first=struct.pack("<BIBIQHQ", WORKER, 5, SERVER, 0, 0, self.tool.wire_version, 77))
        huge = struct.pack("<I", 0xffffffff)
        bad = [b"", b"\xff", bytes(20), versioned(99), versioned(GET, more=2), versioned(GET)[:-1], versioned(GET) + b"x"]
        bad += [versioned(GET, tail=bytes(at) + huge + bytes(64)) for at in (0, 4, 8, 12)]
        orders = [versioned(kind, key=7, level=9, tail=bytes(16)) for kind in (*range(5, 16), WRITE, HANDOFF, SYNC)]
        for number, port in enumerate(ports):
            to = (SERVER, number)
            self.before_hello(port, hello)
            self.without_the_secret(port, to)
            for me in ((WORKER, 7), (WORKER, TEMPORARY | 5), (SERVER, 9), (SCHEDULER, 3)):
                peer = Peer(holder, self.tool, port, me, to)
                self.addCleanup(peer.close)
                for first in (*bad, *orders):
                    peer.send(VERSIONED, first=first)
                    self.assertEqual(peer.receive(VERSIONED)[0], REFUSED, first)
                for op in (PUSH, STOP, JOIN, MAP, COPY):
                    peer.send(op, first=huge * 3)
                peer.send(VERSIONED, first=versioned(STANDING))
                self.assertEqual(peer.receive(VERSIONED)[0], OK)
            with self.assertRaises(ConnectionError):  # Of another ring.
                other = Peer(holder, self.tool, port, (SERVER, (number + 1) % 3), to, cluster=12345)
                self.addCleanup(other.close)
                other.read(1)
        self.quorum("put", "8", "-", given=b"x" * (1 << 20))
        deaf = Peer(holder, self.tool, ports[0], (WORKER, 8), (SERVER, 0))
        self.addCleanup(deaf.close)
        asked = self.tool.frame(VERSIONED, first=versioned(GET, key=8))
        deaf.socket.sendall(asked * (200 if SANITIZER else 2000))  # Of two gigabytes, which it never reads.
        self.assertEqual(self.quorum("get", "7")["versions"], [{"value": "kept"}])
        nodes = self.quorum("status", "--timeout", "%ds" % PATIENCE_S)["nodes"]
        self.assertEqual([(node["answers"], node["keys"]) for node in nodes], [(True, 2)] * 3)
        for node in self.ring_nodes:
            self.assertIsNone(node.poll())
            with open("/proc/%d/status" % node.pid, encoding="ascii") as status:
                most = int(re.search(r"VmHWM:\s+(\d+) kB", status.read()).group(1))
            if not SANITIZER:
                self.assertLess(most, 300_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
