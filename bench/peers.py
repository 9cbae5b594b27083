"""Programs that Debian packages, run beside Thalweg."""
import os
import socket
import subprocess
import time


def auc(scores, labels):
    """Area under the ROC curve; equal scores count half."""
    order = sorted(range(len(scores)), key=scores.__getitem__)
    positives = sum(labels)
    ranks, at = 0.0, 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        ranks += sum(labels[i] for i in order[at:end]) * (at + 1 + end) / 2
        at = end
    negatives = len(labels) - positives
    return (ranks - positives * (positives + 1) / 2) / (positives * negatives)


def timed(command):
    """Seconds and the largest resident set in bytes of a command that must succeed."""
    begin = time.monotonic()
    child = subprocess.Popen([str(c) for c in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        raise SystemExit(f"bench/run: exit {child.returncode}: {' '.join(map(str, command))}")
    return time.monotonic() - begin, usage.ru_maxrss * 1024


# liblinear's -e: it stops once the gradient's norm is this share of its first (times the rarer label's share of rows).
EARLY, CONVERGED = "0.1", "0.001"


def liblinear(train, valid, scratch, tolerance):
    """Logistic regression until `tolerance` is met: (name, unit, value) of time, memory and held-out AUC."""
    model, scores = scratch / "liblinear.model", scratch / "liblinear.scores"
    with open(train, "rb") as rows:
        count = sum(block.count(b"\n") for block in iter(lambda: rows.read(1 << 22), b""))
    seconds, rss = timed(["liblinear-train", "-s", "0", "-c", "0.1", "-e", tolerance, train, model])
    timed(["liblinear-predict", "-b", "1", valid, model, scores])
    with open(scores) as lines:
        column = next(lines).split().index("1")
        predicted = [float(line.split()[column]) for line in lines]
    with open(valid) as lines:
        labels = [1 if line.startswith("1") else 0 for line in lines]
    return [("seconds", "s", seconds), ("examples/s of the whole program", "k/s", count / seconds * 1e-3),
            ("max RSS", "MB", rss * 1e-6), ("held-out AUC", "", auc(predicted, labels))]


class Redis:
    """A server of its own on a free port, without persistence, for the length of a `with`."""

    def __init__(self, scratch):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                        "--appendonly", "no", "--dir", str(scratch)]

    def __enter__(self):
        self.server = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self
            except OSError:
                time.sleep(0.02)
        self.server.kill()
        raise SystemExit("bench/run: redis-server does not answer")

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()
