#!/usr/bin/env python3
"""Kills, stops and cuts off the processes of real jobs at random, one job after the other, until there were so many kills.

Nothing may be lost or count twice: clients write down what they see, and the checker of histories holds it to what was
pushed; what is learnt in lockstep has the bits of an undisturbed job; and trainings end with their undisturbed model.
Ends with 1 where a promise was broken, and keeps what the job's processes said.
"""
import argparse
import contextlib
import errno
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

import namespaces
from etcd_server import Etcd
from hurt_jobs import PATIENCE_S, Broken, HistoryJob, TrainJob, remove

TRAININGS = ("train", "kept", "etcd", "full")
APART_S = 15  # Between faults: what there is to see of one is over by the next.
KINDS = ("sync", "async", "bounded:2", "train", "kept", "etcd", "cut:sync", "cut:async", "full")


def log(text):
    print("%9.1f s  %s" % (time.monotonic() - log.begin, text), file=sys.stderr, flush=True)


log.begin = time.monotonic()


class Faults:
    """What can be done to a job. Each of its functions says what it did and to how many processes, or nothing.

    A server is lost at a time at which all key ranges have their copies, so that none is lost; a worker at any time at which
    there is another one. A scheduler is killed where its state is kept, so that another one takes the job up.
    """

    def __init__(self, job, chance, only):
        self.job, self.chance = job, chance
        self.weights = {self.kill_server: 40, self.kill_worker: 22, self.kill_both: 8, self.kill_newcomer: 8, self.stop_server: 3,
                        self.stop_worker: 3, self.pause_server: 5, self.pause_worker: 5}
        if job.bridge:
            self.weights.update({self.cut_off_server: 6, self.cut_one_way: 8})
        if isinstance(job, TrainJob) and job.state:
            self.weights.update({self.kill_scheduler: 20, self.kill_scheduler_too: 20})
            if job.etcd:
                self.weights[self.kill_etcd] = 8
        self.weights = {fault: weight for fault, weight in self.weights.items() if not only or fault.__name__ in only}

    def draw(self, status):
        fault = self.chance.choices(list(self.weights), list(self.weights.values()))[0]
        return fault(status)

    def spare(self, role, status):
        job = self.job
        there = [node for node in job.going(role) if not node.go_on and job.state_of(status, node) == "alive"]
        if len(there) < 2:
            return None
        if role == "server" and not self.all_copied(status):
            return None
        return self.chance.choice(there)

    def all_copied(self, status):
        """Whether all key ranges have their copies, and no server has been hurt of which the scheduler does not know yet."""
        return self.all_known(status, "server") and status["ranges_in_sync"] == status["ranges"]

    def all_known(self, status, role):
        return not any(node.go_on or (node.hurt and self.job.state_of(status, node) in ("alive", "joining"))
                       for node in self.job.nodes[role])

    def kill(self, status, *roles):
        victims = [(role, self.spare(role, status)) for role in roles]
        if not all(victim for _, victim in victims):
            return None
        for role, victim in victims:
            if role == "server":
                self.job.kills_at.append(time.monotonic_ns())
            self.job.kill(victim)
        return "kill " + " and ".join("%s %d" % (role, victim.pid) for role, victim in victims), len(victims)

    def kill_server(self, status):
        return self.kill(status, "server")

    def kill_worker(self, status):
        return self.kill(status, "worker")

    def kill_both(self, status):
        return self.kill(status, "worker", "server")

    def may_kill_scheduler(self, status):
        """Each has the time to find who died before it came: else nobody's data shards are ever handed on."""
        return self.job.is_under_way(status) and self.job.etcd_at is None and self.all_known(status, "server") and self.all_known(status, "worker")

    def kill_scheduler(self, status):
        if not self.may_kill_scheduler(status):
            return None
        return self.lose_scheduler()

    def lose_scheduler(self):
        pid = self.job.scheduler.pid
        self.job.kill_scheduler(self.chance.choice((0, self.chance.uniform(0, 1))))
        return "kill scheduler %d" % pid, 1

    def kill_scheduler_too(self, status):
        """With a server, of which the scheduler may have heard, or a worker."""
        role = self.chance.choice(("server", "worker"))
        first = self.may_kill_scheduler(status) and self.kill(status, role)
        if not first:
            return None
        time.sleep(self.chance.choice((0, self.chance.uniform(0, 0.1))))
        second = self.lose_scheduler()
        return "%s and %s" % (first[0], second[0].removeprefix("kill ")), 2

    def kill_etcd(self, _):
        if self.job.etcd_at:
            return None
        away_s = self.chance.uniform(0, 4)  # For longer than a lease, at times.
        self.job.kill_etcd(away_s)
        return "kill etcd for %.2f s" % away_s, 0

    def kill_newcomer(self, _):
        newcomer = self.job.join("server")
        time.sleep(self.chance.uniform(0, 0.4))
        # By then it may have the only other copy of what was lost meanwhile.
        status = self.job.status()
        if status is None or not self.all_copied(status) or newcomer.process.poll() is not None:
            return None
        self.job.kill(newcomer)
        return "kill joining server %d" % newcomer.pid, 1

    def stand_still(self, status, role, seconds, hurt):
        victim = self.spare(role, status)
        if victim is None:
            return None
        victim.hurt = hurt
        victim.goes_on_at = time.monotonic() + seconds
        victim.go_on = lambda: victim.process.poll() is None and victim.process.send_signal(signal.SIGCONT)
        victim.process.send_signal(signal.SIGSTOP)
        return "stop %s %d for %.2f s" % (role, victim.pid, seconds), 0

    def too_long(self):
        return self.job.silence_s + self.chance.uniform(0.5, 1.5)

    def stop_server(self, status):
        return self.stand_still(status, "server", self.too_long(), True)

    def stop_worker(self, status):
        return self.stand_still(status, "worker", self.too_long(), True)

    def pause_server(self, status):
        return self.stand_still(status, "server", self.chance.uniform(0.02, 0.3), False)

    def pause_worker(self, status):
        return self.stand_still(status, "worker", self.chance.uniform(0.02, 0.3), False)

    def cut_off_server(self, status):
        victim = self.spare("server", status)
        if victim is None:
            return None
        victim.hurt = True
        victim.goes_on_at = time.monotonic() + self.too_long()
        victim.go_on = victim.machine.join
        victim.machine.cut_off()
        return "cut off server %d" % victim.pid, 0

    def cut_one_way(self, status):
        victim = self.spare("server", status)
        if victim is None:
            return None
        others = [node.machine.host for node in self.job.going("server") if node is not victim]
        host = self.chance.choice(others)
        victim.goes_on_at = time.monotonic() + self.chance.uniform(0.05, 0.4)
        victim.go_on = victim.machine.join
        victim.machine.cut_off_from(host)
        return "keep server %d from speaking to %s" % (victim.pid, host), 0


