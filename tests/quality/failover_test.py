#!/usr/bin/env python3
"""Does what docs/fault-tolerance.md says under "Kill it yourself", and holds what is shown against the page.

failover_test.py THALWEG SOURCE_DIR. All blocks of `sh` run in one shell; the block of `text` behind one is what it
shows, where `...` stands for anything.
"""
import os
import re
import subprocess
import sys
import tempfile

from tour_test import agree

BETWEEN = "-- the next block --"


def main():
    thalweg, source = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(os.path.join(source, "docs", "fault-tolerance.md"), encoding="utf-8") as file:
        page = file.read()
    guide = re.search(r"^## Kill it yourself\n(.*?)^## ", page, re.M | re.S).group(1)
    blocks = re.findall(r"^```sh\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", guide, re.M | re.S)
    assert len(blocks) >= 4 and sum(bool(shown) for _, shown in blocks) >= 3, "the guide was not found"
    script = ("echo %s\n" % BETWEEN).join(["set -euo pipefail\n"] + [commands for commands, _ in blocks])
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(thalweg, os.path.join(folder, "thalweg"))
        done = subprocess.run(["bash", "-c", script], cwd=folder, text=True, capture_output=True, check=False,
                              env=dict(os.environ, PATH=folder + os.pathsep + os.environ["PATH"]))
        with open(os.path.join(folder, "job.log"), encoding="utf-8") as log:
            said = log.read()
    wrong = done.returncode != 0
    for (commands, expected), shown in zip(blocks, done.stdout.split(BETWEEN + "\n")[1:]):
        good = not expected or agree(expected.splitlines(), shown.splitlines())
        wrong = wrong or not good
        print("%s%s" % (commands, "as on the page\n" if good else "NOT as on the page:\n" + shown), flush=True)
    lines = re.search(r"two lines,.*?```text\n(.*?)```", page, re.S).group(1).splitlines()
    for line in lines:  # As the page has them, of another port and another time, whoever noticed first.
        pattern = re.sub(r"127\\\.0\\\.0\\\.1:\d+|\d+\\\.\d|(?<=\)\\ ).*(?=;)", ".+", re.escape(line))
        if not re.search("(?m)^" + pattern + "$", said):
            wrong = True
            print("NOT said by the job: %s\n%s" % (line, said))
    if done.returncode != 0:
        print("exit code %d\n%s" % (done.returncode, done.stderr))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
