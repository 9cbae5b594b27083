"""The exchange section of bench/run: our collectives beside Open MPI's, Gloo's and UCX's, and beside an ideal.

All all-reduces are measured by the method of bench/exchange_method.h. A round runs every program once, in turn; a
figure is the median over the rounds, each round's value the median of the program's 7 runs. Vectors are in ordinary
memory unless a row says that they are in the group's.
"""
import json
import os
import re
import statistics
import subprocess
import tempfile
import time

SIZES = {4 << 10: "4 KB", 256 << 10: "256 KB", 4 << 20: "4 MB", 64 << 20: "64 MB"}
SMALL = 4 << 10          # Measured in time; larger ones in bus bandwidth.
MESSAGES = {64: "64 B", 1 << 20: "1 MB"}
TENSORS = 10_000
ORDINARY, IN_GROUP = "ordinary memory", "group memory"  # Where vectors are, as bench/group_exchange.cc says it.
LISTS = {"list": ", one by one", "list, fused": ", fused by its user", "gradients": " Gradients",
         "gradients, unfused": " Gradients, unfused"}
UCX_LAYERS = {"shm": {"UCX_TLS": "posix"}, "tcp": {"UCX_TLS": "tcp", "UCX_NET_DEVICES": "lo"}}
PATIENCE_S = 600


def all_reduce(transport, ranks, size, who):
    return f"all-reduce {transport}, N={ranks}, {size}, {who}"


def _all_reduce_goals():
    """Peers have ordinary memory, the ideal has one shared mapping."""
    wanted = {("shm", 2, IN_GROUP): [1.6, 20, 10, 4.5], ("shm", 4, IN_GROUP): [15, 10, 6.5, 3.0],
              ("shm", 2, ORDINARY): [None] * 4, ("shm", 4, ORDINARY): [None] * 4,
              ("tcp", 2, ORDINARY): [13, None, 4.0, 2.5], ("tcp", 4, ORDINARY): [None, None, 2.2, 1.6]}
    by_mpi = {("shm", 2, IN_GROUP): [None, None, 1.9, 3], ("shm", 2, ORDINARY): [0.6, 1.5, 1.5, 1.5],
              ("shm", 4, ORDINARY): [None, 1.5, 1.5, 1.5]}
    by_ideal = {("shm", 2, IN_GROUP): [None, None, 0.73, 0.75]}
    none = [None] * len(SIZES)
    for key, goals in wanted.items():
        transport, ranks, memory = key
        for size, goal, mpi, ideal in zip(SIZES.values(), goals, by_mpi.get(key, none), by_ideal.get(key, none)):
            beside = [("Open MPI", all_reduce(transport, ranks, size, "Open MPI"), mpi)]
            if memory == ORDINARY:
                beside.append(("thalweg over UCX", all_reduce(transport, ranks, size, "thalweg over UCX"), None))
            if transport == "tcp":
                beside += [(f"Gloo {algorithm}", all_reduce(transport, ranks, size, f"Gloo {algorithm}"), None)
                           for algorithm in ("halving-doubling", "ring-chunked")]
            else:
                beside.append(("ideal", all_reduce(transport, ranks, size, "ideal"), ideal))
            yield (f"all-reduce, {transport}, {memory}, N={ranks}, {size}",
                   all_reduce(transport, ranks, size, f"thalweg in {memory}"),
                   "<=" if size == "4 KB" else ">=", goal, beside)


def _lists_goal(transport):
    def figure(who):
        return f"10,000 tensors {transport}, {who}"

    beside = [("one by one", figure("thalweg, one by one"), 5)]
    for peer, factor in [("Open MPI", None)] + ([("Gloo", 3)] if transport == "tcp" else []):
        beside += [(f"{peer}, one by one", figure(f"{peer}, one by one"), factor),
                   (f"{peer}, fused by its user", figure(f"{peer}, fused by its user"), None)]
    return f"10,000 tensors of 4 KB, {transport}, N=2, fused", figure("thalweg Gradients"), ">=", None, beside


GOALS = [
    *_all_reduce_goals(),
    ("64 B one way, shm", "64 B there and back shm, thalweg, half of it", "<=", 0.3,
     [("UCX", "64 B there and back shm, UCX, half of it", 1.2),
      ("thalweg over UCX", "64 B there and back shm, thalweg over UCX, half of it", None)]),
    ("1 MB one way, shm", "1 MB one way shm, thalweg", ">=", 12, [("UCX", "1 MB one way shm, UCX", None),
      ("thalweg over UCX", "1 MB one way shm, thalweg over UCX", None)]),
    ("64 B one way, tcp", "64 B there and back tcp, thalweg, half of it", "<=", None,
     [("UCX", "64 B there and back tcp, UCX, half of it", None),
      ("thalweg over UCX", "64 B there and back tcp, thalweg over UCX, half of it", None)]),
    ("1 MB one way, tcp", "1 MB one way tcp, thalweg", ">=", 6.5, [("UCX", "1 MB one way tcp, UCX", None),
      ("thalweg over UCX", "1 MB one way tcp, thalweg over UCX", None)]),
    *(_lists_goal(transport) for transport in ("shm", "tcp")),
]


