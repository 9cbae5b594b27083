#!/usr/bin/env python3
"""What a job loses while nobody answers for its state: bench/members/scheduler_away.py [--help].

Three equal trainings by hand beside each other. The scheduler of one is killed and started again after a while, the etcd of another
one, and the third is left alone. What is compared is the steps that each makes in that time, with those of the third and with the
time before."""
import argparse
import tempfile
import time

from hand_jobs import Job, Stack, about, make_rows


def steps(jobs):
    """Of each, how far its data shards are on average; all within its first pass."""
    found = {}
    for job in jobs:
        slowest, fastest = job.await_that(job.position, "its data shards tell where they are")
        if (slowest[0], fastest[0]) != (1, 1):
            raise SystemExit("the first pass is over; give more --times")
        found[job.name] = (slowest[1] + fastest[1]) / 2
    return found


def start(stack, folder, options):
    data = [make_rows(folder, options.rows)] * options.times
    flags = ["--model", "fm", "--rank", str(options.rank), "--batch", str(options.batch), "--epochs", "1", "--timeout", "30min"]
    etcd = stack.etcd()
    jobs = []
    for name in ("left alone", "scheduler away", "etcd away"):
        state = f"etcd://{etcd.address}/jobs/bench" if name == "etcd away" else None
        group = stack.share_of_core(name.replace(" ", "-"), options.share) if options.share else None
        job = Job(stack, folder, name, data, flags, state, group)
        job.scheduler = job.start_scheduler()
        job.start_nodes()
        jobs.append(job)
    return jobs, etcd


def measure(jobs, etcd, options):
    """Steps of each in the steady time and in that in which somebody is away."""
    for job in jobs:
        job.await_that(lambda job=job: job.position() and job.position()[0][1] > 100, "its first steps")
    begin = steps(jobs)
    time.sleep(options.steady)
    killed = steps(jobs)
    away = jobs[1]
    away.scheduler.kill()
    away.scheduler.wait()
    etcd.kill()
    time.sleep(options.seconds)
    away.start_scheduler()
    etcd.start()
    for job in jobs:
        job.await_that(job.all_taken_up, "its scheduler has taken all nodes up")
    time.sleep(options.after)  # What has waited to be told is told now.
    end = steps(jobs)
    return [(job.name, killed[job.name] - begin[job.name], end[job.name] - killed[job.name]) for job in jobs]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600, help="for which somebody is away")
    parser.add_argument("--steady", type=float, default=180, help="seconds before")
    parser.add_argument("--after", type=float, default=60, help="seconds for what has waited to arrive; they count")
    parser.add_argument("--share", type=float, default=0.1, help="of a core for each job, 0: as much as it gets")
    parser.add_argument("--rows", type=int, default=300_000, help="of the file")
    parser.add_argument("--times", type=int, default=40, help="that a pass goes over the file")
    parser.add_argument("--rank", type=int, default=16)
    parser.add_argument("--batch", type=int, default=128)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, Stack() as stack:
        jobs, etcd = start(stack, folder, options)
        figures = measure(jobs, etcd, options)
    _, calm_before, calm_since = figures[0]
    print(about("bench/members/scheduler_away.py") + " at the end.\n")
    print("| job | steps before | steps while away | of the steady rate, the third's as well |\n|---|---|---|---|")
    for name, before, since in figures:
        print(f"| {name} | {before:,.0f} | {since:,.0f} | {since / before / (calm_since / calm_before):.2%} |")


if __name__ == "__main__":
    main()
