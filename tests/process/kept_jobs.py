"""Jobs whose scheduler keeps a state, for tests that kill it and start it again."""
import functools
import json
import os
import subprocess
import time

from cluster_jobs import PATIENCE_S, ClusterJobs, last_json
from programs import PROGRAM
from reserved_port import reserved_port

WORK = ("--epochs", "80", "--batch", "256", "--keep", "last")


class KeptJobs(ClusterJobs):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.calm = cls.undisturbed(WORK)

    @classmethod
    @functools.cache
    def undisturbed(cls, work):
        done = subprocess.run([PROGRAM, "train", cls.train, "--valid", cls.valid, "--json", *work], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=True)
        return last_json(done.stdout)

    def setUp(self):
        super().setUp()
        self.address = self.joined = self.free_address()
        self.state = os.path.join(self.folder.name, "state-" + self.address.rsplit(":", 1)[1])

    def free_address(self):
        kept, port = reserved_port()
        self.addCleanup(kept.close)
        return "127.0.0.1:%d" % port

    def start(self, *arguments):
        started = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, started)
        return started

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def scheduler_command(self, *flags, work=WORK, address=None):
        return ["node", "scheduler", "--listen", address or self.address, "--state", self.state, "--servers", "2", "--workers", "2",
                "--json", *work, *flags, "--valid", self.valid, self.train]

    def start_nodes(self):
        servers = [self.start("node", "server", "--join", self.joined) for _ in range(2)]
        return servers + [self.start("node", "worker", "--join", self.joined, "--", self.train) for _ in range(2)]

    def ask(self, command):
        done = subprocess.run([PROGRAM, command, "--join", self.joined, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else None

    def await_reports(self, least, step=0):
        """Until each data shard has told of that step of pass `least`, or of a later one."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = self.ask("status")
            slowest = status["staleness"]["slowest"] if status else None
            if slowest and (slowest["pass"], slowest["step"]) >= (least, step):
                return status
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.02)

    def await_all_alive(self):
        """The scheduler's own observer joins once the others have said what they were told."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            status = self.ask("status")
            if status and {node["state"] for node in status["nodes"]} == {"alive"}:
                return status
            self.assertLess(time.monotonic(), deadline, status)
            time.sleep(0.02)

    def await_work(self, workers, ticks=60):
        """Until each of them has computed for so many more ticks of 10 ms; one that waits uses one in some seconds."""
        def worked(process):
            with open("/proc/%d/stat" % process.pid, encoding="ascii", errors="replace") as stat:
                return sum(int(field) for field in stat.read().rsplit(")", 1)[1].split()[11:13])
        deadline = time.monotonic() + PATIENCE_S
        for worker, before in [(worker, worked(worker)) for worker in workers]:
            while worked(worker) < before + ticks:
                self.assertIsNone(worker.poll())
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)

    def refused(self, why, *flags, code=2, work=WORK):
        done = subprocess.run([PROGRAM, *self.scheduler_command(*flags, work=work)], capture_output=True, text=True, timeout=PATIENCE_S,
                              check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(why, done.stderr + done.stdout)
        return done.stderr

    def assert_as_undisturbed(self, scheduler):
        """Once it ends: what it says last."""
        out, err = scheduler.communicate(timeout=PATIENCE_S)
        self.assertEqual(scheduler.returncode, 0, err)
        result = last_json(out)
        for what in ("model_digest", "examples", "steps", "train_loss", "valid_loss"):
            self.assertEqual(result[what], self.calm[what], what)
        return result, err
