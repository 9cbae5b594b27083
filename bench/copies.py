#!/usr/bin/env python3
"""What copies of key ranges cost a training job, and for how long a server's death stops it: bench/copies.py [--help]."""
import argparse
import itertools
import json
import mmap
import os
import pathlib
import re
import resource
import shlex
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "release"
MARK = "bench/copies.py"


def prepare(real_time):
    """Before the job's processes start. At real-time priority builds beside them take none of their processor time."""
    os.setsid()
    if real_time:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))


def touch(megabytes):
    """A virtual machine's host takes back memory that is free, and to be given it again takes seconds a gigabyte."""
    with mmap.mmap(-1, megabytes << 20) as memory:
        memory.madvise(mmap.MADV_HUGEPAGE)
        for at in range(0, len(memory), mmap.PAGESIZE):
            memory[at] = 1


def train(program, job, sync, replicas, options):
    """Seconds of the job and processor seconds of all its processes."""
    if options.warm:
        touch(options.warm)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [program, "train", *job, "--processes", "--servers", "3", "--workers", "2", "--replicas", str(replicas),
               "--sync", sync, "--json", "--quiet"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, preexec_fn=lambda: prepare(options.real_time))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return json.loads(done.stdout.splitlines()[-1])["seconds"], spent


def shown(values):
    return f"{statistics.median(values):.2f} [{min(values):.2f}..{max(values):.2f}]"


def ratio(ours, base):
    """Of medians, and of the rounds' own ratios the least and the greatest."""
    rounds = [a / b for a, b in zip(ours, base)]
    return f"x{statistics.median(ours) / statistics.median(base):.2f} [{min(rounds):.2f}..{max(rounds):.2f}]"


def measure(options, name_of_job, job, sync):
    """All cases in turn in each round; a row for each."""
    cases = {"one server a range": (BUILD / "thalweg", 1), "two servers a range": (BUILD / "thalweg", 2)}
    if options.against:
        cases = {"one server a range, before": (options.against, 1), "two servers a range, before": (options.against, 2)} | cases
    figures = {name: [] for name in cases}
    for _ in range(options.rounds):
        for name, (program, replicas) in cases.items():
            figures[name].append(train(program, job, sync, replicas, options))
    base = list(zip(*figures["one server a range"]))
    for name, runs in figures.items():
        took, spent = zip(*runs)
        yield f"| {name_of_job}{sync}, {name} | {shown(took)} s | {ratio(took, base[0])} | {shown(spent)} s | {ratio(spent, base[1])} |"


def fail_over(options):
    for mode in ("sync", "async"):
        done = subprocess.run([BUILD / "bench" / "fail_over", mode, str(options.kills), str(options.rows)], stdout=subprocess.PIPE,
                              text=True, check=True)
        yield done.stdout.strip()


def processor():
    return re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text()).group(1)


def record(report):
    path = ROOT / "bench" / "RESULTS.md"
    before, found, rest = path.read_text().partition(f"<!-- figures of {MARK} -->\n")
    if not found:
        sys.exit(f"{MARK}: {path} has no line <!-- figures of {MARK} -->")
    path.write_text(f"{before}{found}{report}\n<!-- end -->\n{rest.partition('<!-- end -->' + chr(10))[2]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the data, and of the table of the jobs whose servers are killed")
    parser.add_argument("--kills", type=int, default=20, help="0: kill nothing")
    parser.add_argument("--job", action="append", metavar="ARGUMENTS",
                        help='of `thalweg train`, such as "--model mlp DIR --epochs 1", in the place of lr on generated rows; may be repeated')
    parser.add_argument("--against", help="a program of another commit, measured in the same rounds")
    parser.add_argument("--real-time", action="store_true", help="at real-time priority, as on a machine that does other work")
    parser.add_argument("--warm", type=int, default=0, metavar="MB", help="touch so much memory before each run, which then is the machine's")
    parser.add_argument("--record", action="store_true", help="put the figures into bench/RESULTS.md")
    options = parser.parse_args()
    if options.warm < 0:
        parser.error(f"--warm {options.warm}: expected megabytes, from 0")
    commit = subprocess.run(["git", "describe", "--always", "--dirty=+", "--abbrev=12"], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                            check=True).stdout.strip()
    load = os.getloadavg()[0]
    lines = ["| job | takes | of one server a range | processor time | of one server a range |", "|---|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "rows.svm")
        if not options.job:
            subprocess.run([BUILD / "thalweg", "data", "synth", "--rows", str(options.rows), "-o", data, "--quiet"], check=True)
        jobs = {f"{job}, ": shlex.split(job) for job in options.job or ()} or {"": [data]}
        for job, sync in itertools.product(jobs, ("bsp", "async")):
            lines += measure(options, job, jobs[job], sync)
    if options.kills:
        lines += ["", "Nobody is answered after a kill for: " + "; ".join(fail_over(options)) + "."]
    words = shlex.join(word for word in sys.argv[1:] if word != "--record" and word != options.against)
    words = words.replace("--against", "--against PROGRAM")
    about = f"Commit {commit}, `{MARK} {words}`; {processor()}, {os.cpu_count()} cores, load average {load:.1f} at the start."
    report = about + "\n\n" + "\n".join(lines)
    print(report)
    if options.record:
        record(report)


if __name__ == "__main__":
    main()
