#!/usr/bin/env python3
"""Algorithms by real processes: each learns, and Downpour goes on where a worker is killed."""
import math
import os
import signal
import unittest

from cluster_jobs import ClusterJobs, children_of, last_json

ALGORITHMS = ("sync", "ssp:0", "ssp:4", "max-wait:50ms", "async", "softsync:2", "rudra-adv:1,tree=2", "backup:1",
              "downpour:fetch=5,push=3", "easgd", "dcasgd-a", "local:4", "fedavg:C=1,E=1")


def loss_of_the_share(path):
    """Of who says the share of positive rows each time."""
    with open(path, encoding="ascii") as rows:
        labels = [line[0] == "1" for line in rows]
    share = sum(labels) / len(labels)
    return -share * math.log(share) - (1 - share) * math.log(1 - share)


class AlgorithmsTest(ClusterJobs):
    def test_each_learns_by_processes(self):
        for algorithm in ALGORITHMS:
            result = self.run_job("--processes", "--workers", "3", "--data-shards", "3", "--epochs", "3", "--batch", "300",
                                  "--optimizer", "adagrad", "--valid", self.valid, "--algorithm", algorithm)
            self.assertLess(result["valid_logloss"], loss_of_the_share(self.valid), algorithm)

    def test_downpour_goes_on_without_a_killed_worker(self):
        flags = ("--processes", "--workers", "4", "--data-shards", "4", "--epochs", "60", "--batch", "200",
                 "--algorithm", "downpour:fetch=5,push=3")
        job = self.start_job(*flags)
        self.await_epoch(job, 1)
        os.kill(children_of(job.pid, "worker")[1], signal.SIGKILL)
        out, err = self.finish(job)
        self.assertEqual(job.returncode, 0, err)
        self.assertRegex(err, r"(?m)^worker-\d \(.*\) .*; its 1 data shards? go(es)? to worker-\d")
        self.assertLess(last_json(out)["train_logloss"], loss_of_the_share(self.train))


if __name__ == "__main__":
    unittest.main()