class Loopback:
    """A network namespace whose loopback uses cubic, for programs that cannot choose their congestion control."""

    def __init__(self, say):
        self.name, self.prefix = f"thalweg-bench-{os.getpid()}", []
        self.default = open("/proc/sys/net/ipv4/tcp_congestion_control").read().strip()
        self.say = say

    def __enter__(self):
        route = ["change", "local", None, "dev", "lo", "table", "local", "proto", "kernel", "scope", "host", "src",
                 "127.0.0.1", "congctl", "cubic"]
        commands = [["netns", "add", self.name], ["-n", self.name, "link", "set", "lo", "up"]]
        commands += [["-n", self.name, "route"] + [where if word is None else word for word in route]
                     for where in ("127.0.0.0/8", "127.0.0.1")]
        try:
            for command in commands:
                subprocess.run(["ip", *command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            self.prefix = ["ip", "netns", "exec", self.name]
        except (OSError, subprocess.CalledProcessError) as error:
            self.say(f"no namespace of our own, the peers' TCP runs on {self.default}: {getattr(error, 'stderr', error)}")
        return self

    def __exit__(self, *_):
        subprocess.run(["ip", "netns", "del", self.name], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def words(self):
        return "cubic, in a namespace of their own" if self.prefix else f"{self.default}, the machine's default"


class Programs:
    """Runs what there is; says once what there is not."""

    def __init__(self, build, say):
        self.build, self.say, self.missing = build, say, set()

    def lines(self, name, command):
        """The objects that a program prints, one a line; none when it is absent or fails."""
        if name in self.missing:
            return []
        try:
            done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  timeout=PATIENCE_S)
            why = f"exit {done.returncode}: {done.stderr.strip()[-300:]}" if done.returncode != 0 else None
        except FileNotFoundError:
            why = "not installed; scripts/setup --bench installs what Debian packages"
        except subprocess.TimeoutExpired:
            why = f"not done after {PATIENCE_S} s"
        if why:
            self.missing.add(name)
            self.say(f"without {name}: {why}")
            return []
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]

    def bench(self, program, *arguments):
        return [self.build / "bench" / program, *arguments]


def mpirun(transport, ranks, command):
    how = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--quiet", "-n", ranks]
    if transport == "tcp":
        how += ["--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "oob_tcp_if_include", "lo"]
    return how + command


def take(figures, transport, who, lines):
    for line in lines:
        if line["what"] in LISTS:
            figures.add(f"10,000 tensors {transport}, {who}{LISTS[line['what']]}", "k/s", TENSORS * 1e3 / line["us"])
        elif line["what"] == "there and back":
            figures.add(f"{MESSAGES[line['bytes']]} there and back {transport}, {who}, half of it", "us", line["us"] / 2)
        elif line["what"] == "one way":
            figures.add(f"{MESSAGES[line['bytes']]} one way {transport}, {who}", "GB/s", line["bytes"] * 1e-3 / line["us"])
        elif line["bytes"] in SIZES:
            name = all_reduce(transport, line["ranks"], SIZES[line["bytes"]], who)
            if line["bytes"] == SMALL:
                figures.add(name, "us", line["us"])
            else:
                figures.add(name, "GB/s", line["busbw_gbps"])


def ours(figures, programs, transport, ranks, what):
    lines = programs.lines(f"thalweg over {transport}", programs.bench("group_exchange", ranks, transport, what))
    for memory in (ORDINARY, IN_GROUP):
        take(figures, transport, f"thalweg in {memory}", [line for line in lines if line["algorithm"] == memory])
    take(figures, transport, "thalweg", [line for line in lines if line["algorithm"] not in (ORDINARY, IN_GROUP)])


def ours_over_ucx(figures, programs, transport, inside, ranks, what):
    layers = [f"{name}={value}" for name, value in UCX_LAYERS[transport].items()]
    lines = programs.lines(f"thalweg over UCX's {transport}",
                           [*inside, "env", *layers, *programs.bench("group_exchange", ranks, "ucx", what)])
    take(figures, transport, "thalweg over UCX", lines)


def sums(figures, programs, loopback):
    for ranks in (2, 4):
        for transport in ("shm", "tcp"):
            inside = loopback.prefix if transport == "tcp" else []
            ours(figures, programs, transport, ranks, "sizes")
            ours_over_ucx(figures, programs, transport, inside, ranks, "sizes")
            take(figures, transport, "Open MPI", programs.lines(
                f"Open MPI over {transport}", inside + mpirun(transport, ranks, programs.bench("mpi_exchange", transport))))
            if transport == "shm":
                take(figures, transport, "ideal", programs.lines("the ideal", programs.bench("shm_ideal", ranks)))
                continue
            for algorithm in ("halving-doubling", "ring-chunked"):
                take(figures, transport, f"Gloo {algorithm}", programs.lines(
                    f"Gloo {algorithm}", inside + programs.bench("gloo_exchange", ranks, algorithm)))


def lists(figures, programs, loopback):
    for transport in ("shm", "tcp"):
        inside = loopback.prefix if transport == "tcp" else []
        ours(figures, programs, transport, 2, "lists")
        take(figures, transport, "Open MPI", programs.lines(
            f"Open MPI over {transport}", inside + mpirun(transport, 2, programs.bench("mpi_exchange", transport, "lists"))))
    take(figures, "tcp", "Gloo", programs.lines(
        "Gloo halving-doubling", loopback.prefix + programs.bench("gloo_exchange", 2, "halving-doubling", "lists")))


def ucx(programs, transport, inside, test, size, count):
    """One run of ucx_perftest: its client's row of figures by column, or None."""
    name = f"UCX over {transport}"
    if name in programs.missing:
        return None
    layers = UCX_LAYERS[transport]
    port = ["-p", str(20000 + os.getpid() % 20000)]

    def command(core, *more):
        return [*inside, "taskset", "-c", str(core), "ucx_perftest", *port, *more]

    cores = os.cpu_count()
    try:
        with tempfile.TemporaryFile() as quiet:
            server = subprocess.Popen(command(1 % cores), env=os.environ | layers, stdout=quiet, stderr=quiet)
            try:
                for _ in range(20):  # Until the server listens.
                    time.sleep(0.2)
                    done = subprocess.run(command(0, "127.0.0.1", "-t", test, "-s", str(size), "-n", str(count), "-w", "100",
                                                  "-f", "-v"), env=os.environ | layers, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True, timeout=60)
                    if done.returncode == 0:
                        break
            finally:
                server.kill()
                server.wait()
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        programs.missing.add(name)
        programs.say(f"without {name}: {error}")
        return None
    rows = [line.split(",") for line in done.stdout.splitlines() if re.match(r"\w+,", line)]
    if done.returncode != 0 or len(rows) < 2:
        programs.missing.add(name)
        programs.say(f"without {name}: exit {done.returncode}: {done.stderr.strip()[-300:]}")
        return None
    return {column: float(value) for column, value in zip(rows[0], rows[-1])}


def point_to_point(figures, programs, loopback):
    for transport in ("shm", "tcp"):
        inside = loopback.prefix if transport == "tcp" else []
        ours(figures, programs, transport, 2, "messages")
        ours_over_ucx(figures, programs, transport, inside, 2, "messages")
        slow = transport == "tcp"
        for what, test, size, count, unit, value in [
                ("64 B there and back", "tag_lat", 64, 30_000 if slow else 200_000, "us", lambda row: row["overall_lat"]),
                ("1 MB one way", "tag_bw", 1 << 20, 1_000 if slow else 2_000, "GB/s",
                 lambda row: row["overall_mr"] * (1 << 20) * 1e-9)]:
            runs = [ucx(programs, transport, inside, test, size, count) for _ in range(7)]
            values = [value(row) for row in runs if row]
            if values:
                end = ", half of it" if unit == "us" else ""
                figures.add(f"{what} {transport}, UCX{end}", unit, statistics.median(values))


def own_parts(say):
    """As bench/run's: our own programs, of the build that is given."""
    runs = [(transport, ranks, "sizes") for ranks in (2, 4) for transport in ("shm", "tcp")]
    runs += [(transport, 2, what) for what in ("messages", "lists") for transport in ("shm", "tcp")]
    return {run: lambda figures, build, run=run: ours(figures, Programs(build, say), *run) for run in runs}


def measure(figures, options, build, say):
    """Adds all figures; returns sentences on how they came about."""
    programs = Programs(build, say)
    with Loopback(say) as loopback:
        for number in range(options.rounds):
            say(f"round {number + 1} of {options.rounds}")
            sums(figures, programs, loopback)
            point_to_point(figures, programs, loopback)
            lists(figures, programs, loopback)
        notes = [f"TCP of Open MPI, Gloo and UCX: {loopback.words()}; Thalweg chooses its own for each socket."]
    if programs.missing:
        notes.append("Left out: " + ", ".join(sorted(programs.missing)) + ".")
    return notes
