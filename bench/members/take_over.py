#!/usr/bin/env python3
"""For how long a job by hand waits when nodes of it come and go: bench/members/take_over.py [--help].

scheduler  The scheduler is killed and started again at once, with its --state a directory: until it has taken up all nodes.
standby    The same with an etcd and a second scheduler that waits: until that leads, and until it has taken up all nodes.
worker     A worker is killed: until others have gone on with its data shards. Another one is started: until it has data shards of
           others, and all have gone on with it. In lockstep, where no shard gets ahead of one that stands still.

Every time includes what `thalweg status` takes to say so, and is of one change at a random moment of a training that goes on."""
import argparse
import random
import tempfile
import time

from hand_jobs import Job, Stack, about, make_rows

BATCH = 1000
PASSES = 5000  # More than are made; a scheduler that starts makes room for all of them.
LOCKSTEP_REPORTS = 8  # Steps from one report of a data shard to the next.


def flags():
    return ["--epochs", str(PASSES), "--batch", str(BATCH), "--data-shards", "8", "--timeout", "10min", "--replicas", "2"]


def pause(chance):
    time.sleep(0.5 + chance.random())


def started(stack, folder, name, options, state=None, other=None):
    """A job that has begun, and its scheduler; `other` is where a second one will listen."""
    job = Job(stack, folder, name, [make_rows(folder, options.rows)], flags(), state)
    if other:
        job.joined = f"{job.address},{other}"
    scheduler = job.start_scheduler()
    nodes = job.start_nodes()
    job.await_that(lambda: job.position() and job.all_taken_up(), "its first steps")
    return job, scheduler, nodes


def measure_scheduler(folder, options, chance):
    """Seconds from each kill until all nodes are taken up."""
    took = []
    with Stack() as stack:
        job, scheduler, _ = started(stack, folder, "scheduler", options)
        for _ in range(options.times):
            pause(chance)
            begin = time.monotonic()
            scheduler.kill()
            scheduler.wait()
            scheduler = job.start_scheduler()
            job.await_that(job.all_taken_up, "the scheduler has taken all nodes up")
            took.append(time.monotonic() - begin)
    yield "a scheduler that is started again has taken up all nodes", took


def leads(job, number):
    return "the scheduler has taken the job up" in job.words_of(number).read_text(encoding="utf-8")


def measure_standby(folder, options, chance):
    led, took = [], []
    with Stack() as stack:
        addresses = [None, stack.free_address()]
        job, leader, _ = started(stack, folder, "standby", options, f"etcd://{stack.etcd().address}/jobs/bench", addresses[1])
        addresses[0] = job.address
        for kill in range(options.times):
            standby = job.start_scheduler("--standby", address=addresses[(kill + 1) % 2])
            said = job.words_of(standby.number)
            job.await_that(lambda: "waiting for its turn" in said.read_text(encoding="utf-8"), "the standby waits")
            job.asked = addresses[(kill + 1) % 2]
            pause(chance)
            begin = time.monotonic()
            leader.kill()
            leader.wait()
            while not leads(job, standby.number):
                time.sleep(0.002)
            led.append(time.monotonic() - begin)
            job.await_that(job.all_taken_up, "the standby has taken all nodes up")
            took.append(time.monotonic() - begin)
            leader = standby
    yield "a standby leads, by etcd", led
    yield "it has taken up all nodes", took


def steps(options, position):
    return (position[0] - 1) * -(-options.rows // BATCH) + position[1]


def goes_on(job, options):
    """Until every data shard has made a step since now, whatever was still to be told."""
    slowest, fastest = job.await_that(job.position, "its data shards tell where they are")
    least = steps(options, fastest) + 2 * LOCKSTEP_REPORTS
    job.await_that(lambda: steps(options, job.position()[0]) >= least, "all data shards go on")


def has_joined(job, pid):
    index = next((node["index"] for node in job.ask()["nodes"] if node["pid"] == pid), None)
    events = job.ask("events")["events"] if index is not None else []
    return any(one["event"] == "reassigned" and one["index"] == index and "has" in one["cause"] for one in events)


def measure_worker(folder, options, chance):
    left, joined, calm = [], [], []
    with Stack() as stack:
        job, _, (_, workers) = started(stack, folder, "worker", options)
        for _ in range(options.times):
            pause(chance)
            begin = time.monotonic()
            goes_on(job, options)
            calm.append(time.monotonic() - begin)
            pause(chance)
            begin = time.monotonic()
            workers[0].kill()
            workers[0].wait()
            goes_on(job, options)
            left.append(time.monotonic() - begin)
            pause(chance)
            begin = time.monotonic()
            workers = [workers[1], job.start_worker()]
            job.await_that(lambda pid=workers[1].pid: has_joined(job, pid), "the newcomer has data shards")
            goes_on(job, options)
            joined.append(time.monotonic() - begin)
    yield "a killed worker's data shards go on", left
    yield "a worker that was started takes part", joined
    yield "the same question where nothing happens", calm


def part(of, values):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * of))]


def main():
    parts = {"scheduler": measure_scheduler, "standby": measure_standby, "worker": measure_worker}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {' '.join(parts)}; all unless given")
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the training")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(parts):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(parts)}")
    lines = ["| after a change, until | times | p50 | p99 | least..greatest |", "|---|---|---|---|---|"]
    for name in options.parts or parts:
        with tempfile.TemporaryDirectory() as folder:
            for what, took in parts[name](folder, options, random.Random(options.seed)):
                lines.append(f"| {what} | {len(took)} | {part(0.5, took):.2f} s | {part(0.99, took):.2f} s | "
                             f"{min(took):.2f}..{max(took):.2f} s |")
    print(about("bench/members/take_over.py") + " at the end.\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