FAULTS = [name for name in vars(Faults) if name.split("_")[0] in ("kill", "stop", "pause", "cut") and "_" in name]


class FullDisk:
    """A small disk for checkpoints, which is full every now and then once it has one: from then on there is always one."""

    def __init__(self, folder, chance):
        self.folder, self.chance = folder, chance
        self.filler = os.path.join(folder, "filler")
        self.times = 0
        self.until = 0.0
        namespaces.small_disk(folder, "16m")

    def turn(self):
        now = time.monotonic()
        if os.path.exists(self.filler):
            if now >= self.until:
                os.remove(self.filler)
                self.until = now + self.chance.uniform(0.5, 2)
        elif now >= self.until and any(name.startswith("step-") for name in os.listdir(self.folder)):
            self.fill()
            self.until = now + self.chance.uniform(0.5, 2)

    def fill(self):
        self.times += 1
        with open(self.filler, "wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(65536))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise

    def end(self):
        namespaces.end_small_disk(self.folder)


class Chaos:
    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.chance = random.Random(options.seed)
        self.deadline = time.monotonic() + 60 * options.minutes if options.minutes else None
        self.calm = {}
        self.kills = {"server": 0, "worker": 0, "scheduler": 0}
        self.others = 0  # Faults that are no kills.
        self.gaps, self.worst_gaps, self.around = [], [], []
        self.sums = {"jobs": 0, "clients": 0, "pushes": 0, "pulls": 0, "anomalies": 0, "disk_full": 0}
        self.rows = ""

    def killed(self):
        return sum(self.kills.values())

    def enough(self):
        jobs = self.options.jobs
        return self.killed() >= self.options.kills or 0 < jobs <= self.sums["jobs"] or (self.deadline is not None and time.monotonic() >= self.deadline)

    def make(self, kind, folder, bridge, disk, etcd):
        more = {"silence_s": self.options.silence, "replicas": self.options.replicas, "bridge": bridge}
        if kind in TRAININGS:
            if not self.rows:
                self.rows = self.write_rows()
            state = "etcd://%s/jobs/chaos" % etcd.address if etcd else os.path.join(folder, "state") if kind == "kept" else ""
            return TrainJob(folder, self.rows, self.options.epochs, checkpoints=disk.folder if disk else "", state=state, etcd=etcd, **more)
        return HistoryJob(folder, kind.removeprefix("cut:"), self.options.steps, **more)

    def write_rows(self):
        path = os.path.join(self.folder, "rows.svm")
        chance = random.Random(1)
        with open(path, "w", encoding="ascii") as out:
            for _ in range(20000):
                out.write("%d %s\n" % (chance.random() < 0.5, " ".join("%d:1" % i for i in sorted(chance.sample(range(1, 2000), 12)))))
        return path

    def hurt(self, job, disk):
        """Until the job ends. The last word on how many processes were killed."""
        faults = Faults(job, self.chance, self.options.faults)
        killed = 0
        while (status := self.next_status(job)) is not None:
            job.let_go_on()
            if disk:
                disk.turn()
            for role, wanted in (("server", job.servers_wanted), ("worker", job.workers_wanted)):
                if len(job.going(role)) < wanted and self.chance.random() < 0.6:
                    job.join(role)
            if time.monotonic() >= self.next_at and not self.enough() and (did := faults.draw(status)):
                what, kills = did
                if self.options.verbose:
                    log(what)
                killed += kills
                self.others += kills == 0
                for role in self.kills:
                    self.kills[role] += kills > 0 and role in what
                self.next_at = time.monotonic() + self.pause()
            time.sleep(0.02)
        return killed

    @staticmethod
    def next_status(job):
        """Nothing where the job is over, or nobody answers for long."""
        deadline = time.monotonic() + PATIENCE_S
        while (status := job.status()) is None and not job.over() and time.monotonic() < deadline:
            job.let_go_on()
            time.sleep(0.02)
        return status

    def pause(self):
        """Long ones have one length, so that it is known what belongs to a fault."""
        return self.options.pause * (1 if self.options.pause >= APART_S else self.chance.expovariate(1))

    def run_job(self, kind):
        folder = os.path.join(self.folder, "job-%d" % self.sums["jobs"])
        bridge = namespaces.Bridge() if kind.startswith("cut:") else None
        disk = FullDisk(os.path.join(self.folder, "disk-%d" % self.sums["jobs"]), self.chance) if kind == "full" else None
        cleanups = contextlib.ExitStack()
        cleanups.addCleanup = cleanups.callback
        etcd = Etcd(cleanups) if kind == "etcd" else None
        begin = time.monotonic()
        job = self.make(kind, folder, bridge, disk, etcd)
        self.next_at = begin + self.options.pause
        try:
            killed = self.hurt(job, disk)
            if disk:
                self.sums["disk_full"] += disk.times
            out = job.finish()
            name = "train" if kind in TRAININGS else job.kind
            if name in ("sync", "train") and name not in self.calm:
                self.calm[name] = job.calm()
            self.note(kind, killed, time.monotonic() - begin, job.check(out, self.calm.get(name)))
        except Broken as broken:
            with open(os.path.join(folder, "broken"), "w", encoding="utf-8") as file:
                file.write(str(broken))
            raise
        finally:
            job.end()
            cleanups.close()
            if disk:
                disk.end()
            if bridge:
                bridge.end()
        remove(folder)

    def note(self, kind, killed, seconds, told):
        self.sums["jobs"] += 1
        for name in ("clients", "pushes", "pulls", "anomalies"):
            self.sums[name] += told.get(name, 0)
        kills = told.get("kills", [])
        self.gaps += [kill["nobody_ms"] for kill in kills]
        self.worst_gaps += [kill["worst_shard_ms"] for kill in kills]
        self.note_rates(told, kills)
        log("job %d, %s: %d killed in %.0f s; %d of %d in all; %s" % (
            self.sums["jobs"], kind, killed, seconds, self.killed(), self.options.kills,
            json.dumps({name: value for name, value in told.items() if name != "kills"})))

    def note_rates(self, told, kills):
        """Where kills are far apart: answers in the 10 s around each, of what there are in as long a time without."""
        calm_s = told.get("seconds", 0) - 10 * len(kills)
        if self.options.pause >= APART_S and kills and calm_s > 10:
            steady = (told["answers"] - sum(kill["answers"] for kill in kills)) / calm_s
            self.around += [kill["answers"] / 10 / steady for kill in kills]

    def run(self, kinds):
        while not self.enough():
            self.run_job(kinds[self.sums["jobs"] % len(kinds)])

    def result(self):
        def at(values, part):
            return round(sorted(values)[min(len(values) - 1, int(part * len(values)))], 3) if values else None
        return {"seed": self.options.seed, "kills": self.killed(), **{"killed_%ss" % role: n for role, n in self.kills.items()},
                "other_faults": self.others, **self.sums, "nobody_answered_ms_p50": at(self.gaps, 0.5),
                "nobody_answered_ms_p99": at(self.gaps, 0.99), "nobody_answered_ms_max": at(self.gaps, 1), "worst_shard_ms_p50": at(self.worst_gaps, 0.5),
                "worst_shard_ms_p99": at(self.worst_gaps, 0.99), "rate_around_kill_p50": at(self.around, 0.5),
                "rate_around_kill_min": at(self.around, 0)}


def parse():
    parser = argparse.ArgumentParser(prog="scripts/chaos", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="processes to kill; 100 unless given")
    parser.add_argument("--minutes", type=float, default=0, help="end after so long, too")
    parser.add_argument("--jobs", type=int, default=0, help="end after so many, too")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of all that is drawn; the date unless given")
    parser.add_argument("--kinds", default=",".join(KINDS), help="jobs, in turn: %(default)s; kept: whose scheduler is killed, too, etcd: whose state is in an etcd that "
                        "is killed as well, cut: with servers that are cut off, full: with a disk of checkpoints that is full at times")
    parser.add_argument("--steps", type=int, default=15000, help="of each shard of a job that counts")
    parser.add_argument("--epochs", type=int, default=150, help="of a training")
    parser.add_argument("--pause", type=float, default=0.4, help="seconds between two faults, in the mean; from %d on always, and answers in the 10 s "
                        "around each kill are compared with the others" % APART_S)
    parser.add_argument("--silence", type=float, default=3, help="seconds after which who says nothing is lost")
    parser.add_argument("--replicas", type=int, default=2)
    parser.add_argument("--faults", type=lambda text: text.split(","), default=[], help="only these: %s" % ", ".join(FAULTS))
    parser.add_argument("--verbose", action="store_true", help="say each fault")
    return parser.parse_args()


def main():
    options = parse()
    kinds = options.kinds.split(",")
    if unknown := [kind for kind in kinds if kind not in KINDS and not kind.startswith("bounded:")]:
        sys.exit("error: --kinds %s; expected some of %s" % (unknown[0], ", ".join(KINDS)))
    if any(kind.startswith("cut:") or kind == "full" for kind in kinds) and (why := namespaces.enter()):
        log("left out: servers that are cut off, and a disk that is full: " + why)
        kinds = [kind for kind in kinds if not kind.startswith("cut:") and kind != "full"]
    if "etcd" in kinds and not shutil.which("etcd"):
        log("left out: a state in an etcd: there is no etcd")
        kinds.remove("etcd")
    folder = tempfile.mkdtemp(prefix="thalweg-chaos-")
    chaos = Chaos(options, folder)
    log("seed %d; jobs: %s" % (options.seed, ", ".join(kinds)))
    try:
        chaos.run(kinds)
    except Broken as broken:
        print("error: job %d of seed %d: %s\nwhat its processes said is in %s" % (chaos.sums["jobs"], options.seed, broken, folder),
              file=sys.stderr)
        sys.exit(1)
    remove(folder)
    print(json.dumps(chaos.result()))


if __name__ == "__main__":
    main()
