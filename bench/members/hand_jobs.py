"""Jobs whose nodes are started by hand, for benchmarks that hurt them: a scheduler that keeps a state, servers and workers."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ.get("THALWEG") or ROOT / "build" / "release" / "thalweg")
GROUPS = pathlib.Path("/sys/fs/cgroup/cpu")  # Of cgroups, version 1.
PATIENCE_S = 120
sys.path.insert(0, str(ROOT / "tests" / "process"))
from etcd_server import Etcd  # noqa: E402
from reserved_port import reserved_port  # noqa: E402


class Stack(contextlib.ExitStack):
    """What etcd_server.py calls a test: who ends what it has started."""

    def addCleanup(self, function, *arguments):
        self.callback(function, *arguments)

    def free_address(self):
        kept, port = reserved_port()
        self.callback(kept.close)
        return "127.0.0.1:%d" % port

    def etcd(self):
        return Etcd(self)

    def share_of_core(self, name, share):
        """A group of processes that have so much of one core whatever else runs, or None where no such group may be made."""
        group = GROUPS / f"thalweg-bench-{os.getpid()}-{name}"
        try:
            group.mkdir()
        except OSError:
            return None
        self.callback(remove_group, group)
        (group / "cpu.shares").write_text("200000")
        (group / "cpu.cfs_period_us").write_text("20000")
        (group / "cpu.cfs_quota_us").write_text(str(int(20000 * share)))
        return group


def remove_group(group):
    while True:
        try:
            return group.rmdir()
        except OSError:
            time.sleep(0.05)


class Job:
    """Everything of it ends with `stack`. Nodes join it at `joined`, and it is asked at `asked`."""

    def __init__(self, stack, folder, name, data, flags, state=None, group=None, servers=2, workers=2):
        self.folder, self.name, self.data, self.flags, self.group = pathlib.Path(folder), name, data, flags, group
        self.servers, self.workers = servers, workers
        self.state = state or str(self.folder / f"{name}.state")
        self.address = self.joined = self.asked = stack.free_address()
        self.processes = []
        stack.callback(self.end)

    def prepare(self):
        """In the process that is to be."""
        if self.group:
            (self.group / "cgroup.procs").write_text(str(os.getpid()))

    def start(self, *words):
        with open(self.words_of(len(self.processes)), "w", encoding="utf-8") as said:
            process = subprocess.Popen([PROGRAM, "node", *words], stdout=said, stderr=said, preexec_fn=self.prepare)
        process.number = len(self.processes)
        self.processes.append(process)
        return process

    def words_of(self, number):
        return self.folder / f"{self.name}-{number}.log"

    def start_scheduler(self, *more, address=None):
        return self.start("scheduler", "--listen", address or self.address, "--state", self.state, "--servers", str(self.servers),
                          "--workers", str(self.workers), *self.flags, *more, *self.data)

    def start_server(self):
        return self.start("server", "--join", self.joined)

    def start_worker(self):
        return self.start("worker", "--join", self.joined, "--", *self.data)

    def start_nodes(self):
        return [self.start_server() for _ in range(self.servers)], [self.start_worker() for _ in range(self.workers)]

    def ask(self, what="status"):
        """Soon, or not: who asks where nobody is yet tries again ever later."""
        done = subprocess.run([PROGRAM, what, "--join", self.asked, "--timeout", "300ms", "--json"], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def position(self):
        """Pass and step of the slowest and of the fastest data shard, as they have told; None before they have."""
        status = self.ask()
        if not status or not status["staleness"]["slowest"]:
            return None
        return tuple((one["pass"], one["step"]) for one in (status["staleness"]["slowest"], status["staleness"]["fastest"]))

    def await_that(self, holds, what):
        deadline = time.monotonic() + PATIENCE_S
        while not (found := holds()):
            if time.monotonic() > deadline:
                sys.exit(f"{self.name}: not within {PATIENCE_S} s: {what}; see {self.folder}")
        return found

    def all_taken_up(self):
        """The scheduler's own observer is there once the others have said what they were told."""
        status = self.ask()
        return status and [node["state"] for node in status["nodes"]].count("alive") >= self.servers + self.workers + 1

    def end(self):
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


def make_rows(folder, rows):
    path = os.path.join(folder, "rows.svm")
    subprocess.run([PROGRAM, "data", "synth", "--rows", str(rows), "--seed", "3", "-o", path, "--quiet"], check=True)
    return path


def about(mark):
    commit = subprocess.run(["git", "describe", "--always", "--dirty=+", "--abbrev=12"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                            check=True).stdout.strip()
    processor = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text()).group(1)
    return f"Commit {commit}, `{mark} {' '.join(sys.argv[1:])}`; {processor}, {os.cpu_count()} cores, load average " \
           f"{os.getloadavg()[0]:.1f}"
