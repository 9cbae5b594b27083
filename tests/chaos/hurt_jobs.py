"""Jobs of processes that are all started here, so that any of them can be hurt, and what must be true when they end."""
import json
import os
import shutil
import signal
import subprocess
import time

from namespaces import HERE
from reserved_port import reserved_port

PROGRAM = os.environ["THALWEG_TEST_PROGRAM"]
CHAOS_NODE = os.environ["THALWEG_TEST_CHAOS_NODE"]
HISTORY_CHECK = os.environ["THALWEG_TEST_HISTORY_CHECK"]
PATIENCE_S = 120


class Broken(Exception):
    """A promise that was not kept."""


def last_line(text):
    return text.strip().splitlines()[-1]


class Node:
    """A server or worker. `hurt`: it need not end well."""

    def __init__(self, process, words, machine=None):
        self.process, self.words, self.machine = process, words, machine
        self.hurt = False
        self.joined = False  # As far as its scheduler has told.
        self.goes_on_at = None  # It stands still, or is cut off, until then.
        self.go_on = None

    @property
    def pid(self):
        return self.process.pid


class HurtJob:
    """A scheduler, and servers and workers that join it."""
    servers_wanted, workers_wanted = 3, 2
    kind = ""

    def __init__(self, folder, silence_s, bridge=None, replicas=2):
        self.folder, self.silence_s, self.bridge, self.replicas = folder, silence_s, bridge, replicas
        os.makedirs(folder)
        self.nodes = {"server": [], "worker": []}
        self.kills_at = []  # Of servers, by the machine's steady clock.
        self.again_at = None  # The scheduler is away until then.
        self.start_scheduler()
        self.address = self.find_address()
        for role, wanted in (("server", self.servers_wanted), ("worker", self.workers_wanted)):
            for _ in range(wanted):
                self.join(role)

    def start_scheduler(self):
        self.scheduler = self.start(self.scheduler_words(), "scheduler", stdout=subprocess.PIPE)

    def kill_scheduler(self, away_s):
        """Another one takes its place."""
        self.scheduler.kill()
        self.scheduler.communicate()
        self.again_at = time.monotonic() + away_s

    def start(self, words, name, **more):
        path = os.path.join(self.folder, "%s-%d.log" % (name, time.monotonic_ns()))
        with open(path, "w", encoding="utf-8") as log:
            process = subprocess.Popen(words, stderr=log, text=True, **{"stdout": subprocess.DEVNULL, **more})
        process.log = path
        return process

    def join(self, role):
        machine = self.bridge.machine() if self.bridge and role == "server" else None
        words = [*(machine.enter if machine else ()), *self.node_words(role, machine)]
        node = Node(self.start(words, role), words, machine)
        self.nodes[role].append(node)
        return node

    def open_words(self, machine):
        return ("--insecure-no-auth", "--listen", (machine.host if machine else HERE) + ":0") if self.bridge else ()

    def server_words(self, machine):
        return [PROGRAM, "node", "server", "--join", self.address, *self.open_words(machine)]

    def over(self):
        return self.again_at is None and self.scheduler.poll() is not None

    def status(self):
        """Nothing where the job is over, or nobody answers."""
        if self.scheduler.poll() is not None:
            return None
        words = ("--insecure-no-auth",) if self.bridge else ()
        done = subprocess.run([PROGRAM, "status", "--join", self.address, "--json", *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return None
        status = json.loads(done.stdout)
        for role, nodes in self.nodes.items():
            there = {told["pid"] for told in status["nodes"] if told["role"] == role and told["state"] == "alive"}
            for node in nodes:
                node.joined = node.joined or node.pid in there
        return status

    def said(self):
        with open(self.scheduler.log, encoding="utf-8") as log:
            return log.read()

    def state_of(self, status, node):
        return next((told["state"] for told in status["nodes"] if told["pid"] == node.pid), "unknown")

    def going(self, role):
        """Those who have not ended and have not been hurt."""
        return [node for node in self.nodes[role] if not node.hurt and node.process.poll() is None]

    def kill(self, node):
        node.hurt = True
        node.process.kill()
        node.process.wait()

    def let_go_on(self, everybody=False):
        if self.again_at and (everybody or time.monotonic() >= self.again_at):
            self.again_at = None
            self.start_scheduler()
        for node in (*self.nodes["server"], *self.nodes["worker"]):
            if node.go_on and (everybody or time.monotonic() >= node.goes_on_at):
                node.go_on()
                node.go_on = None

    def finish(self):
        """The scheduler's output. Everybody who had joined and was not hurt ends well."""
        self.let_go_on(everybody=True)
        try:
            out, _ = self.scheduler.communicate(timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise Broken("the job stands still") from None
        if self.scheduler.returncode != 0:
            raise Broken("the scheduler ended with code %d: %s" % (self.scheduler.returncode, self.said()[-2000:]))
        for role, nodes in self.nodes.items():
            for node in nodes:
                if not node.joined and not node.hurt:
                    self.kill(node)  # It may have come too late.
                try:
                    code = node.process.wait(PATIENCE_S)
                except subprocess.TimeoutExpired:
                    raise Broken("%s (process %d) outlives the job" % (role, node.pid)) from None
                if code != 0 and not node.hurt:
                    with open(node.process.log, encoding="utf-8") as log:
                        raise Broken("%s (process %d) ended with code %d: %s" % (role, node.pid, code, log.read()[-2000:]))
        return out

    def end(self):
        """Whatever has become of it."""
        for process in (self.scheduler, *(node.process for nodes in self.nodes.values() for node in nodes)):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.communicate()
        for node in self.nodes["server"]:
            if node.machine:
                node.machine.end()


class HistoryJob(HurtJob):
    """Its clients write down what they see. `calm` is the number of its undisturbed rows, for lockstep."""
    shards = 4

    def __init__(self, folder, mode, steps, more=(), **others):
        self.mode, self.steps, self.more = mode, steps, more
        self.kind = mode
        super().__init__(folder, **others)

    def chaos_words(self, role, address):
        return [CHAOS_NODE, role, address, self.mode, str(self.shards), str(self.steps), "servers", str(self.servers_wanted), "workers",
                str(self.workers_wanted), "replicas", str(self.replicas), "silence", str(int(1000 * self.silence_s)), "grace", "1000",
                "history", self.folder, *(("open",) if self.bridge else ()), *self.more]

    def scheduler_words(self):
        return self.chaos_words("scheduler", (HERE if self.bridge else "127.0.0.1") + ":0")

    def find_address(self):
        return self.scheduler.stdout.readline().split()[1]

    def node_words(self, role, machine):
        return self.server_words(machine) if role == "server" else self.chaos_words("worker", self.address)

    def calm(self):
        words = [CHAOS_NODE, "local", "-", self.mode, str(self.shards), str(self.steps)]
        return last_line(subprocess.run(words, capture_output=True, text=True, check=True).stdout)

    def check(self, out, calm):
        """What the checker of histories says; raises where something is wrong."""
        kills = os.path.join(self.folder, "kills")
        with open(kills, "w", encoding="ascii") as file:
            file.writelines("%d\n" % at for at in self.kills_at)
        bound = {"sync": "0", "async": "free"}.get(self.mode) or self.mode.split(":")[1]
        done = subprocess.run([HISTORY_CHECK, self.folder, str(self.shards), str(self.steps), bound, kills], capture_output=True,
                              text=True, check=False)
        if done.returncode != 0:
            raise Broken("the histories of %s: %s%s" % (self.folder, done.stdout, done.stderr))
        if self.mode == "sync" and last_line(out) != calm:
            raise Broken("rows end as %s, undisturbed as %s" % (last_line(out), calm))
        return json.loads(last_line(done.stdout))


class TrainJob(HurtJob):
    """A training in lockstep, whose model is that of an undisturbed one. Where its scheduler keeps a state, that may be killed, too."""
    kind = "train"

    def __init__(self, folder, rows, epochs, checkpoints="", state="", etcd=None, **others):
        self.rows, self.epochs, self.checkpoints, self.state, self.etcd = rows, epochs, checkpoints, state, etcd
        self.kept_port, self.port = reserved_port() if state else (None, 0)
        self.etcd_at = None  # It is away until then.
        super().__init__(folder, **others)

    def kill_etcd(self, away_s):
        self.etcd.kill()
        self.etcd_at = time.monotonic() + away_s

    def let_go_on(self, everybody=False):
        if self.etcd_at and (everybody or time.monotonic() >= self.etcd_at):
            self.etcd_at = None
            self.etcd.start()
        super().let_go_on(everybody)

    def end(self):
        super().end()
        if self.kept_port:
            self.kept_port.close()

    def is_under_way(self, status):
        """It has begun, which is kept, and has some passes left."""
        slowest = status["staleness"]["slowest"]
        return status["epoch"] > 0 and slowest is not None and slowest["pass"] < 0.9 * self.epochs

    def work(self):
        return ["--epochs", str(self.epochs), "--batch", "256", "--json", self.rows]

    def scheduler_words(self):
        kept = ("--checkpoint", self.checkpoints, "--checkpoint-every", "20-steps", "--checkpoint-whole-every", "4") if self.checkpoints else ()
        state = ("--state", self.state) if self.state else ()
        return [PROGRAM, "node", "scheduler", *state, "--listen", "%s:%d" % (HERE if self.bridge else "127.0.0.1", self.port), "--servers", str(self.servers_wanted),
                "--workers", str(self.workers_wanted), "--replicas", str(self.replicas), "--silence", "%gs" % self.silence_s, "--grace",
                "1s", *(("--insecure-no-auth",) if self.bridge else ()), *kept, *self.work()]

    def find_address(self):
        deadline = time.monotonic() + PATIENCE_S
        while "listens on " not in self.said():
            if self.scheduler.poll() is not None or time.monotonic() > deadline:
                raise Broken("the scheduler does not listen: " + self.said())
            time.sleep(0.01)
        return self.said().split("listens on ")[1].split(";")[0]

    def node_words(self, role, machine):
        if role == "server":
            return self.server_words(machine)
        return [PROGRAM, "node", "worker", "--join", self.address, *self.open_words(machine)]

    def calm(self):
        done = subprocess.run([PROGRAM, "train", *self.work(), "--quiet"], capture_output=True, text=True, check=True)
        return json.loads(last_line(done.stdout))

    def check(self, out, calm):
        told = json.loads(last_line(out))
        for name in ("model_digest", "examples"):
            if told[name] != calm[name]:
                raise Broken("%s is %s, undisturbed %s" % (name, told[name], calm[name]))
        if self.checkpoints:
            done = subprocess.run([PROGRAM, "ckpt", "verify", self.checkpoints], capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise Broken("the newest checkpoint: " + done.stderr)
        return {"failovers": len(told["failovers"])}


def remove(folder):
    shutil.rmtree(folder, ignore_errors=True)
